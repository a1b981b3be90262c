package report

import (
	"cmp"
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// valueWidth is the width of a compared value, in columns.
const valueWidth = 36

// Comparison writes the differences between two jobs.
func Comparison(p *terminal.Printer, c inspect.Comparison) {
	p.Field("a", string(c.A), terminal.Bold)
	p.Field("b", string(c.B), terminal.Bold)
	writeDifferences(p, "JOB", c.Job)
	if c.GraphKnown {
		writeDifferences(p, "GRAPH", c.Graph)
		if len(c.Graph) == 0 {
			p.Line("the same graph was submitted", terminal.Faint)
		}
	} else {
		p.Line("graphs are not compared: one is stored as a blob that cannot be read from this machine", terminal.Notice)
	}
	writeDivergence(p, c.Divergence)
	writeNodeDifferences(p, c.Nodes)
}

// writeDivergence writes the first version at which two histories differ.
func writeDivergence(p *terminal.Printer, at *inspect.Divergence) {
	if at == nil {
		p.Line("both histories have the same events", terminal.Faint)
		return
	}
	p.Line("", terminal.Plain)
	p.Line(fmt.Sprintf("histories differ from version %d on", at.Version), terminal.Bold)
	p.Field("  a", eventOrEnd(at.A), terminal.Plain)
	p.Field("  b", eventOrEnd(at.B), terminal.Plain)
}

func eventOrEnd(event string) string {
	return cmp.Or(event, "(ends before)")
}

func writeDifferences(p *terminal.Printer, title string, all []inspect.Difference) {
	if len(all) == 0 {
		return
	}
	rows := make([][]terminal.Cell, len(all))
	for i, d := range all {
		rows[i] = []terminal.Cell{
			{Text: terminal.Clip(terminal.Clean(d.What), 22), Style: terminal.Bold},
			{Text: terminal.Clip(terminal.Clean(orDash(d.A)), valueWidth)},
			{Text: orDash(d.B)},
		}
	}
	p.Line("", terminal.Plain)
	p.Table([]string{title, "A", "B"}, rows)
}

func writeNodeDifferences(p *terminal.Printer, all []inspect.NodeDifference) {
	if len(all) == 0 {
		return
	}
	rows := make([][]terminal.Cell, len(all))
	for i, d := range all {
		rows[i] = []terminal.Cell{
			{Text: terminal.Clip(terminal.Clean(d.Node), 12)},
			{Text: terminal.Clip(terminal.Clean(d.Class), 22)},
			{Text: orDash(d.StateA), Style: styleOf(d.StateA)},
			{Text: span(d.TookA), Right: true},
			{Text: orDash(d.StateB), Style: styleOf(d.StateB)},
			{Text: span(d.TookB), Right: true},
			{Text: change(d)},
		}
	}
	p.Line("", terminal.Plain)
	p.Table([]string{"NODE", "CLASS", "A", "TOOK", "B", "TOOK", "CHANGE"}, rows)
}

// change returns the ratio of two durations, or "" if one of them is too short to compare.
func change(d inspect.NodeDifference) string {
	a, b := time.Duration(d.TookA), time.Duration(d.TookB)
	if a < time.Millisecond || b < time.Millisecond {
		return ""
	}
	return fmt.Sprintf("×%.2f", float64(b)/float64(a))
}

func orDash(s string) string {
	return cmp.Or(s, "-")
}
