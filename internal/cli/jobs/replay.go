package jobs

import (
	"context"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/cli/show"
	"github.com/millrace-dev/millrace/internal/operate/histories"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/jobs"
	"github.com/millrace-dev/millrace/internal/postgres"
)

func replayJobs(s *shell.Shell) *cobra.Command {
	var sel selection
	cmd := &cobra.Command{
		Use: "replay ID... | --since 24h | --failed …", Short: "Replay the workflows of jobs against this binary, before a deployment",
		Long: `Download the workflow history of each selected job from Temporal and replay it against the
workflow code of this binary. A history that diverges is reported with the diverging step. The exit
code is 1 if a history diverges, and also if none could be replayed, so that a pipeline does not pass
without histories. The command changes nothing.`,
		Example: `  millrace jobs replay --since 24h --limit 500
  millrace jobs replay 62e89ef5 --json`,
		RunE: s.OnDatabase(func(ctx context.Context, pool *postgres.Pool, args []string) error {
			found, err := sel.recorded(ctx, pool, args)
			if err != nil {
				return err
			}
			return show.Replay(s, "jobs", found, sel.asJSON, func(c client.Client, with histories.Replayer, h inspect.History) ([]histories.Replayed,
				error,
			) {
				return histories.ReplayRuns(ctx, c, with, h)
			})
		}),
	}
	f := cmd.Flags()
	sel.filter.Limit = 1000
	f.BoolVar(&sel.failed, "failed", false, "select failed jobs; short for --status failed")
	f.StringSliceVar(&sel.filter.States, "status", nil, "select jobs in one of these states")
	f.StringVar(&sel.filter.Account, "account", "", "select jobs of an account, by name or id")
	f.StringVar(&sel.filter.Since, "since", "", "select jobs submitted in the last 24h, 30m, …, or after a time")
	f.StringVar(&sel.filter.Class, "class", "", "select jobs in which a node of this class ran or failed")
	f.IntVar(&sel.filter.Limit, "limit", sel.filter.Limit, "maximum number of jobs, newest first")
	s.EngineFlags(cmd)
	shell.JSONFlag(cmd, &sel.asJSON)
	return cmd
}

// recorded returns the histories of the selected jobs in the order of their submission, oldest first. Unlike resolve, it
// reads only the log, so that a new version can replay the jobs of an old one before the database is migrated.
func (sel *selection) recorded(ctx context.Context, pool *postgres.Pool, args []string) ([]inspect.History, error) {
	if len(args) > 0 == sel.filtered() {
		return nil, errNotOneSelection
	}
	if len(args) > 0 {
		return jobs.RecordedByID(ctx, pool, args)
	}
	found, err := jobs.Recorded(ctx, pool, sel.resolved())
	if err == nil && len(found) == 0 {
		err = errNoMatch()
	}
	return found, err
}
