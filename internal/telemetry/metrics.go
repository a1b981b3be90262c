package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
)

// metricsPath is where a collector takes metrics, below its base address.
const metricsPath = "v1/metrics"

// lastExport bounds how long the last export may take when a process stops.
const lastExport = 3 * time.Second

// Push exports the metrics of a process.
type Push struct {
	To                Collector
	From              prometheus.Gatherer
	Version, Instance string
	Log               *slog.Logger
}

// Run exports the metrics of the registry, every minute or at OTEL_METRIC_EXPORT_INTERVAL, until ctx ends, and then
// once more. OTEL_EXPORTER_OTLP_METRICS_ENDPOINT takes precedence over the endpoint in To and is used unchanged. Run
// fails only for a wrong configuration; failed exports are logged.
func (p Push) Run(ctx context.Context) error {
	options, err := p.To.metricOptions()
	if err != nil {
		return err
	}
	exporter, err := otlpmetrichttp.New(ctx, options...)
	if err != nil {
		return fmt.Errorf("OTLP exporter of metrics to %s: %w", p.To.Endpoint, err)
	}
	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(p.From))))
	provider := metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(describe(p.Version, p.Instance)))
	<-ctx.Done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastExport)
	defer cancel()
	if err := provider.Shutdown(ctx); err != nil {
		p.Log.Warn("export of the last metrics failed", "error", err)
	}
	return nil
}

func (c Collector) metricOptions() (options []otlpmetrichttp.Option, err error) {
	if os.Getenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT") == "" {
		address, err := c.address(metricsPath)
		if err != nil {
			return nil, err
		}
		options = append(options, otlpmetrichttp.WithEndpointURL(address))
	}
	headers, err := c.headers()
	if headers != nil {
		options = append(options, otlpmetrichttp.WithHeaders(headers))
	}
	return options, err
}

// Collector is the destination of traces and metrics.
type Collector struct {
	Endpoint string // base address
	Headers  string // name=value comma list, values percent-encoded; from a file of secrets; used if the environment has no headers
}

// address returns the address of a path below the base address.
func (c Collector) address(path string) (string, error) {
	address, err := url.JoinPath(c.Endpoint, path)
	if err != nil {
		return "", fmt.Errorf("%s %q is not an address such as http://collector:4318: %w", EndpointEnv, c.Endpoint, err)
	}
	return address, nil
}

// headers returns the headers that the library does not read by itself, or nil.
func (c Collector) headers() (map[string]string, error) {
	const env = "OTEL_EXPORTER_OTLP_HEADERS"
	if c.Headers == "" || os.Getenv(env) != "" {
		return nil, nil
	}
	headers := map[string]string{}
	for pair := range strings.SplitSeq(c.Headers, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || name == "" || err != nil {
			return nil, fmt.Errorf("%s takes NAME=VALUE, comma separated, with values percent-encoded", env)
		}
		headers[strings.TrimSpace(name)] = value
	}
	return headers, nil
}
