package telemetry_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/millrace-dev/millrace/internal/operate/metrics"
	"github.com/millrace-dev/millrace/internal/telemetry"
)

// decoded reads an export like a collector.
func decoded(t *testing.T, r received) (resource map[string]string, byName map[string]*metricspb.Metric) {
	t.Helper()
	require.Equal(t, "application/x-protobuf", r.contentType)
	var export collectorpb.ExportMetricsServiceRequest
	require.NoError(t, proto.Unmarshal(r.body, &export))
	require.Len(t, export.GetResourceMetrics(), 1)
	resource, byName = map[string]string{}, map[string]*metricspb.Metric{}
	for _, a := range export.GetResourceMetrics()[0].GetResource().GetAttributes() {
		resource[a.GetKey()] = a.GetValue().GetStringValue()
	}
	for _, scope := range export.GetResourceMetrics()[0].GetScopeMetrics() {
		for _, m := range scope.GetMetrics() {
			byName[m.GetName()] = m
		}
	}
	return resource, byName
}

// metersOf returns a registry like that of a process: with metrics of the service, of Go and of the process.
func metersOf() *metrics.Metrics {
	m := metrics.New()
	m.Gauge("millrace_watchers", "…", func() float64 { return 7 })
	m.Counters("millrace_webhook_attempts_total", "…", "outcome", func() map[string]int64 { return map[string]int64{"delivered": 5} })
	return m
}

// push runs p until the returned function is called.
func push(t *testing.T, p telemetry.Push) (stop func()) {
	t.Helper()
	p.Log = slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		require.NoError(t, <-ended)
	}
}

// A collector receives the metrics that Prometheus would scrape: the same names and the same values.
func TestMetricsArePushedAsTheyAreScraped(t *testing.T) { //nolint:paralleltest // sets variables of the process
	base, requests := collector(t)
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "20")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=staging")
	m := metersOf()
	stop := push(t, telemetry.Push{
		To: telemetry.Collector{Endpoint: base, Headers: "X-Tenant=media%20team"}, From: m.Gatherer(), Version: "v1.2.3", Instance: "here/1",
	})
	r := <-requests // sent after the interval
	stop()
	require.Equal(t, "/v1/metrics", r.path)
	require.Equal(t, "media team", r.header, "the credential may come from a file")
	resource, pushed := decoded(t, r)
	require.Equal(t, map[string]string{
		"service.name": "millrace", "service.version": "v1.2.3", "service.instance.id": "here/1", "deployment.environment": "staging",
	}, resource)
	require.InDelta(t, 7.0, pushed["millrace_watchers"].GetGauge().GetDataPoints()[0].GetAsDouble(), 0)
	attempts := pushed["millrace_webhook_attempts_total"].GetSum()
	require.True(t, attempts.GetIsMonotonic())
	require.InDelta(t, 5.0, attempts.GetDataPoints()[0].GetAsDouble(), 0)
	require.Equal(t, "delivered", attempts.GetDataPoints()[0].GetAttributes()[0].GetValue().GetStringValue())

	scraped, err := m.Gatherer().Gather()
	require.NoError(t, err)
	for _, family := range scraped {
		require.Contains(t, pushed, family.GetName())
	}
	require.Len(t, pushed, len(scraped))
}

func TestHistogramsArePushedWithTheirBuckets(t *testing.T) { //nolint:paralleltest // of the same variables
	base, requests := collector(t)
	registry := prometheus.NewRegistry()
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "millrace_job_wait_seconds", Buckets: []float64{1, 5}})
	registry.MustRegister(h)
	h.Observe(0.5)
	h.Observe(2)
	push(t, telemetry.Push{To: telemetry.Collector{Endpoint: base + "/base"}, From: registry})() // the last values are exported at the end
	r := <-requests
	require.Equal(t, "/base/v1/metrics", r.path)
	_, pushed := decoded(t, r)
	point := pushed["millrace_job_wait_seconds"].GetHistogram().GetDataPoints()[0]
	require.Equal(t, []float64{1, 5}, point.GetExplicitBounds())
	require.Equal(t, []uint64{1, 1, 0}, point.GetBucketCounts())
}

func TestTheVariableForMetricsAloneIsTakenAsItIs(t *testing.T) { //nolint:paralleltest // sets variables of the process
	base, requests := collector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", base+"/elsewhere")
	push(t, telemetry.Push{From: metersOf().Gatherer()})()
	require.Equal(t, "/elsewhere", (<-requests).path)
}

// A collector that is down delays nothing. The next export contains what it missed, since counters only grow.
func TestUnavailableCollectorIsRetried(t *testing.T) { //nolint:paralleltest // sets variables of the process
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "20")
	answers := make(chan int, 1)
	took := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case status := <-answers:
			w.WriteHeader(status)
		default:
			select {
			case took <- struct{}{}:
			default:
			}
		}
	}))
	t.Cleanup(server.Close)
	answers <- http.StatusBadRequest // refused permanently: the exporter repeats after other errors
	stop := push(t, telemetry.Push{To: telemetry.Collector{Endpoint: server.URL}, From: metersOf().Gatherer()})
	select {
	case <-took:
	case <-time.After(time.Minute):
		t.Fatal("it was not asked again")
	}
	stop()
}

func TestMalformedHeadersAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"token", "=x", "a=%zz"} {
		err := telemetry.Push{
			To:   telemetry.Collector{Endpoint: "http://127.0.0.1:1", Headers: text},
			From: prometheus.NewRegistry(),
		}.Run(t.Context())
		require.ErrorContains(t, err, "OTEL_EXPORTER_OTLP_HEADERS takes NAME=VALUE", text)
		require.NotContains(t, err.Error(), text, "it may be a secret")
	}
}
