package e2e_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// traces collects what the service exports over OTLP.
type traces struct {
	mu    sync.Mutex
	raw   bytes.Buffer    // guarded by mu
	spans []*tracev1.Span // guarded by mu
}

// theTraces is the collector of the running service.
var theTraces = sync.OnceValues(func() (*traces, string) {
	t := &traces{}
	server := httptest.NewServer(t)
	stopMu.Lock()
	defer stopMu.Unlock()
	stops = append(stops, server.Close)
	return t, server.URL
})

// ServeHTTP takes one export.
func (t *traces) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
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

// of returns the spans of a trace by their names.
func (t *traces) of(trace string) map[string]*tracev1.Span {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := map[string]*tracev1.Span{}
	for _, s := range t.spans {
		if hexOf(s.GetTraceId()) == trace {
			found[s.GetName()] = s
		}
	}
	return found
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
	var spans map[string]*tracev1.Span
	require.Eventually(t, func() bool {
		spans = collected.of(trace)
		return spans["POST"] != nil && spans["node EmptyImage"] != nil && spans["RunWorkflow:RunGraph"] != nil
	}, patience, 100*time.Millisecond)

	requireBelow(t, spans, "node EmptyImage", "POST")
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
	var spans map[string]*tracev1.Span
	require.Eventually(t, func() bool {
		spans = collected.of(trace)
		return spans["POST"] != nil && spans["provider POST"] != nil && spans["send call"] != nil && spans["RunWorkflow:RunModel"] != nil
	}, patience, 100*time.Millisecond)
	requireBelow(t, spans, "provider POST", "POST")
	requireBelow(t, spans, "RunWorkflow:RunModel", "POST")
	collected.mu.Lock()
	defer collected.mu.Unlock()
	require.NotContains(t, collected.raw.String(), "a secret of the caller's")
}

// requireBelow follows the parents of a span up to another.
func requireBelow(t *testing.T, spans map[string]*tracev1.Span, name, above string) {
	t.Helper()
	for span, steps := spans[name], 0; span.GetName() != above; steps++ {
		require.Less(t, steps, 10)
		parent := byID(spans, span.GetParentSpanId())
		require.NotNil(t, parent, "%s is below nothing", span.GetName())
		span = parent
	}
}

func byID(spans map[string]*tracev1.Span, id []byte) *tracev1.Span {
	for _, s := range spans {
		if bytes.Equal(s.GetSpanId(), id) {
			return s
		}
	}
	return nil
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
