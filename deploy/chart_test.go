package deploy_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/config"
)

const chart = "helm/millrace/"

// chartOwn are settings that the chart's other values stand for.
var chartOwn = []string{
	"TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "TEMPORAL_TLS", "TEMPORAL_TLS_SERVER_CA_CERT_PATH", "TEMPORAL_TLS_SERVER_NAME",
	"TEMPORAL_TLS_CLIENT_CERT_PATH", "TEMPORAL_TLS_CLIENT_KEY_PATH", "MILLRACE_BUCKET", "MILLRACE_BUCKET_ENDPOINT",
	"MILLRACE_BUCKET_REGION", "MILLRACE_BUCKET_PREFIX", "MILLRACE_METRICS_ADDR", "MILLRACE_STOP_AFTER",
}

// The chart's schema knows the settings of the program and no others, and takes secrets from a Secret only.
func TestChartTakesEverySetting(t *testing.T) {
	t.Parallel()
	var plain, secret []string
	for _, name := range settings(t) {
		switch bare, inFile := strings.CutSuffix(name, config.FileSuffix); {
		case slices.Contains(chartOwn, name):
		case inFile:
			secret = append(secret, bare)
		default:
			plain = append(plain, name)
		}
	}
	plain = slices.DeleteFunc(plain, func(name string) bool { return slices.Contains(secret, name) })
	raw, err := os.ReadFile(chart + "values.schema.json")
	require.NoError(t, err)
	want := raw
	want = replaceLine(t, want, `    "settings": `, `{"type": "object", "additionalProperties": false, "properties": {`+properties(t,
		plain)+`}},`)
	want = replaceLine(t, want, `      "existing": {"type": "string", "minLength": 1}, "keys": `,
		`{"type": "array", "uniqueItems": true, "items": {"enum": `+encode(t, secret)+`}}}},`)
	if *update {
		require.NoError(t, os.WriteFile(chart+"values.schema.json", want, 0o644))
		raw = want
	}
	require.Equal(t, string(want), string(raw), "run go test ./deploy -update")
	require.True(t, json.Valid(raw))
}

// replaceLine puts rest behind the line's beginning.
func replaceLine(t *testing.T, content []byte, beginning, rest string) []byte {
	t.Helper()
	lines := bytes.Split(content, []byte("\n"))
	i := slices.IndexFunc(lines, func(line []byte) bool { return bytes.HasPrefix(line, []byte(beginning)) })
	require.GreaterOrEqual(t, i, 0, beginning)
	lines[i] = []byte(beginning + rest)
	return bytes.Join(lines, []byte("\n"))
}

// properties are members of a schema whose values are words: a setting is text, also when it looks like a number.
func properties(t *testing.T, names []string) string {
	t.Helper()
	members := make([]string, len(names))
	for i, name := range names {
		members[i] = encode(t, name) + `: {"type": ["string", "integer", "boolean"]}`
	}
	return strings.Join(members, ", ")
}

func encode(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}

// The alerts of the chart are those that are shipped beside it.
func TestChartHasTheShippedAlerts(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("prometheus/alerts.yml")
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(chart+"alerts.yml", want, 0o644))
	}
	got, err := os.ReadFile(chart + "alerts.yml")
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run go test ./deploy -update")
}
