package inspect

import (
	"fmt"
	"time"
)

// StreamEvents writes every event of a call or an asset with its time, position, resulting state and cause.
func StreamEvents[S any](p *Printer, t StreamHistory[S]) {
	p.events(t.kind.Noun+" "+t.ID, t.Account, t.Events)
}

// Phases writes the phases of a call or an asset as a table with a bar for each.
func (p *Printer) Phases(t Phases) {
	p.Field(t.Noun, t.ID, Bold)
	p.Field("state", t.State, styleOf(t.State))
	p.Field("began", stamp(t.Began), Plain)
	p.Field("in all", fmt.Sprintf("%s, of it %s of waiting", span(t.Total), span(t.Waited)), Plain)
	rows := make([][]Cell, len(t.Phases))
	for i, ph := range t.Phases {
		rows[i] = phaseRow(t, ph)
	}
	p.Line("", Plain)
	p.Table([]string{"PHASE", "TOOK", "BEGAN", "TRY", "0 … " + span(t.Total), "WORKER"}, rows)
}

func phaseRow(t Phases, ph Phase) []Cell {
	style := Good
	if ph.Wait || ph.Open {
		style = Notice
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
	return []Cell{
		{Text: ph.Name},
		{Text: took, Right: true},
		{Text: "+" + Span(ph.Began.Sub(t.Began)), Right: true},
		{Text: try, Right: true},
		{Text: barOf(time.Duration(t.Total), ph.Began.Sub(t.Began), time.Duration(ph.Took)), Style: style},
		{Text: worker},
	}
}

// StreamComparison writes the differences between two calls or two assets.
func (p *Printer) StreamComparison(c StreamComparison) {
	p.Field("a", c.A, Bold)
	p.Field("b", c.B, Bold)
	p.differences("STATE", c.State)
	if len(c.State) == 0 {
		p.Line("both differ only in their times", Faint)
	}
	p.divergence(c.Divergence)
	p.differences("TIME", c.Times)
}
