package app

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/api/admin"
	consoleoperators "github.com/millrace-dev/millrace/api/console/operators"
	"github.com/millrace-dev/millrace/internal/config/version"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/accounts"
	"github.com/millrace-dev/millrace/internal/operate/assets"
	"github.com/millrace-dev/millrace/internal/operate/calls"
	"github.com/millrace-dev/millrace/internal/operate/deployments"
	"github.com/millrace-dev/millrace/internal/operate/doctor"
	"github.com/millrace-dev/millrace/internal/operate/events"
	"github.com/millrace-dev/millrace/internal/operate/histories"
	"github.com/millrace-dev/millrace/internal/operate/jobs"
	"github.com/millrace-dev/millrace/internal/operate/metrics"
	"github.com/millrace-dev/millrace/internal/operate/pools"
	"github.com/millrace-dev/millrace/internal/operate/queues"
	"github.com/millrace-dev/millrace/internal/operate/sessions"
	"github.com/millrace-dev/millrace/internal/operate/views"
	operatewebhooks "github.com/millrace-dev/millrace/internal/operate/webhooks"
	"github.com/millrace-dev/millrace/internal/operate/weights"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/livestore"
	"github.com/millrace-dev/millrace/internal/postgres/poolstore"
	"github.com/millrace-dev/millrace/internal/postgres/webhookstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/telemetry"
	"github.com/millrace-dev/millrace/projections"
	projected "github.com/millrace-dev/millrace/projections/jobs"
	"github.com/millrace-dev/millrace/projections/webhooks"
)

// serveOperators serves metrics and the admin API as configured. If the admin API has no address of its own, the
// returned handler serves it in front of public.
func (in *Instance) serveOperators(ctx context.Context, group *errgroup.Group, public http.Handler) (http.Handler, error) {
	if in.cfg.AdminToken == "" && in.cfg.MetricsAddr == "" && !in.cfg.Collector.TakesMetrics() {
		return public, nil
	}
	opened := in.openMetrics(ctx, group)
	measured := opened.Handler()
	if in.cfg.Collector.TakesMetrics() {
		push := telemetry.Push{To: in.collector(), From: opened.Gatherer(), Version: version.Version, Instance: in.name, Log: in.log}
		group.Go(func() error { return push.Run(ctx) })
	}
	if in.cfg.MetricsAddr != "" {
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", measured)
		if err := in.serveAt(ctx, group, in.cfg.MetricsAddr, mux); err != nil {
			return nil, err
		}
	}
	if in.cfg.AdminToken == "" {
		return public, nil
	}
	operators, err := in.adminHandler(measured)
	if err != nil {
		return nil, err
	}
	if operators, err = in.withCodec(operators); err != nil {
		return nil, err
	}
	if in.cfg.AdminAddr != "" {
		return public, in.serveAt(ctx, group, in.cfg.AdminAddr, operators)
	}
	if public == nil {
		return nil, nil // a process without the role api has no public address
	}
	mux := http.NewServeMux()
	mux.Handle(admin.Prefix+"/", operators)
	mux.Handle("/", public)
	return mux, nil
}

// withCodec serves the codec of payloads to operators, in addition to next.
func (in *Instance) withCodec(next http.Handler) (http.Handler, error) {
	keys, err := TemporalKeys(in.cfg)
	if err != nil || keys == nil {
		return next, err
	}
	mux := http.NewServeMux()
	mux.Handle(admin.Prefix+"/codec/",
		admin.CodecGuard(converter.NewPayloadCodecHTTPHandler(keys), in.cfg.AdminToken, in.cfg.Temporal.UIOrigin))
	mux.Handle("/", next)
	return mux, nil
}

func (in *Instance) serveAt(ctx context.Context, group *errgroup.Group, addr string, h http.Handler) error {
	l, err := Listen(addr)
	if err != nil {
		return err
	}
	group.Go(func() error { return serveHTTP(ctx, l, h, in.cfg.StopAfter) })
	return nil
}

