package e2e_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// traces collects what the service exports over OTLP.
type traces struct {
	mu    sync.Mutex
	raw   bytes.Buffer    // guarded by mu
	spans []*tracev1.Span // guarded by mu

	metrics map[string]bool // names, guarded by mu
}

// theTraces is the collector of the running service.
var theTraces = sync.OnceValues(func() (*traces, string) {
	t := &traces{metrics: map[string]bool{}}
	if err := os.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "1000"); err != nil { // the exporter's library reads it
		panic(err)
	}
	server := httptest.NewServer(t)
	stopMu.Lock()
	defer stopMu.Unlock()
	stops = append(stops, server.Close)
	return t, server.URL
})

// ServeHTTP takes one export.
func (t *traces) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if r.URL.Path == "/v1/metrics" {
		t.takeMetrics(w, raw)
		return
	}
	var export collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(raw, &export) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.raw.Write(raw)
	for _, resource := range export.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			t.spans = append(t.spans, scope.GetSpans()...)
		}
	}
}

func (t *traces) takeMetrics(w http.ResponseWriter, raw []byte) {
	var export collectormetrics.ExportMetricsServiceRequest
	if proto.Unmarshal(raw, &export) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, resource := range export.GetResourceMetrics() {
		for _, scope := range resource.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				t.metrics[m.GetName()] = true
			}
		}
	}
}

// What operators scrape is exported to the collector as well.
func TestMetricsReachTheCollector(t *testing.T) {
	t.Parallel()
	newClient(t, "pro")
	collected, _ := theTraces()
	require.Eventually(t, func() bool {
		collected.mu.Lock()
		defer collected.mu.Unlock()
		return collected.metrics["millrace_workers"] && collected.metrics["millrace_events_total"] && collected.metrics["go_goroutines"]
	}, patience, 100*time.Millisecond)
}

// spans are those of one trace that have come so far: parents may come behind their children.
type spans []*tracev1.Span

func (t *traces) of(trace string) (found spans) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.spans {
		if hexOf(s.GetTraceId()) == trace {
			found = append(found, s)
		}
	}
	return found
}

func (s spans) named(name string) *tracev1.Span {
	return s.find(func(one *tracev1.Span) bool { return one.GetName() == name })
}

func (s spans) find(is func(*tracev1.Span) bool) *tracev1.Span {
	if i := slices.IndexFunc(s, is); i >= 0 {
		return s[i]
	}
	return nil
}

// below follows the parents of a span up to another.
func (s spans) below(name, above string) bool {
	span := s.named(name)
	for range 10 {
		if span == nil || span.GetName() == above {
			break
		}
		span = s.find(func(one *tracev1.Span) bool { return bytes.Equal(one.GetSpanId(), span.GetParentSpanId()) })
	}
	return span != nil && span.GetName() == above
}

func hexOf(id []byte) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for _, c := range id {
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

// One id leads from the request over its workflow and activities to each node, and no span or metric has
// the token that came with a WebSocket's address.
func TestATraceLeadsFromTheRequestToItsNodes(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	collected, _ := theTraces()
	watched := c.do("GET", "/api/queue?token="+c.key, "")
	require.Equal(t, 200, watched.status)
	conn := c.dial("")
	r := c.do("POST", "/api/prompt", `{"prompt":`+strings.ReplaceAll(cheapGraph, "PREFIX", "traced")+`}`)
	require.Equal(t, 200, r.status, r.body)
	require.NoError(t, conn.conn.Close())
	trace := strings.ReplaceAll(r.header.Get("X-Request-Id"), "-", "")
	require.Eventually(t, func() bool {
		spans := collected.of(trace)
		return spans.below("node EmptyImage", "POST") && spans.named("RunWorkflow:RunGraph") != nil
	}, patience, 100*time.Millisecond)
	_, metrics := c.adminText("/metrics")
	collected.mu.Lock()
	defer collected.mu.Unlock()
	require.NotContains(t, collected.raw.String(), c.key)
	require.NotContains(t, metrics, c.key)
}

// The same for a model call: the id of the request names the trace, down to what went over the wire.
func TestATraceLeadsFromTheRequestToTheProvider(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	collected, _ := theTraces()
	r := c.do("POST", "/v2/models/sim/echo", `{"prompt":"a secret of the caller's"}`, "Content-Type", "application/json")
	require.Equal(t, 200, r.status, r.body)
	trace := strings.ReplaceAll(r.header.Get("X-Comfy-Request-Id"), "-", "")
	require.Eventually(t, func() bool {
		spans := collected.of(trace)
		return spans.below("provider POST", "POST") && spans.below("RunWorkflow:RunModel", "POST") && spans.named("send call") != nil
	}, patience, 100*time.Millisecond)
	collected.mu.Lock()
	defer collected.mu.Unlock()
	require.NotContains(t, collected.raw.String(), "a secret of the caller's")
}

// adminText reads a page of the admin API that is no JSON.
func (c *client) adminText(path string) (int, string) {
	c.t.Helper()
	r := c.do("GET", "/admin"+path, "", "Authorization", "Bearer "+adminToken, "X-API-Key", "")
	require.Equal(c.t, 200, r.status)
	return r.status, r.body
}

// what clients read about the API says nothing of the operators' part; operators find it behind their credential.
func TestTheAdminAPIIsDocumentedForOperatorsOnly(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	for _, path := range []string{"/openapi.json", "/docs"} {
		r := c.do("GET", path, "")
		require.Equal(t, 200, r.status)
		require.NotContains(t, r.body, "/admin/")
		require.NotContains(t, r.body, "adminToken")
	}
	require.Equal(t, 401, c.do("GET", "/admin/openapi.json", "").status)
	status, doc := c.admin("GET", "/openapi.json", "")
	require.Equal(t, 200, status)
	require.Contains(t, doc["paths"], "/admin/jobs")
	require.Contains(t, doc["paths"], "/admin/openapi.json")
}
