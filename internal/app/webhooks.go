package app

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/operate/metrics"
	"github.com/millrace-dev/millrace/internal/operate/views"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/webhookstore"
	"github.com/millrace-dev/millrace/projections"
	"github.com/millrace-dev/millrace/projections/webhooks"
)

// startProjector runs the projections that keep the views up to date.
func (in *Instance) startProjector(ctx context.Context, group *errgroup.Group) {
	checkpoints := eventstore.NewCheckpoints(in.pool, in.cfg.SessionURL(), in.log)
	group.Go(func() error { return checkpoints.Run(ctx) })
	group.Go(func() error {
		all, err := views.Followers(in.cfg.PublicURL)
		if err != nil {
			return err
		}
		runner, err := projections.NewRunner(in.pool, in.tail, checkpoints, projections.Options{Log: in.log}, all...)
		if err != nil {
			return err
		}
		return runner.Run(ctx)
	})
}

// webhookService returns the service for endpoints.
func (in *Instance) webhookService() *webhook.Service {
	return webhook.NewService(webhook.Deps{
		Reader: webhooks.NewReader(in.pool, in.types), Store: webhookstore.New(in.pool, in.events), Sealer: in.sealers,
		Allow: in.cfg.Webhooks.Allow,
	})
}

// resealSecrets encrypts secrets of former keys with the present key, so that the former keys can be removed.
func (in *Instance) resealSecrets(ctx context.Context, service *webhook.Service) error {
	if in.cfg.FormerKeys == "" {
		return nil
	}
	accounts, err := webhookstore.New(in.pool, in.events).Accounts(ctx)
	if err != nil {
		return err
	}
	for _, account := range accounts {
		n, err := service.Reseal(ctx, account, in.sealer)
		if err != nil {
			return err
		}
		if n > 0 {
			in.log.Info("webhook secrets encrypted again with the current key", "account", account, "count", n)
		}
	}
	return nil
}

// webhookDial is shorter than the timeout of an attempt, so that an address that drops packets is reported as such.
const webhookDial = 5 * time.Second

// startWebhooks sends the deliveries that the projector has queued. It does not use Temporal.
func (in *Instance) startWebhooks(ctx context.Context, group *errgroup.Group) {
	group.Go(func() error {
		service := in.webhookService()
		if err := in.resealSecrets(ctx, service); err != nil && ctx.Err() == nil {
			in.log.Warn("encryption of webhook secrets with the current key failed; the next start will retry", "error", err)
		}
		wire := outbound.New(outbound.Options{DialTimeout: webhookDial})
		defer wire.Close()
		dispatcher := webhook.NewDispatcher(webhook.DispatcherDeps{
			Queue: webhookstore.New(in.pool, in.events), Disabler: service, Sealer: service.Sealer, Wire: wire,
			Allow: in.cfg.Webhooks.Allow, Counts: &in.sent, Log: in.log, Grace: in.cfg.StopAfter,
		}, in.settings.webhooks)
		group.Go(func() error { return in.follow(ctx, func([]eventlog.Recorded) { dispatcher.Wake() }) })
		return dispatcher.Run(ctx)
	})
}

// meterWebhooks adds the attempts of this process to its metrics.
func (in *Instance) meterWebhooks(m *metrics.Metrics) {
	if !in.has(Worker) {
		return
	}
	m.Counters("millrace_webhook_attempts_total", "Attempts at deliveries, by outcome: delivered, retried, dead.", "outcome", in.sent.Read)
}
