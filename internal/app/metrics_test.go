package app_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/millrace-dev/millrace/internal/app"
)

// named matches the metrics in an expression; added matches the suffixes that histograms add.
var (
	named = regexp.MustCompile(`millrace_[a-z_]+`)
	added = regexp.MustCompile(`_(bucket|sum|count)$`)
)

func requireServed(t *testing.T, expression string) {
	t.Helper()
	names := app.MetricNames(t.Context())
	found := named.FindAllString(expression, -1)
	require.NotEmpty(t, found, expression)
	for _, name := range found {
		require.True(t, slices.Contains(names, name) || slices.Contains(names, added.ReplaceAllString(name, "")), "%s in %s", name, expression)
	}
}

// The shipped alerts query existing metrics, and contain a remedy.
func TestShippedAlertsAskForMetricsThatExist(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../deploy/prometheus/alerts.yml")
	require.NoError(t, err)
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(raw, &file))
	require.NotEmpty(t, file.Groups)
	for _, rule := range file.Groups[0].Rules {
		requireServed(t, rule.Expr)
		require.NotEmpty(t, rule.For, rule.Alert)
		require.Contains(t, []string{"page", "ticket"}, rule.Labels["severity"], rule.Alert)
		require.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		require.NotEmpty(t, rule.Annotations["remedy"], rule.Alert)
	}
}

// Each problem that needs an operator at once has an alert of its own.
func TestShippedAlertsNameTemporalAndTheDisk(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../deploy/prometheus/alerts.yml")
	require.NoError(t, err)
	for alert, metric := range map[string]string{
		"MillraceTemporalAway": "millrace_temporal_up", "MillraceDiskReserve": "millrace_disk_reserve_bytes",
		"MillraceNoWorker": "millrace_workers",
	} {
		_, rule, found := strings.Cut(string(raw), "- alert: "+alert+"\n")
		require.True(t, found, alert)
		rule, _, _ = strings.Cut(rule, "- alert: ")
		require.Contains(t, rule, metric)
	}
}

// docs/admin-api.md lists every metric and no other names.
func TestEveryMetricIsDocumented(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/admin-api.md")
	require.NoError(t, err)
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`millrace_[^|]+)\\|").FindAllStringSubmatch(string(raw), -1) {
		listed = append(listed, named.FindAllString(row[1], -1)...)
	}
	var served []string
	for _, name := range app.MetricNames(t.Context()) {
		if named.MatchString(name) {
			served = append(served, name)
		}
	}
	slices.Sort(served)
	require.ElementsMatch(t, slices.Compact(served), listed)
}

func TestTheShippedDashboardAsksForMetricsThatExist(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../deploy/grafana/millrace.json")
	require.NoError(t, err)
	var board struct {
		Title  string
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(raw, &board))
	require.NotEmpty(t, board.Panels)
	for _, panel := range board.Panels {
		require.NotEmpty(t, panel.Targets, panel.Title)
		for _, target := range panel.Targets {
			requireServed(t, target.Expr)
		}
	}
}
