package provider_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/millrace-dev/millrace/internal/telemetry"
)

// Each exchange is a child span of the caller's, with the id of the request. The span contains no credential, address
// or body.
func TestAnExchangeIsASpanWithoutSecrets(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	s, c, _ := acme(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		w.Write([]byte(`{"x":1}`)) // the other side tells
	})
	seen := tracetest.NewSpanRecorder()
	ctx, parent := telemetry.New(seen, "v", "here").Tracer().Start(t.Context(), "call")
	for _, status = range []int{http.StatusOK, http.StatusBadGateway} {
		_, err := c.Dispatch(ctx, request(find(t, s, "acme/whole"), `{"prompt":"a private wish"}`), &bytes.Buffer{})
		require.NoError(t, err)
	}
	parent.End()
	spans := seen.Ended()
	require.Len(t, spans, 3)
	for i, want := range []codes.Code{codes.Unset, codes.Error} {
		require.Equal(t, "provider POST", spans[i].Name())
		require.Equal(t, parent.SpanContext().SpanID(), spans[i].Parent().SpanID())
		require.Equal(t, want, spans[i].Status().Code)
		got := fmt.Sprint(spans[i].Attributes(), spans[i].Events(), spans[i].Status())
		require.Contains(t, strings.ReplaceAll(got, "-", ""), parent.SpanContext().TraceID().String(), "the request's id")
		require.Contains(t, got, "acme/whole")
		require.NotContains(t, got, secret)
		require.NotContains(t, got, "wish")
		require.NotContains(t, got, "127.0.0.1")
	}
}

// Allocations of parallel tests would be counted, too.
func TestASpanCostsNothingWithoutATrace(t *testing.T) {
	allocations := testing.AllocsPerRun(100, func() {
		_, span := telemetry.Begin(t.Context(), "x", 0)
		telemetry.End(span, "")
	})
	require.LessOrEqual(t, allocations, 1.0)
}
