package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/config"
)

// No signal is exported unless a collector is configured, and each signal can be switched off.
func TestCollectorSettings(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env             map[string]string
		traces, metrics bool
	}{
		"nothing":          {nil, false, false},
		"both":             {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, true, true},
		"metrics alone":    {map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://c:4318/m"}, false, true},
		"traces alone":     {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/t"}, true, false},
		"without metrics":  {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_METRICS_EXPORTER": "none"}, true, false},
		"without traces":   {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}, false, true},
		"named explicitly": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_METRICS_EXPORTER": "otlp"}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Load(func(name string) (string, bool) { v, ok := tc.env[name]; return v, ok })
			require.NoError(t, err)
			require.Equal(t, tc.traces, c.Collector.TakesTraces())
			require.Equal(t, tc.metrics, c.Collector.TakesMetrics())
		})
	}
	for name, value := range map[string]string{
		"OTEL_METRICS_EXPORTER": "prometheus", "OTEL_METRIC_EXPORT_INTERVAL": "1m", "MILLRACE_BUCKET_ENCRYPTION": "rot13",
	} {
		_, err := config.Load(func(n string) (string, bool) { return value, n == name })
		require.ErrorContains(t, err, name+" takes")
	}
	c, err := config.Load(func(n string) (string, bool) { return "key", n == "MILLRACE_BUCKET_KMS_KEY" })
	require.NoError(t, err)
	require.ErrorContains(t, c.Validate(), "MILLRACE_BUCKET_ENCRYPTION=sse-kms")
}
