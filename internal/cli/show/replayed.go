package show

import (
	"errors"
	"fmt"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/operate/engine"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

// PrintReplayed shows the results of replays. It returns an error if a history diverged or none was replayed.
func PrintReplayed(s *shell.Shell, all []engine.Replayed, asJSON bool) error {
	counts := map[string]int{}
	var rows [][]inspect.Cell
	styles := map[string]inspect.Style{"replays": inspect.Good, "diverges": inspect.Bad, "forgotten": inspect.Notice, "not started": inspect.Notice, "empty": inspect.Notice, "unreadable": inspect.Bad}
	for _, r := range all {
		counts[r.Result]++
		rows = append(rows, []inspect.Cell{{Text: r.Result, Style: styles[r.Result]}, {Text: r.Workflow}, {Text: r.Step}})
		if r.Detail != "" {
			rows = append(rows, []inspect.Cell{{}, {}, {Text: r.Detail}})
		}
	}
	if err := s.Print(asJSON, all, func(p *inspect.Printer) { p.Table([]string{"", "WORKFLOW", "STEP"}, rows) }); err != nil {
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
