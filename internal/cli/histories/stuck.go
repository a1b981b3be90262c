package histories

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/operate/histories"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

func stuckCommand(s *shell.Shell) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stuck",
		Short: "List running workflows that wait for a missing key",
		Long: `List the running workflows whose histories contain payloads of keys that are not in the key ring
(MILLRACE_TEMPORAL_KEYS, MILLRACE_TEMPORAL_KEYS_FILE), with the ids of these keys. Their workflow tasks fail,
and Temporal repeats them: put the keys back and restart the workers, and the workflows continue.
The exit code is 1 if there are such workflows. The command changes nothing.`,
		Example: `  millrace histories stuck
  millrace histories stuck --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			keys, err := app.TemporalKeys(s.Config)
			if err != nil {
				return err
			}
			c, err := s.Temporal()
			if err != nil {
				return err
			}
			defer c.Close()
			found, err := histories.FindStuck(cmd.Context(), c, keys)
			if err != nil {
				return err
			}
			return printStuck(s, found, asJSON)
		},
	}
	s.TemporalFlags(cmd)
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func printStuck(s *shell.Shell, found []histories.Stuck, asJSON bool) error {
	err := s.Print(asJSON, map[string]any{"stuck": found}, func(p *terminal.Printer) {
		if len(found) == 0 {
			p.Printf("no running workflow waits for a key\n")
			return
		}
		var rows [][]terminal.Cell
		for _, w := range found {
			rows = append(rows, []terminal.Cell{{Text: w.Workflow}, {Text: w.Type}, {Text: strings.Join(w.Keys, ", "), Style: terminal.Bad}})
		}
		p.Table([]string{"WORKFLOW", "TYPE", "KEY"}, rows)
	})
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("%d running workflows wait for keys that are not in the key ring: put them back and restart the workers", len(found))
	}
	return err
}
