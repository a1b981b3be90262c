package app

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/metrics"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/webhook"
	"github.com/millrace-dev/millrace/projections/webhooks"
)

// webhookService carries out commands on endpoints.
func (in *instance) webhookService() (*webhook.Service, error) {
	sealer, err := in.key.Sealer()
	if err != nil {
		return nil, err
	}
	return webhook.NewService(webhook.Deps{
		Books: webhooks.NewReader(in.pool, in.types), Store: postgres.NewWebhooks(in.pool, in.events), Sealer: sealer, Allow: in.cfg.Webhooks.Allow,
	}), nil
}

// webhookDial is shorter than an attempt, so that an address that drops packets says so itself.
const webhookDial = 5 * time.Second

// startWebhooks makes the deliveries that the projector has queued. The workflow engine has no part in it.
func (in *instance) startWebhooks(ctx context.Context, group *errgroup.Group) {
	group.Go(func() error {
		service, err := in.webhookService()
		if err != nil {
			return err
		}
		wire := outbound.New(outbound.Options{DialTimeout: webhookDial})
		defer wire.Close()
		return webhook.NewDispatcher(webhook.DispatcherDeps{
			Queue: postgres.NewWebhooks(in.pool, in.events), Disabler: service, Sealer: service.Sealer, Wire: wire,
			Allow: in.cfg.Webhooks.Allow, Counts: &in.sent, Log: in.log, Grace: in.cfg.StopAfter,
		}, in.cfg.Webhooks.Policy).Run(ctx)
	})
}

// tellWebhooks adds the attempts of this process to its metrics.
func (in *instance) tellWebhooks(m *metrics.Metrics) {
	if !in.has(roleWorker) {
		return
	}
	m.Counters("millrace_webhook_attempts_total", "Attempts at deliveries, by how they ended: delivered, retried, dead.", "outcome", in.sent.Read)
}
