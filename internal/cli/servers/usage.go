package servers

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/servers"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/projections/serverusage"
)

func usage(s *shell.Shell) *cobra.Command {
	var since, account string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "usage", Short: "Add up time on servers and its cost by day, account and server", Args: cobra.NoArgs,
		RunE: onServers(s, func(ctx context.Context, o *servers.Service, _ []string) error {
			days, err := o.Usage(ctx, account, since)
			if err != nil {
				return err
			}
			if asJSON {
				return s.PrintJSON(append([]serverusage.Day{}, days...))
			}
			rows := make([][]terminal.Cell, len(days))
			for i, d := range days {
				rows[i] = []terminal.Cell{
					{Text: d.Day.Format(time.DateOnly)},
					{Text: terminal.Clean(d.Account)},
					{Text: terminal.Clean(d.URL)},
					{Text: fmt.Sprint(d.Segments), Right: true},
					{Text: fmt.Sprint(d.GivenUp), Right: true},
					{Text: inspect.Span(time.Duration(d.Millis) * time.Millisecond), Right: true},
					{Text: "$" + credit.Dollars(d.Cost), Right: true},
				}
			}
			p := s.Printer()
			p.Table([]string{"DAY", "ACCOUNT", "SERVER", "SEGMENTS", "GIVEN UP", "TIME", "COST"}, rows)
			return p.Err()
		}),
	}
	cmd.Flags().StringVar(&since, "since", servers.UsageSince, "ended in the last 24h, 720h, …, or after a time (2026-01-02T15:04:05Z)")
	cmd.Flags().StringVar(&account, "account", "", "name or id of an account; default: all")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}
