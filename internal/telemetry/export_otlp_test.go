package telemetry_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/telemetry"
)

// received is a request that a collector got.
type received struct {
	path, contentType, header string
	body                      []byte
}

// collector answers like a collector of OTLP over HTTP: at the paths of the specification, and with 404 elsewhere.
func collector(t *testing.T) (base string, requests <-chan received) {
	t.Helper()
	got := make(chan received, 16)
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read an export: %v", err)
		}
		select {
		case got <- received{r.URL.Path, r.Header.Get("Content-Type"), r.Header.Get("X-Tenant"), body}:
		default: // a test that reads the first of many
		}
		if !strings.HasSuffix(r.URL.Path, "/v1/traces") && !strings.HasSuffix(r.URL.Path, "/v1/metrics") && r.URL.Path != "/elsewhere" {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL, got
}

// A collector receives traces at /v1/traces below its base address, with the headers of the standard variables.
func TestTracesGoWhereCollectorsTakeThem(t *testing.T) { //nolint:paralleltest // sets variables of the process
	base, requests := collector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "X-Tenant=media")
	export := func(endpoint string) received {
		p, err := telemetry.Start(t.Context(), telemetry.Collector{Endpoint: endpoint}, "v", "here")
		require.NoError(t, err)
		_, span := p.Tracer().Start(t.Context(), "workflow")
		span.End()
		require.NoError(t, p.Shutdown(t.Context()), "the collector took them")
		return <-requests
	}
	for endpoint, path := range map[string]string{base: "/v1/traces", base + "/": "/v1/traces", base + "/base": "/base/v1/traces"} {
		r := export(endpoint)
		require.Equal(t, path, r.path)
		require.Equal(t, "application/x-protobuf", r.contentType)
		require.Equal(t, "media", r.header)
		require.Contains(t, string(r.body), "workflow")
		require.Contains(t, string(r.body), "millrace")
	}
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", base+"/elsewhere")
	require.Equal(t, "/elsewhere", export(base).path, "the variable for traces alone is taken as it is")
}
