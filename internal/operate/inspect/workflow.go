package inspect

import (
	"fmt"
	"slices"
	"time"
)

// Step is one event of a workflow history.
type Step struct {
	Run    int       `json:"run"` // run number of the job or call
	ID     int64     `json:"event_id"`
	At     time.Time `json:"time"`
	Type   string    `json:"type"`
	Detail string    `json:"detail,omitempty"`
}

// SideBySide writes events and workflow steps in one table, ordered by time. The database stamps the events and
// the workflow engine the steps, so their order is accurate only to the difference of the two clocks.
func (p *Printer) SideBySide(events []Event, steps []Step) {
	type line struct {
		at  time.Time
		row []Cell
	}
	var lines []line
	for _, f := range events {
		lines = append(lines, line{f.At, []Cell{
			{Text: f.At.Format("15:04:05.000")},
			{Text: clip(Clean(fmt.Sprintf("%d %s %s", f.Version, shortType(f.Type), subject(f.decoded))), 42), Style: Bold},
			{},
		}})
	}
	for _, s := range steps {
		lines = append(lines, line{s.At, []Cell{
			{Text: s.At.UTC().Format("15:04:05.000")}, {}, {Text: fmt.Sprintf("%d/%d %s %s", s.Run, s.ID, s.Type, s.Detail)},
		}})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
	rows := make([][]Cell, len(lines))
	for i, l := range lines {
		rows[i] = l.row
	}
	p.Table([]string{"TIME", "EVENT", "WORKFLOW (RUN/EVENT)"}, rows)
}
