package app

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"
	sdklog "go.temporal.io/sdk/log"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
	operatecalls "github.com/millrace-dev/millrace/internal/operate/calls"
	"github.com/millrace-dev/millrace/projections/calls"
)

func (s *shell) replayCalls() *cobra.Command {
	var asJSON bool
	q := calls.Query{Limit: 100}
	cmd := &cobra.Command{
		Use: "replay [ID...]", Short: "Replay the workflows of model calls against this binary, before a deployment",
		Long: `Download the workflow history of each named call, or of the newest ones, from Temporal and replay it
against the workflow code of this binary. The exit code is 1 if any diverges, and also if there is
nothing to replay. Nothing is changed; no provider is asked anything.`,
		Example: "  millrace calls replay --limit 500\n  millrace calls replay 62e89ef5 --json",
		RunE: s.onDatabase(func(ctx context.Context, pool *pgxpool.Pool, args []string) error {
			if err := limitOf(q.Limit, operatecalls.MaxListed); err != nil {
				return err
			}
			found, err := callsToReplay(ctx, pool, args, q)
			if err != nil {
				return err
			}
			return s.replayCallHistories(ctx, found, asJSON)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&q.Model, "model", "", "<provider>/<model>; default: any")
	f.IntVar(&q.Limit, "limit", q.Limit, "how many at most, newest first, up to 1,000")
	s.engineFlags(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// callsToReplay returns the named calls, or those that q selects.
func callsToReplay(ctx context.Context, pool *pgxpool.Pool, ids []string, q calls.Query) ([]call.Call, error) {
	if len(ids) == 0 {
		page, err := calls.NewReader(pool).List(ctx, q)
		if err == nil && len(page.Calls) == 0 {
			err = fault.New(fault.NotFound, "no_match", "no call matches: there is nothing to replay")
		}
		return page.Calls, err
	}
	found := make([]call.Call, len(ids))
	for i, id := range ids {
		t, err := storiedCalls.story(ctx, pool, id)
		if err != nil {
			return nil, err
		}
		found[i] = t.State()
	}
	return found, nil
}

func (s *shell) replayCallHistories(ctx context.Context, found []call.Call, asJSON bool) error {
	c, err := s.temporal()
	if err != nil {
		return err
	}
	defer c.Close()
	log, err := s.logger()
	if err != nil {
		return err
	}
	all := make([]replayed, len(found))
	step := progress(s.err, "replay", "calls")
	for i, one := range found {
		workflow := one.ID.WorkflowID(max(1, one.Run))
		if all[i], err = replayChain(ctx, c, sdklog.NewStructuredLogger(log), workflow, ""); err != nil {
			return fmt.Errorf("call %s: %w", one.ID, err)
		}
		if step != nil {
			step(int64(i+1), int64(len(found)))
		}
	}
	return s.printReplayed(all, asJSON)
}
