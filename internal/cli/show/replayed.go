package show

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/operate/histories"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// Replay replays the workflow histories of jobs or calls, named by what, and shows the results.
func Replay[T any](s *shell.Shell, what string, found []T, asJSON bool,
	replay func(client.Client, histories.Replayer, T) ([]histories.Replayed, error),
) error {
	c, err := s.Temporal()
	if err != nil {
		return err
	}
	defer c.Close()
	with, err := s.Replayer()
	if err != nil {
		return err
	}
	var all []histories.Replayed
	step := shell.Progress(s.Err, "replay", what)
	for i, one := range found {
		results, err := replay(c, with, one)
		if err != nil {
			return err
		}
		all = append(all, results...)
		if step != nil {
			step(int64(i+1), int64(len(found)))
		}
	}
	return printReplayed(s, all, asJSON)
}

// printReplayed shows the results of replays. It returns an error if a history diverged or none was replayed.
func printReplayed(s *shell.Shell, all []histories.Replayed, asJSON bool) error {
	counts := map[string]int{}
	var rows [][]terminal.Cell
	styles := map[string]terminal.Style{
		"replays": terminal.Good, "diverges": terminal.Bad, "forgotten": terminal.Notice,
		"not started": terminal.Notice, "empty": terminal.Notice, "unreadable": terminal.Bad,
	}
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
