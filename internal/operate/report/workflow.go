package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// SideBySide writes events and workflow steps in one table, ordered by time. The database stamps the events and
// the workflow engine the steps, so their order is accurate only to the difference of the two clocks.
func SideBySide(p *terminal.Printer, events []inspect.Event, steps []inspect.Step) {
	type line struct {
		at  time.Time
		row []terminal.Cell
	}
	var lines []line
	for _, f := range events {
		lines = append(lines, line{f.At, []terminal.Cell{
			{Text: f.At.Format("15:04:05.000")},
			{Text: terminal.Clip(terminal.Clean(fmt.Sprintf("%d %s %s", f.Version, f.Name(), f.Subject())), 42), Style: terminal.Bold},
			{},
		}})
	}
	for _, s := range steps {
		lines = append(lines, line{s.At, []terminal.Cell{
			{Text: s.At.UTC().Format("15:04:05.000")}, {}, {Text: fmt.Sprintf("%d/%d %s %s", s.Run, s.ID, s.Type, s.Detail)},
		}})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
	rows := make([][]terminal.Cell, len(lines))
	for i, l := range lines {
		rows[i] = l.row
	}
	p.Table([]string{"TIME", "EVENT", "WORKFLOW (RUN/EVENT)"}, rows)
}
