// Package telemetry exports traces and metrics over OTLP if the environment names a collector, and does nothing otherwise. It promises
// that the trace of a request has the request's id, so that the report of a client, the log, the events and the trace are
// found by one value. Spans contain no bodies, queries or credentials.
package telemetry

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// TracerName names the spans of this program.
const TracerName = "github.com/millrace-dev/millrace"

// EndpointEnv is the variable with the address of a collector; without it nothing is exported. The other
// OTEL_EXPORTER_OTLP_* variables of the OpenTelemetry specification apply as well.
const EndpointEnv = "OTEL_EXPORTER_OTLP_ENDPOINT"

// Provider makes spans and exports them until it is shut down.
type Provider struct{ *sdktrace.TracerProvider }

// tracesPath is where a collector takes traces, below its base address, as the OpenTelemetry specification says.
const tracesPath = "v1/traces"

// Start returns a provider that exports to a collector, and makes it the global provider of package otel. A variable
// for traces alone, such as OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, takes precedence over the endpoint in to and is used
// unchanged.
func Start(ctx context.Context, to Collector, version, instance string) (*Provider, error) {
	var options []otlptracehttp.Option
	if os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		address, err := to.address(tracesPath)
		if err != nil {
			return nil, err
		}
		options = append(options, otlptracehttp.WithEndpointURL(address))
	}
	headers, err := to.headers()
	if err != nil {
		return nil, err
	}
	if headers != nil {
		options = append(options, otlptracehttp.WithHeaders(headers))
	}
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("OTLP exporter of traces to %s: %w", to.Endpoint, err)
	}
	p := New(sdktrace.NewBatchSpanProcessor(exporter), version, instance)
	otel.SetTracerProvider(p.TracerProvider)
	return p, nil
}

// New returns a provider that passes its spans to a processor.
func New(to sdktrace.SpanProcessor, version, instance string) *Provider {
	return &Provider{sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(to), sdktrace.WithIDGenerator(requestIDs{}), sdktrace.WithResource(describe(version, instance)),
	)}
}

// describe returns the attributes of all exports: the program, the process, and those in OTEL_RESOURCE_ATTRIBUTES,
// which take precedence.
func describe(version, instance string) *resource.Resource {
	own := []attribute.KeyValue{
		attribute.String("service.name", "millrace"), attribute.String("service.version", version),
		attribute.String("service.instance.id", instance),
	}
	return resource.NewSchemaless(append(own, resource.Environment().Attributes()...)...)
}

// Tracer returns the tracer of this program's spans.
func (p *Provider) Tracer() trace.Tracer { return p.TracerProvider.Tracer(TracerName) }

// spanOf returns the ids of a request's own span. The id of the trace is that of the request.
func spanOf(requestID string) (trace.SpanContext, bool) {
	id, err := uuid.Parse(requestID)
	if err != nil {
		return trace.SpanContext{}, false
	}
	sum := sha256.Sum256(id[:])
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID(id), SpanID: trace.SpanID(sum[:8]), TraceFlags: trace.FlagsSampled, Remote: true,
	}), true
}

// Within returns a context whose spans are children of the request's span, or ctx itself for an invalid id.
func Within(ctx context.Context, requestID string) context.Context {
	if sc, ok := spanOf(requestID); ok {
		return trace.ContextWithRemoteSpanContext(ctx, sc)
	}
	return ctx
}

// forced is the context key of ids that the next span gets instead of random ones.
type forced struct{}

// requestIDs makes random ids, unless the context gives them.
type requestIDs struct{}

// NewIDs implements sdktrace.IDGenerator.
func (requestIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if sc, ok := ctx.Value(forced{}).(trace.SpanContext); ok {
		return sc.TraceID(), sc.SpanID()
	}
	id := uuid.New()
	return trace.TraceID(id), newSpanID()
}

// NewSpanID implements sdktrace.IDGenerator.
func (requestIDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return newSpanID() }

func newSpanID() trace.SpanID {
	id := uuid.New()
	return trace.SpanID(id[8:])
}

// requestHeader is the header of every answer with the request's id.
const requestHeader = "X-Request-Id"

// Close exports the last spans. Nothing happens on a nil Provider.
func (p *Provider) Close(log *slog.Logger) {
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastExport)
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		log.Warn("export of the last traces failed", "error", err)
	}
}

// Requests records a span for each request after its answer, under the id that the answer names. The span has the path as the
// client sent it, without the query, which may contain a credential.
func (p *Provider) Requests(next http.Handler) http.Handler {
	tracer := p.Tracer()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(seen, r)
		sc, ok := spanOf(w.Header().Get(requestHeader))
		if !ok {
			return
		}
		ctx := context.WithValue(context.WithoutCancel(r.Context()), forced{}, sc)
		_, span := tracer.Start(ctx, r.Method, trace.WithTimestamp(began), trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("http.request.method", r.Method), attribute.String("url.path", r.URL.Path),
				attribute.Int("http.response.status_code", seen.status), attribute.String("millrace.request_id", w.Header().Get(requestHeader))))
		if seen.status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, http.StatusText(seen.status))
		}
		span.End()
	})
}

// statusWriter remembers the status of an answer. Streams and WebSockets use the writer that it wraps.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap implements the interface of http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher, which event streams need.
func (w *statusWriter) Flush() {
	http.NewResponseController(w.ResponseWriter).Flush() //nolint:errcheck // a writer that cannot flush does not
}

// Hijack implements http.Hijacker, which WebSockets need.
func (w *statusWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.status = http.StatusSwitchingProtocols
	return http.NewResponseController(w.ResponseWriter).Hijack()
}
