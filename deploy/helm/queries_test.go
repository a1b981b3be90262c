package helm_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// Prometheus reads every query of the alerts and of the dashboard.
func TestQueriesAreInPrometheusLanguage(t *testing.T) {
	t.Parallel()
	var alerts struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	raw, err := os.ReadFile("../prometheus/alerts.yml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(raw, &alerts))
	queries := map[string]string{}
	for _, g := range alerts.Groups {
		for _, r := range g.Rules {
			queries[r.Alert] = r.Expr
		}
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ RefID, Expr string }
		}
	}
	raw, err = os.ReadFile("../grafana/millrace.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &board))
	for _, p := range board.Panels {
		for _, q := range p.Targets {
			queries[p.Title+" "+q.RefID] = strings.ReplaceAll(q.Expr, "$__rate_interval", "5m") // Grafana puts a duration there
		}
	}
	require.Greater(t, len(queries), 20)
	for name, query := range queries {
		_, err := parser.NewParser(parser.Options{}).ParseExpr(query)
		require.NoError(t, err, name)
	}
}
