package calls

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/cli/show"
	"github.com/millrace-dev/millrace/internal/domain/call"
	operatecalls "github.com/millrace-dev/millrace/internal/operate/calls"
	"github.com/millrace-dev/millrace/internal/operate/histories"
	"github.com/millrace-dev/millrace/internal/operate/records"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/projections/calls"
)

func replayCalls(s *shell.Shell) *cobra.Command {
	var asJSON bool
	q := calls.Query{Limit: 100}
	cmd := &cobra.Command{
		Use: "replay [ID...]", Short: "Replay the workflows of model calls against this binary, before a deployment",
		Long: `Download the workflow history of each named call, or of the newest ones, from Temporal and replay it
against the workflow code of this binary. The exit code is 1 if a history diverges, and also if none could be
replayed. The command changes nothing and sends no request to a provider.`,
		Example: "  millrace calls replay --limit 500\n  millrace calls replay 62e89ef5 --json",
		RunE: s.OnDatabase(func(ctx context.Context, pool *postgres.Pool, args []string) error {
			if err := records.LimitOf(q.Limit, operatecalls.MaxListed); err != nil {
				return err
			}
			found, err := operatecalls.CallsToReplay(ctx, pool, args, q)
			if err != nil {
				return err
			}
			return show.Replay(s, "calls", found, asJSON, func(c client.Client, with histories.Replayer, one call.Call) ([]histories.Replayed,
				error,
			) {
				replayed, err := histories.ReplayChain(ctx, c, with, one.ID.WorkflowID(max(1, one.Run)), "")
				if err != nil {
					return nil, fmt.Errorf("call %s: %w", one.ID, err)
				}
				return []histories.Replayed{replayed}, nil
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&q.Model, "model", "", "<provider>/<model>; default: any")
	f.IntVar(&q.Limit, "limit", q.Limit, "maximum number, newest first, up to 1,000")
	s.EngineFlags(cmd)
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}
