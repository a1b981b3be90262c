package app

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"

	"github.com/google/uuid"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/config/version"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/operate/metrics"
	"github.com/millrace-dev/millrace/internal/postgres/livestore"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/internal/stream/peer"
	"github.com/millrace-dev/millrace/internal/telemetry"
)

// openBus connects live frames with other processes over the internal address, which also answers health checks.
func (in *Instance) openBus(ctx context.Context, group *errgroup.Group) error {
	var inner stream.Bus = stream.NewLocal()
	if in.cfg.InternalAddr != "" {
		bus, err := in.openPeers(ctx, group)
		if err != nil {
			return err
		}
		inner = bus
	}
	recorder := stream.NewRecorder(inner, livestore.NewProgress(in.pool), in.log)
	group.Go(func() error { return ignoreStop(recorder.Run(ctx)) })
	in.bus = recorder
	return nil
}

func (in *Instance) openPeers(ctx context.Context, group *errgroup.Group) (*peer.Bus, error) {
	listener, err := Listen(in.cfg.InternalAddr)
	if err != nil {
		return nil, err
	}
	secret, err := in.key.Derive("peers")
	if err != nil {
		return nil, err
	}
	opts := peer.Options{
		Self:   peer.Replica{ID: uuid.NewString(), URL: in.advertised(listener.Addr())},
		Secret: hex.EncodeToString(secret), Log: in.log,
	}
	if in.has(API) {
		opts.Interest = in.hub
	}
	bus, err := peer.New(livestore.NewReplicas(in.pool), opts)
	if err != nil {
		return nil, err
	}
	group.Go(func() error { return ignoreStop(bus.Run(ctx)) })
	group.Go(func() error { return serveHTTP(ctx, listener, in.internalHandler(bus), in.cfg.StopAfter) })
	return bus, nil
}

// advertised returns the URL at which other processes reach the internal address. For a wildcard address it uses the
// name of this host.
func (in *Instance) advertised(addr net.Addr) string {
	if in.cfg.AdvertiseURL != "" {
		return in.cfg.AdvertiseURL
	}
	host, port, err := net.SplitHostPort(addr.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			host = name
		}
	}
	return "http://" + net.JoinHostPort(host, port)
}

// internalHandler serves other processes, not clients. The only credential is the secret that all processes share.
func (in *Instance) internalHandler(bus *peer.Bus) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(peer.Path, bus.Handler())
	profiles(mux)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"status":"ok"}`) //nolint:errcheck // the client may have disconnected
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		status, parts := http.StatusOK, readiness{in}.Check(r.Context())
		for _, p := range parts {
			if !p.OK && (p.Required || p.Name == "temporal" && in.has(Worker)) {
				status = http.StatusServiceUnavailable
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(parts) //nolint:errcheck // the client may have disconnected
	})
	return mux
}

// profiles serves the profiles of the Go runtime, which reveal memory and code. They are served to operators, never
// to clients.
func profiles(mux *http.ServeMux) {
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
}

// openMetrics builds the metrics of this process. Only projectors serve the metrics that are counted from the log;
// several projectors count the same events.
func (in *Instance) openMetrics(ctx context.Context, group *errgroup.Group) *metrics.Metrics {
	m := metrics.New()
	m.Read(&metrics.Database{Pool: in.pool, Storage: in.storage}, in.log)
	m.Counter("millrace_database_statements_total", "Statements that this process has sent to the database.", func() float64 {
		return float64(in.statements.Load())
	})
	m.Gauge("millrace_workflow_tasks_late", "Jobs that do not go on because a task is late or fails repeatedly, as this worker found them.",
		func() float64 { return float64(in.late.Load()) })
	m.Streams(in.hub)
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