// doctor examines the deployment from within this process.
func (in *Instance) doctor() doctor.Deployment {
	return doctor.Deployment{
		Config:   &in.cfg,
		Database: func(context.Context) (*postgres.Pool, error) { return in.pool, nil },
		Blobs: func(*postgres.Pool) func(context.Context) (blob.Store, error) {
			return func(context.Context) (blob.Store, error) { return in.blobs, nil }
		},
		Temporal: func() (client.Client, error) { return in.client, nil },
	}
}

// JobChanges returns what changes jobs for operators.
func (in *Instance) JobChanges() *jobs.Changes {
	return &jobs.Changes{
		Pool: in.pool, Types: in.types, Events: in.events, Jobs: in.jobs,
		Retrier: job.Retrier{Service: in.JobService(), Sources: in.sources()},
	}
}

// adminHandler returns the handler of the admin API.
func (in *Instance) adminHandler(metrics http.Handler) (http.Handler, error) {
	shared := in.operated()
	engine := histories.Served(in.client, in.payloads, in.log)
	return admin.New(admin.Deps{
		Jobs: jobs.Service{
			Histories: jobs.Histories{Pool: in.pool, Blobs: func(context.Context) (blob.Store, error) { return in.blobs, nil }}, Engine: engine,
			Change: func(_ context.Context, work func(*jobs.Changes) error) error { return work(in.JobChanges()) },
		},
		Calls:  calls.New(in.pool, in.calls, func(context.Context) (blob.Store, error) { return in.blobs, nil }, engine, operate.Session{}),
		Assets: assets.New(in.pool, engine), Events: events.Service{Pool: in.pool, Registry: in.types},
		Views: shared.Views, Queues: shared.Queues, Accounts: shared.Accounts, Servers: shared.Servers, Webhooks: shared.Webhooks,
		Sessions: shared.Sessions, Weights: shared.Weights, Pools: shared.Pools,
		Deployments: in.OperatedDeployments(), Doctor: shared.Doctor, Metrics: metrics, TrustedProxies: in.cfg.Proxies, Log: in.log,
	}, in.cfg.AdminToken)
}

// OperatedWebhooks returns the service of operators for webhooks.
func (in *Instance) OperatedWebhooks() *operatewebhooks.Service {
	return &operatewebhooks.Service{
		Endpoints: in.webhookService(), Store: webhookstore.New(in.pool, in.events), Reader: webhooks.NewReader(in.pool, in.types),
		Accounts: accountstore.New(in.pool),
	}
}

// OperatedWeights returns the service of operators for weights.
func (in *Instance) OperatedWeights() *weights.Service {
	return &weights.Service{
		Pool: in.pool, Assets: in.assetService(nil), Store: in.assets, Downloads: in.downloadRecords(), Servers: in.OperatedServers().Store,
		Blobs: in.blobs, Space: in.fits, WeightSources: in.settings.weights,
	}
}

// OperatedPools returns the service of operators for pools of machines.
func (in *Instance) OperatedPools() *pools.Service {
	store := poolstore.New(in.pool, in.events)
	return &pools.Service{Store: store, Servers: in.OperatedServers().Store, Workers: livestore.NewWorkers(in.pool)}
}

// OperatedDeployments returns the service of operators for deployments.
func (in *Instance) OperatedDeployments() *deployments.Service {
	return &deployments.Service{
		Deployments: in.Deployments(in.JobService()), Accounts: accountstore.New(in.pool), Base: cmp.Or(in.cfg.PublicURL, "http://"+in.cfg.Addr),
		Jobs: projected.NewReader(in.pool, in.types, nil), Sources: in.sources(), Blobs: in.blobs,
	}
}

// operated returns the services that the pages of operators and the admin API share.
func (in *Instance) operated() consoleoperators.Services {
	return consoleoperators.Services{
		Queues: queues.New(in.pool, in.events), Views: views.Service{Pool: in.pool, Events: in.events, Base: in.cfg.PublicURL},
		Accounts: accounts.New(in.pool, in.events, in.storage), Webhooks: in.OperatedWebhooks(), Servers: in.OperatedServers(),
		Sessions: sessions.New(in.pool, in.events), Weights: in.OperatedWeights(), Pools: in.OperatedPools(), Doctor: in.doctor(),
	}
}

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
