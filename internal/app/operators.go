package app

import (
	"context"
	"net/http"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/api/admin"
	consoleoperators "github.com/millrace-dev/millrace/api/console/operators"
	"github.com/millrace-dev/millrace/internal/config/version"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/accounts"
	"github.com/millrace-dev/millrace/internal/operate/assets"
	"github.com/millrace-dev/millrace/internal/operate/calls"
	"github.com/millrace-dev/millrace/internal/operate/doctor"
	"github.com/millrace-dev/millrace/internal/operate/events"
	"github.com/millrace-dev/millrace/internal/operate/histories"
	"github.com/millrace-dev/millrace/internal/operate/jobs"
	"github.com/millrace-dev/millrace/internal/operate/queues"
	"github.com/millrace-dev/millrace/internal/operate/views"
	operatewebhooks "github.com/millrace-dev/millrace/internal/operate/webhooks"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/webhookstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/telemetry"
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
func (in *Instance) JobChanges() (*jobs.Changes, error) {
	service, err := in.JobService()
	if err != nil {
		return nil, err
	}
	return &jobs.Changes{
		Pool: in.pool, Types: in.types, Events: in.events, Jobs: in.jobs,
		Retrier: job.Retrier{Service: service, Sources: in.sources()},
	}, nil
}

// adminHandler returns the handler of the admin API.
func (in *Instance) adminHandler(metrics http.Handler) (http.Handler, error) {
	changes, err := in.JobChanges()
	if err != nil {
		return nil, err
	}
	pages, err := in.operatedPages()
	if err != nil {
		return nil, err
	}
	engine := histories.Served(in.client, in.payloads, in.log)
	return admin.New(admin.Deps{
		Jobs: jobs.Service{
			Histories: jobs.Histories{Pool: in.pool, Blobs: func(context.Context) (blob.Store, error) { return in.blobs, nil }},
			Engine:    engine,
			Change:    func(_ context.Context, work func(*jobs.Changes) error) error { return work(changes) },
		},
		Calls:  calls.New(in.pool, in.calls, engine, operate.Session{}),
		Assets: assets.New(in.pool, engine), Events: events.Service{Pool: in.pool, Registry: in.types},
		Views: pages.Views, Queues: pages.Queues, Accounts: pages.Accounts, Servers: pages.Servers, Webhooks: pages.Webhooks,
		Doctor: pages.Doctor, Metrics: metrics, TrustedProxies: in.cfg.Proxies, Log: in.log,
	}, in.cfg.AdminToken)
}

// OperatedWebhooks returns the service of operators for webhooks.
func (in *Instance) OperatedWebhooks() (*operatewebhooks.Service, error) {
	service, err := in.webhookService()
	if err != nil {
		return nil, err
	}
	return &operatewebhooks.Service{
		Endpoints: service, Store: webhookstore.New(in.pool, in.events), Reader: webhooks.NewReader(in.pool, in.types),
		Accounts: accountstore.New(in.pool),
	}, nil
}

// operatedPages returns the operators' services for pages of the console.
func (in *Instance) operatedPages() (*consoleoperators.Services, error) {
	hooks, err := in.OperatedWebhooks()
	if err != nil {
		return nil, err
	}
	pool, err := in.OperatedServers()
	if err != nil {
		return nil, err
	}
	return &consoleoperators.Services{
		Queues: queues.New(in.pool, in.events), Views: views.Service{Pool: in.pool, Events: in.events, Base: in.cfg.PublicURL},
		Accounts: accounts.New(in.pool, in.events, in.storage), Webhooks: hooks, Servers: pool, Doctor: in.doctor(),
	}, nil
}
