package telemetry_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/millrace-dev/millrace/internal/telemetry"
)

// The trace has the request's id, later work has child spans of the request's span, and no span contains the query.
func TestATraceHasTheIDOfItsRequest(t *testing.T) {
	t.Parallel()
	seen := tracetest.NewSpanRecorder()
	p := telemetry.New(seen, "v", "here")
	id := uuid.NewString()
	h := p.Requests(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", id)
		w.WriteHeader(http.StatusTeapot)
	}))
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest("GET", "/api/ws?token=hunter2", nil))
	require.Equal(t, http.StatusTeapot, rec.Code)
	_, later := p.Tracer().Start(telemetry.Within(context.Background(), id), "workflow") // as in a relay, after the request
	later.End()

	spans := seen.Ended()
	require.Len(t, spans, 2)
	require.Equal(t, strings.ReplaceAll(id, "-", ""), spans[0].SpanContext().TraceID().String())
	require.Equal(t, spans[0].SpanContext().TraceID(), spans[1].SpanContext().TraceID())
	require.Equal(t, spans[0].SpanContext().SpanID(), spans[1].Parent().SpanID())
	require.NotContains(t, fmt.Sprint(spans[0].Attributes(), spans[0].Name()), "hunter2")
	require.Contains(t, fmt.Sprint(spans[0].Attributes()), "418")
}

func TestWebSocketsPassThrough(t *testing.T) {
	t.Parallel()
	p := telemetry.New(sdktrace.NewSimpleSpanProcessor(tracetest.NewNoopExporter()), "v", "here")
	server := httptest.NewServer(p.Requests(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var up websocket.Upgrader
		c, err := up.Upgrade(w, r, nil)
		if err == nil {
			c.WriteMessage(websocket.TextMessage, []byte("hello")) // the other side checks it
			c.Close()                                              // the other side notices it
		}
	})))
	defer server.Close()
	c, res, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(server.URL, "http"), nil)
	require.NoError(t, err)
	defer c.Close()
	defer res.Body.Close()
	_, message, err := c.ReadMessage()
	require.NoError(t, err)
	require.Equal(t, "hello", string(message))
}
