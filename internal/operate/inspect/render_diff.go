package inspect

import (
	"fmt"
	"time"
)

// valueWidth is the width of a compared value, in columns.
const valueWidth = 36

// Comparison writes the differences between two jobs.
func (p *Printer) Comparison(c Comparison) {
	p.Field("a", string(c.A), Bold)
	p.Field("b", string(c.B), Bold)
	p.differences("JOB", c.Job)
	if c.GraphKnown {
		p.differences("GRAPH", c.Graph)
		if len(c.Graph) == 0 {
			p.Line("the same graph was submitted", Faint)
		}
	} else {
		p.Line("graphs are not compared: one is stored as a blob that cannot be read from this machine", Notice)
	}
	p.divergence(c.Divergence)
	p.nodeDifferences(c.Nodes)
}

// divergence writes the first version at which two histories differ.
func (p *Printer) divergence(at *Divergence) {
	if at == nil {
		p.Line("both histories have the same events", Faint)
		return
	}
	p.Line("", Plain)
	p.Line(fmt.Sprintf("histories differ from version %d on", at.Version), Bold)
	p.Field("  a", eventOrEnd(at.A), Plain)
	p.Field("  b", eventOrEnd(at.B), Plain)
}

func eventOrEnd(event string) string {
	if event == "" {
		return "(ends before)"
	}
	return event
}

func (p *Printer) differences(title string, all []Difference) {
	if len(all) == 0 {
		return
	}
	rows := make([][]Cell, len(all))
	for i, d := range all {
		rows[i] = []Cell{{Text: clip(Clean(d.What), 22), Style: Bold}, {Text: clip(Clean(orDash(d.A)), valueWidth)}, {Text: orDash(d.B)}}
	}
	p.Line("", Plain)
	p.Table([]string{title, "A", "B"}, rows)
}

func (p *Printer) nodeDifferences(all []NodeDifference) {
	if len(all) == 0 {
		return
	}
	rows := make([][]Cell, len(all))
	for i, d := range all {
		rows[i] = []Cell{
			{Text: clip(Clean(d.Node), 12)},
			{Text: clip(Clean(d.Class), 22)},
			{Text: orDash(d.StateA), Style: styleOf(d.StateA)},
			{Text: span(d.TookA), Right: true},
			{Text: orDash(d.StateB), Style: styleOf(d.StateB)},
			{Text: span(d.TookB), Right: true},
			{Text: change(d)},
		}
	}
	p.Line("", Plain)
	p.Table([]string{"NODE", "CLASS", "A", "TOOK", "B", "TOOK", "CHANGE"}, rows)
}

// change returns the ratio of two durations, or "" if one of them is too short to compare.
func change(d NodeDifference) string {
	a, b := time.Duration(d.TookA), time.Duration(d.TookB)
	if a < time.Millisecond || b < time.Millisecond {
		return ""
	}
	return fmt.Sprintf("×%.2f", float64(b)/float64(a))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
