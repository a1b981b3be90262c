package show

import (
	"errors"
	"fmt"

	"github.com/millrace-dev/millrace/internal/operate/terminal"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/operate/engine"
)

// PrintReplayed shows the results of replays. It returns an error if a history diverged or none was replayed.
func PrintReplayed(s *shell.Shell, all []engine.Replayed, asJSON bool) error {
	counts := map[string]int{}
	var rows [][]terminal.Cell
	styles := map[string]terminal.Style{"replays": terminal.Good, "diverges": terminal.Bad, "forgotten": terminal.Notice, "not started": terminal.Notice, "empty": terminal.Notice, "unreadable": terminal.Bad}
	for _, r := range all {
		counts[r.Result]++
		rows = append(rows, []terminal.Cell{{Text: r.Result, Style: styles[r.Result]}, {Text: r.Workflow}, {Text: r.Step}})
		if r.Detail != "" {
			rows = append(rows, []terminal.Cell{{}, {}, {Text: r.Detail}})
		}
	}
	if err := s.Print(asJSON, all, func(p *terminal.Printer) { p.Table([]string{"", "WORKFLOW", "STEP"}, rows) }); err != nil {
		return err
	}
	switch {
	case counts["diverges"] > 0:
		return fmt.Errorf("%d of %d histories diverge: running jobs would fail under this binary", counts["diverges"], len(all))
	case counts["unreadable"] > 0:
		return fmt.Errorf("%d of %d histories cannot be read: put the keys that they name into the key ring", counts["unreadable"], len(all))
	case counts["replays"] == 0 && counts["not started"]+counts["empty"] > 0:
		return errors.New("no history can be replayed: these jobs have not begun")
	case counts["replays"] == 0:
		return errors.New("no history can be replayed: these jobs never began, or Temporal's retention has passed")
	}
	return nil
}
