package cli

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/domain/eventtypes"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/operate/accounts"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/assets"
	"github.com/millrace-dev/millrace/internal/operate/calls"
	"github.com/millrace-dev/millrace/internal/operate/deployments"
	"github.com/millrace-dev/millrace/internal/operate/events"
	"github.com/millrace-dev/millrace/internal/operate/jobs"
	"github.com/millrace-dev/millrace/internal/operate/pools"
	"github.com/millrace-dev/millrace/internal/operate/queues"
	"github.com/millrace-dev/millrace/internal/operate/servers"
	"github.com/millrace-dev/millrace/internal/operate/sessions"
	"github.com/millrace-dev/millrace/internal/operate/views"
	"github.com/millrace-dev/millrace/internal/operate/webhooks"
	"github.com/millrace-dev/millrace/internal/operate/weights"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// group returns the command of a group of actions, with the flags of the database.
func group[S any](s *shell.Shell, g action.Group[S], open shell.Opener[S]) *cobra.Command {
	cmd := shell.Group(s, g, open)
	s.DatabaseFlags(cmd)
	return cmd
}

// onDatabase opens a service over the database.
func onDatabase[S any](service func(*shell.Shell, *postgres.Pool) S) shell.Opener[S] {
	return func(ctx context.Context, s *shell.Shell, work func(S) error) error {
		pool, err := s.Database(ctx)
		if err != nil {
			return err
		}
		defer pool.Close()
		return work(service(s, pool))
	}
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

// jobService opens what changes jobs for changes only: a reader needs neither the data directory nor the current schema.
// Intents are delivered by the relays of running processes.
func jobService(s *shell.Shell, pool *postgres.Pool) jobs.Service {
	return jobs.Service{
		Histories: jobs.Histories{Pool: pool, Blobs: s.Blobs(pool)}, Engine: s.Engine(), Session: s.Session(),
		Change: func(ctx context.Context, work func(*jobs.Changes) error) error {
			return opened(ctx, s, (*app.Instance).JobChanges, work)
		},
	}
}

func callService(s *shell.Shell, pool *postgres.Pool, events *eventstore.Store) calls.Service {
	return calls.New(pool, callstore.New(pool, events, accountstore.NewCredits(pool, events)), s.Blobs(pool), s.Engine(), s.Session())
}

func assetService(s *shell.Shell, pool *postgres.Pool) assets.Service {
	return assets.New(pool, s.Engine())
}

func viewService(s *shell.Shell, pool *postgres.Pool, events *eventstore.Store) views.Service {
	return views.Service{Pool: pool, Events: events, Base: s.Config.PublicURL, Session: s.Session()}
}

func sessionService(_ *shell.Shell, pool *postgres.Pool, events *eventstore.Store) sessions.Service {
	return sessions.New(pool, events)
}

func queueService(_ *shell.Shell, pool *postgres.Pool, events *eventstore.Store) queues.Service {
	return queues.New(pool, events)
}

func accountService(s *shell.Shell, pool *postgres.Pool, events *eventstore.Store) accounts.Service {
	return accounts.New(pool, events, accountstore.NewStorage(pool, s.Config.AccountLimit))
}

func openEvents(ctx context.Context, s *shell.Shell, work func(events.Service) error) error {
	types, err := eventtypes.Registry()
	if err != nil {
		return err
	}
	return onDatabase(func(s *shell.Shell, pool *postgres.Pool) events.Service {
		return events.Service{
			Pool: pool, Registry: types,
			Follow: func(ctx context.Context, work func(context.Context, eventlog.Tail) error) error {
				return onTail(ctx, s, pool, work)
			},
		}
	})(ctx, s, work)
}

// onTail calls work with the tail of the log.
func onTail(ctx context.Context, s *shell.Shell, pool *postgres.Pool, work func(context.Context, eventlog.Tail) error) error {
	logger, err := s.Logger()
	if err != nil {
		return err
	}
	wake := eventstore.NewWake(s.Config.SessionURL(), logger)
	tail, err := eventstore.OpenTailer(ctx, pool, s.Config.SessionURL(), wake, eventstore.TailerOptions{Log: logger})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error { return wake.Run(running) })
	group.Go(func() error { return tail.Run(running) })
	err = work(ctx, tail)
	stop()
	return errors.Join(err, group.Wait())
}

// opened calls work with a service of a process that has no role.
func opened[S any](ctx context.Context, s *shell.Shell, service func(*app.Instance) S, work func(S) error) error {
	return s.Opened(ctx, func(in *app.Instance) error {
		return work(service(in))
	})
}

func openServers(ctx context.Context, s *shell.Shell, work func(*servers.Service) error) error {
	return opened(ctx, s, (*app.Instance).OperatedServers, work)
}

func openWeights(ctx context.Context, s *shell.Shell, work func(*weights.Service) error) error {
	return opened(ctx, s, (*app.Instance).OperatedWeights, func(o *weights.Service) error {
		o.Session = s.Session()
		return work(o)
	})
}

// openPools opens the operators' service for pools of machines.
func openPools(ctx context.Context, s *shell.Shell, work func(*pools.Service) error) error {
	return opened(ctx, s, (*app.Instance).OperatedPools, work)
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
	return opened(ctx, s, (*app.Instance).OperatedWebhooks, work)
}

// openDeployments opens the operators' service for deployments, whose addresses are those of the running service.
func openDeployments(ctx context.Context, s *shell.Shell, work func(*deployments.Service) error) error {
	rules, _, err := s.RunningRules(ctx)
	if err != nil {
		return err
	}
	s.Config.PublicURL = cmp.Or(s.Config.PublicURL, rules.Address)
	return opened(ctx, s, (*app.Instance).OperatedDeployments, work)
}

// deployCommand returns the command that publishes a graph.
func deployCommand(s *shell.Shell) *cobra.Command {
	cmd := shell.Command(s, deployments.Deploy, deployments.Deploy.Commands[0], openDeployments)
	s.DatabaseFlags(cmd)
	return cmd
}
