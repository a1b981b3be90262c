package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/operate/accounts"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/queues"
	"github.com/millrace-dev/millrace/internal/operate/servers"
	"github.com/millrace-dev/millrace/internal/operate/webhooks"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// group returns the command of a group of actions, with the flags of the database.
func group[S any](s *shell.Shell, g action.Group[S], open shell.Opener[S]) *cobra.Command {
	cmd := shell.Group(s, g, open)
	s.DatabaseFlags(cmd)
	return cmd
}

// onLog opens a service over the database and the event log.
func onLog[S any](service func(*shell.Shell, *postgres.Pool, *eventstore.Store) S) shell.Opener[S] {
	return func(ctx context.Context, s *shell.Shell, work func(S) error) error {
		pool, err := s.Database(ctx)
		if err != nil {
			return err
		}
		defer pool.Close()
		events, err := shell.EventStore(pool)
		if err != nil {
			return err
		}
		return work(service(s, pool, events))
	}
}

func queueService(_ *shell.Shell, pool *postgres.Pool, events *eventstore.Store) queues.Service {
	return queues.New(pool, events)
}

func accountService(s *shell.Shell, pool *postgres.Pool, events *eventstore.Store) accounts.Service {
	return accounts.New(pool, events, accountstore.NewStorage(pool, s.Config.AccountLimit))
}

func openServers(ctx context.Context, s *shell.Shell, work func(*servers.Service) error) error {
	return s.Opened(ctx, func(in *app.Instance) error {
		return work(in.OperatedServers())
	})
}

// openWebhooks opens the operators' service for webhooks. Addresses are checked by the rules of the running service,
// which sends the messages, or by those of this process if no service runs.
func openWebhooks(ctx context.Context, s *shell.Shell, work func(*webhooks.Service) error) error {
	rules, ok, err := s.RunningRules(ctx)
	if err != nil {
		return err
	}
	if ok {
		s.Config.Webhooks.Allow = rules.WebhookAllow
	}
	return s.Opened(ctx, func(in *app.Instance) error {
		return work(in.OperatedWebhooks())
	})
}
