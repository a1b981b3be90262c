package app

import (
	"context"
	"net/http"
	"time"

	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/config/version"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/operate/metrics"
	"github.com/millrace-dev/millrace/internal/telemetry"
)

// openMetrics builds the metrics of this process. Only projectors serve the metrics that are counted from the log;
// several projectors count the same events.
func (in *Instance) openMetrics(ctx context.Context, group *errgroup.Group) *metrics.Metrics {
	m := metrics.New()
	m.Read(&metrics.Database{Pool: in.pool, Storage: in.storage}, in.log)
	m.Counter("millrace_database_statements_total", "Statements that this process has sent to the database.", func() float64 {
		return float64(in.statements.Load())
	})
	m.Gauge("millrace_watching_accounts", "Accounts with an open WebSocket or event stream on this process.", func() float64 {
		return float64(len(in.hub.Accounts()))
	})
	m.Gauge("millrace_watchers", "Open WebSockets and event streams on this process.", func() float64 {
		open := 0
		for _, id := range in.hub.Accounts() {
			open += in.hub.Watched(id)
		}
		return float64(open)
	})
	m.Engine(readiness{in}.temporal)
	m.Disk(in.cfg.DataDir, in.cfg.DiskReserve)
	in.meterWebhooks(m)
	if in.has(Projector) {
		group.Go(func() error {
			return in.follow(ctx, func(events []eventlog.Recorded) { m.Observe(events, in.events.Decode) })
		})
	}
	return m
}

// openTraces exports traces if a collector is configured, and returns the interceptors that add workflows and
// activities to the traces.
func (in *Instance) openTraces(ctx context.Context) ([]interceptor.ClientInterceptor, error) {
	if !in.cfg.Collector.TakesTraces() {
		return nil, nil
	}
	traces, err := telemetry.Start(ctx, in.collector(), version.Version, in.name)
	if err != nil {
		return nil, err
	}
	in.traces = traces
	traced, err := opentelemetry.NewTracingInterceptor(opentelemetry.TracerOptions{Tracer: traces.Tracer()})
	if err != nil {
		return nil, err
	}
	return []interceptor.ClientInterceptor{traced}, nil
}

func (in *Instance) collector() telemetry.Collector {
	return telemetry.Collector{Endpoint: in.cfg.Collector.Endpoint, Headers: in.cfg.Collector.Headers}
}

// tracesGrace bounds how long the last spans may take to be exported when a process stops.
const tracesGrace = 3 * time.Second

func (in *Instance) closeTraces() {
	if in.traces == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), tracesGrace)
	defer cancel()
	if err := in.traces.Shutdown(ctx); err != nil {
		in.log.Warn("export of the last traces failed", "error", err)
	}
}

// tracedRequests records a span for each request, if traces are exported.
func (in *Instance) tracedRequests(h http.Handler) http.Handler {
	if in.traces == nil || h == nil {
		return h
	}
	return in.traces.Requests(h)
}

// traced returns ctx with the span of the request that began a stream, which the stream's first event names.
func (in *Instance) traced(ctx context.Context, stream string) context.Context {
	first, err := in.events.ReadStream(ctx, stream, 0, 1)
	if err != nil || len(first) == 0 {
		return ctx // the workflow gets a trace of its own
	}
	return telemetry.Within(ctx, first[0].Meta.RequestID)
}
