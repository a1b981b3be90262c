package metrics_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/operate/metrics"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
)

func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, 200, rec.Code)
	return rec.Body.String()
}

// see updates metrics from events of one stream, a second apart.
func see(t *testing.T, m *metrics.Metrics, stream string, events ...any) {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, event := range events {
		rec := eventlog.Recorded{Stream: stream, Type: fmt.Sprintf("%T", event), RecordedAt: at.Add(time.Duration(i) * time.Second)}
		m.Observe([]eventlog.Recorded{rec}, func(eventlog.Recorded) (any, error) { return event, nil })
	}
}

func TestDurationsCostsAndCacheHitsComeFromEvents(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	see(t, m, "job-1", job.SubmittedV1{}, job.AdmittedV1{}, job.StartedV1{}, job.NodesCachedV1{Nodes: []string{"1", "2"}},
		job.NodeExecutedV1{Class: "ImageBlur", Millis: 1500}, job.NodeExecutedV1{Class: "SaveImage", Cached: true}, job.SucceededV1{})
	see(t, m, "call-1", call.AcceptedV1{Provider: "acme", Model: "acme/m"}, call.DispatchingV1{}, call.SucceededV1{Charged: 250_000})
	see(t, m, "call-2", call.AcceptedV1{Provider: "acme", Model: "acme/m"}, call.DispatchingV1{}, call.FailedV1{})
	body := scrape(t, m)
	for _, want := range []string{
		`millrace_job_wait_seconds_sum 1`, `millrace_job_duration_seconds_sum{outcome="succeeded"} 4`,
		`millrace_node_results_total{source="cache"} 2`, `millrace_node_results_total{source="run"} 1`,
		`millrace_node_duration_seconds_sum{class="ImageBlur"} 1.5`,
		`millrace_provider_cost_usd_total{model="acme/m",provider="acme"} 0.25`,
		`millrace_provider_duration_seconds_count{model="acme/m",outcome="succeeded",provider="acme"} 1`,
		`millrace_provider_duration_seconds_count{model="acme/m",outcome="failed",provider="acme"} 1`,
	} {
		require.Contains(t, body, want)
	}
}

// A job that succeeded without a file or a text of an output node is counted once.
func TestJobsWithoutOutputAreCounted(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	submitted, file := job.SubmittedV1{Targets: []string{"1", "2"}}, json.RawMessage(`{"images":[{}]}`)
	one, other := job.NodeExecutedV1{Node: "1", UI: file}, job.NodeExecutedV1{Node: "2", UI: file}
	empty := job.NodeExecutedV1{Node: "2", UI: json.RawMessage(`{"images":[]}`)}
	inner := job.NodeExecutedV1{Node: "2.0", UI: file, Within: &job.Expansion{Parent: "2", Real: "2"}}
	see(t, m, "job-both", submitted, one, other, job.SucceededV1{})
	see(t, m, "job-inner", submitted, one, inner, job.SucceededV1{})
	see(t, m, "job-unknown", one, job.SucceededV1{})
	see(t, m, "job-failed", submitted, job.FailedV1{})
	see(t, m, "job-none", submitted, job.SucceededV1{})
	require.Contains(t, scrape(t, m), "millrace_jobs_without_output_total 1\n")
	see(t, m, "job-empty", submitted, one, empty, job.SucceededV1{})
	require.Contains(t, scrape(t, m), "millrace_jobs_without_output_total 2\n")
}

// source has more accounts than can have series of their own.
type source struct {
	err  error
	work operatestore.Work
	turn *int // selects the 1,000 accounts that have jobs; nil: always the same accounts
}

func (s source) Snapshot(context.Context) (metrics.Snapshot, error) {
	st := metrics.Snapshot{Totals: operatestore.Totals{Head: 7, Bytes: 9, Blobs: 8}, Work: s.work, Lags: map[string]int64{"jobs_v1": 3}}
	first := 0
	if s.turn != nil {
		first = 1000 * *s.turn
	}
	for i := range 1000 {
		st.Depths = append(st.Depths, operatestore.Queue{Account: fmt.Sprint(first + i), Tier: "pro", Queued: 1, Oldest: time.Minute})
	}
	return st, s.err
}

func TestTheNumberOfSeriesIsBounded(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	m.Read(source{}, slog.New(slog.DiscardHandler))
	for i := range 2000 {
		see(t, m, "job-1", job.NodeExecutedV1{Class: fmt.Sprint("made-up-", i)})
	}
	body := scrape(t, m)
	require.Equal(t, 51, strings.Count(body, "millrace_jobs_queued{"))
	require.Contains(t, body, `millrace_jobs_queued{account="other",tier="pro"} 950`)
	require.Contains(t, body, `millrace_view_lag_events{view="jobs_v1"} 3`)
	require.LessOrEqual(t, strings.Count(body, "millrace_node_duration_seconds_count{"), 501)
	require.Contains(t, body, `class="other"`)
}

// The accounts with the deepest queues change at every scrape, and yet the number of series stays small.
func TestAccountSeriesAreStable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	synctest.Test(t, func(t *testing.T) {
		m, turn := metrics.New(), 0
		m.Read(source{turn: &turn}, slog.New(slog.DiscardHandler))
		for turn = range 5 {
			for _, found := range regexp.MustCompile(`millrace_jobs_queued\{account="(\w+)"`).FindAllStringSubmatch(scrape(t, m), -1) {
				seen[found[1]] = true
			}
			<-time.After(time.Minute) // on the clock of the synctest bubble
		}
		require.Len(t, seen, 51, "the first fifty, and the sum of the others")
		<-time.After(2 * time.Hour)
		require.Contains(t, scrape(t, m), `account="4001"`, "places that nobody needs are given on")
	})
}

func TestEveryMetricSaysWhatItIs(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	m.Read(source{}, slog.New(slog.DiscardHandler))
	body := scrape(t, m)
	for _, name := range m.Names() {
		require.Regexp(t, `^(millrace|go|process)_[a-z0-9_]+$`, name)
		if strings.Contains(body, "# TYPE "+name+" ") {
			require.Regexp(t, "# HELP "+name+" .{8,}", body, name)
		}
	}
	require.Contains(t, m.Names(), "millrace_provider_cost_usd_total")
}

func TestDatabaseWorkIsExported(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	m.Read(source{work: operatestore.Work{Transactions: 11, LogBytes: 22, LogSyncs: 33}}, slog.New(slog.DiscardHandler))
	body := scrape(t, m)
	for _, line := range []string{
		"millrace_database_transactions_total 11", "millrace_database_log_bytes_total 22",
		"millrace_database_log_syncs_total 33",
	} {
		require.Contains(t, body, line)
	}
}

func TestDatabaseUpGaugeIsZeroWithoutDatabase(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	m.Read(source{err: errors.New("away")}, slog.New(slog.DiscardHandler))
	body := scrape(t, m)
	require.Contains(t, body, "millrace_database_up 0")
	require.NotContains(t, body, "millrace_jobs_queued{")
}
