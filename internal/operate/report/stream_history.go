package report

import (
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// StreamEvents writes every event of a call or an asset with its time, position, resulting state and cause.
func StreamEvents[S any](p *terminal.Printer, t inspect.StreamHistory[S]) {
	writeEvents(p, t.Noun()+" "+t.ID, t.Account, t.Events)
}

// Phases writes the phases of a call or an asset as a table with a bar for each.
func Phases(p *terminal.Printer, t inspect.Phases) {
	p.Field(t.Noun, t.ID, terminal.Bold)
	p.Field("state", t.State, styleOf(t.State))
	p.Field("began", terminal.Stamp(t.Began), terminal.Plain)
	p.Field("in all", fmt.Sprintf("%s, of it %s of waiting", span(t.Total), span(t.Waited)), terminal.Plain)
	rows := make([][]terminal.Cell, len(t.Phases))
	for i, ph := range t.Phases {
		rows[i] = phaseRow(t, ph)
	}
	p.Line("", terminal.Plain)
	p.Table([]string{"PHASE", "TOOK", "BEGAN", "TRY", "0 … " + span(t.Total), "WORKER"}, rows)
}

func phaseRow(t inspect.Phases, ph inspect.Phase) []terminal.Cell {
	style := terminal.Good
	if ph.Wait || ph.Open {
		style = terminal.Notice
	}
	took, try := span(ph.Took), ""
	if ph.Open {
		took += " so far"
	}
	if ph.Attempt > 0 {
		try = fmt.Sprint(ph.Attempt)
	}
	worker := ph.Worker
	if ph.Detail != "" {
		if worker != "" {
			worker += "; "
		}
		worker += ph.Detail
	}
	return []terminal.Cell{
		{Text: ph.Name},
		{Text: took, Right: true},
		{Text: "+" + inspect.Span(ph.Began.Sub(t.Began)), Right: true},
		{Text: try, Right: true},
		{Text: barOf(time.Duration(t.Total), ph.Began.Sub(t.Began), time.Duration(ph.Took)), Style: style},
		{Text: worker},
	}
}

// StreamComparison writes the differences between two calls or two assets.
func StreamComparison(p *terminal.Printer, c inspect.StreamComparison) {
	p.Field("a", c.A, terminal.Bold)
	p.Field("b", c.B, terminal.Bold)
	writeDifferences(p, "STATE", c.State)
	if len(c.State) == 0 {
		p.Line("both differ only in their times", terminal.Faint)
	}
	writeDivergence(p, c.Divergence)
	writeDifferences(p, "TIME", c.Times)
}
