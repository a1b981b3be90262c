package config

import (
	"fmt"
	"strconv"
)

// Collector configures exports to a collector of OTLP, under the variables of the OpenTelemetry specification.
// Variables that are not listed here, for one signal alone or for TLS, are read by the OpenTelemetry library.
type Collector struct {
	Endpoint string // OTEL_EXPORTER_OTLP_ENDPOINT, URL of a collector; "" = nothing is exported
	Traces   string // OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, endpoint of traces alone
	Metrics  string // OTEL_EXPORTER_OTLP_METRICS_ENDPOINT, endpoint of metrics alone
	Headers  string // OTEL_EXPORTER_OTLP_HEADERS, name=value comma list, for the collector's credential

	noTraces, noMetrics bool // OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER
}

// TakesTraces reports whether traces are exported.
func (c Collector) TakesTraces() bool { return (c.Endpoint != "" || c.Traces != "") && !c.noTraces }

// TakesMetrics reports whether metrics are exported.
func (c Collector) TakesMetrics() bool { return (c.Endpoint != "" || c.Metrics != "") && !c.noMetrics }

var telemetrySettings = []setting{
	text("OTEL_EXPORTER_OTLP_ENDPOINT", func(c *Config) *string { return &c.Collector.Endpoint }),
	text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", func(c *Config) *string { return &c.Collector.Traces }),
	text("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", func(c *Config) *string { return &c.Collector.Metrics }),
	text("OTEL_EXPORTER_OTLP_HEADERS", func(c *Config) *string { return &c.Collector.Headers }),
	exporter("OTEL_TRACES_EXPORTER", func(c *Config) *bool { return &c.Collector.noTraces }),
	exporter("OTEL_METRICS_EXPORTER", func(c *Config) *bool { return &c.Collector.noMetrics }),
	{"OTEL_METRIC_EXPORT_INTERVAL", func(_ *Config, v string) error { // the library reads it, and ignores malformed values
		if n, err := strconv.Atoi(v); err != nil || n <= 0 {
			return fmt.Errorf("OTEL_METRIC_EXPORT_INTERVAL takes milliseconds such as 60000, not %q", v)
		}
		return nil
	}},
	{"OTEL_RESOURCE_ATTRIBUTES", func(*Config, string) error { return nil }}, // read by the library
}

// exporter parses a setting that is otlp or none.
func exporter(env string, off func(*Config) *bool) setting {
	return setting{env, func(c *Config, v string) error {
		if v != "otlp" && v != "none" {
			return fmt.Errorf("%s takes otlp or none, not %q", env, v)
		}
		*off(c) = v == "none"
		return nil
	}}
}
