package jobs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/operate"
	operatejobs "github.com/millrace-dev/millrace/internal/operate/jobs"
	"github.com/millrace-dev/millrace/internal/operate/report"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
)

func listJobs(s *shell.Shell) *cobra.Command {
	f := operatejobs.Filter{Limit: 20}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List jobs, newest first", Args: cobra.NoArgs,
		Example: "  millrace jobs list --status failed,canceled --since 24h --account acme",
		RunE: s.OnDatabase(func(ctx context.Context, pool *postgres.Pool, _ []string) error {
			now, err := operate.Now(ctx, pool)
			if err != nil {
				return err
			}
			names, err := operate.AccountNames(ctx, pool)
			if err != nil {
				return err
			}
			found, err := operatejobs.Search(ctx, pool, names, now, f)
			if err != nil {
				return err
			}
			return s.Print(asJSON, found, func(p *terminal.Printer) { report.Jobs(p, found, names, now) })
		}),
	}
	cmd.Flags().StringSliceVar(&f.States, "status", nil, "queued, running, canceling, succeeded, failed, canceled, expired; any of several")
	cmd.Flags().StringVar(&f.Account, "account", "", "name or id of an account; default: all")
	cmd.Flags().StringVar(&f.Since, "since", "", "submitted in the last 24h, 30m, …, or after a time (2026-01-02T15:04:05Z)")
	cmd.Flags().IntVar(&f.Limit, "limit", f.Limit, "maximum number of jobs")
	cmd.Flags().StringVar(&f.Class, "class", "", "select jobs in which a node of this class ran or failed")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}
