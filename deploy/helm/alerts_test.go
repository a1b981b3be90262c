package helm_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// rule is an alert as it is shipped.
type rule struct {
	Alert string
	Expr  string
	For   string
}

func shippedRules(t *testing.T) (rules []rule) {
	t.Helper()
	var alerts struct{ Groups []struct{ Rules []rule } }
	raw, err := os.ReadFile("../prometheus/alerts.yml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(raw, &alerts))
	for _, g := range alerts.Groups {
		rules = append(rules, g.Rules...)
	}
	return rules
}

// every is the time between two samples, and between two evaluations of a rule.
const every = 15 * time.Second

// sample is a number at a time.
type sample struct {
	at    int64 // milliseconds
	value float64
}

func (s sample) T() int64                    { return s.at }
func (sample) ST() int64                     { return 0 }
func (s sample) F() float64                  { return s.value }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }

// seriesSet is a list of series.
type seriesSet struct {
	storage.SeriesSet // an empty one, which has no error

	rest []storage.Series
	at   storage.Series
}

func (s *seriesSet) Next() bool {
	if len(s.rest) == 0 {
		return false
	}
	s.at, s.rest = s.rest[0], s.rest[1:]
	return true
}

func (s *seriesSet) At() storage.Series { return s.at }

// read reads series in the notation of Prometheus' own tests, and returns when the longest ends.
func read(t *testing.T, lines string) (samples *storage.MockQueryable, end time.Duration) {
	t.Helper()
	var all []storage.Series
	for line := range strings.Lines(lines) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		lset, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(strings.TrimSpace(line))
		require.NoError(t, err, line)
		var list []chunks.Sample
		for i, v := range values {
			if !v.Omitted {
				list = append(list, sample{(time.Duration(i) * every).Milliseconds(), v.Value})
			}
		}
		end = max(end, time.Duration(len(values)-1)*every)
		all = append(all, storage.NewListSeries(lset, list))
	}
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			set := &seriesSet{SeriesSet: storage.EmptySeriesSet()}
			for _, s := range all {
				if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) }) {
					set.rest = append(set.rest, s)
				}
			}
			return set
		},
	}}, end
}

// fired returns the alerts that fire at some time between from and end, with their labels.
func fired(t *testing.T, samples storage.Queryable, from, end time.Duration, rules []rule) []string {
	t.Helper()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute})
	found := map[string]bool{}
	for _, r := range rules {
		lasts, err := time.ParseDuration(r.For)
		require.NoError(t, err, r.Alert)
		since := map[string]time.Duration{}
		for now := from; now <= end; now += every {
			query, err := engine.NewInstantQuery(context.Background(), samples, nil, r.Expr, time.UnixMilli(now.Milliseconds()))
			require.NoError(t, err, r.Alert)
			vector, err := query.Exec(t.Context()).Vector()
			require.NoError(t, err, r.Alert)
			active := map[string]time.Duration{}
			for _, s := range vector {
				key := s.Metric.String()
				active[key] = now
				if earlier, ok := since[key]; ok {
					active[key] = earlier
				}
				if now-active[key] >= lasts {
					found[strings.TrimSuffix(r.Alert+" "+key, " {}")] = true
				}
			}
			since = active
			query.Close()
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// healthy is what a service tells that has two processes and nothing to complain about.
const healthy = `
	millrace_database_up{instance="a"} 1x300
	millrace_database_up{instance="b"} 1x300
	millrace_jobs_waiting_for_worker{instance="a"} 1x300
	millrace_workers{instance="a"} 2x300
	millrace_temporal_up{instance="a"} 1x300
	millrace_temporal_up{instance="b"} 1x300
	millrace_workflow_tasks_late{instance="a"} 0x300
	millrace_disk_free_bytes{instance="a"} 5000000000x300
	millrace_disk_reserve_bytes{instance="a"} 256000000x300
	millrace_view_halted_streams{instance="a",view="jobs"} 0x300
	millrace_view_lag_events{instance="a",view="jobs"} 5000x300
	millrace_outbox_intents{instance="a"} 0x3 5x3 0x3 5x3 0x300
	millrace_queue_age_seconds{instance="a",account="x",tier="free"} 1800x300
	millrace_server_state{instance="a",server="s",state="healthy"} 1x300
	millrace_server_state{instance="a",server="s",state="busy"} 1x300
	millrace_server_state{instance="a",server="s",state="stuck"} 0x300
	millrace_webhook_dead{instance="a"} 0x300
	millrace_job_duration_seconds_count{instance="a",outcome="failed"} 0+2x300
	millrace_job_duration_seconds_count{instance="a",outcome="succeeded"} 0+8x300
	millrace_job_duration_seconds_count{instance="b",outcome="failed"} 0+2x300
	millrace_job_duration_seconds_count{instance="b",outcome="succeeded"} 0+8x300
	millrace_provider_duration_seconds_count{instance="a",provider="p",model="m",outcome="succeeded"} 0+1x300
	millrace_provider_duration_seconds_count{instance="a",provider="p",model="m",outcome="failed"} 0+1x300
`

// Each shipped alert fires on its condition, for the part of the service that it is about, and no other one does.
func TestAlertsFireOnTheirConditions(t *testing.T) {
	t.Parallel()
	rules := shippedRules(t)
	seen := map[string]bool{}
	for name, c := range map[string]struct {
		series string
		from   time.Duration
		fires  []string
	}{
		"all is well": {healthy, 0, nil},
		"one process does not read the database": {`
			millrace_database_up{instance="a"} 1x300
			millrace_database_up{instance="b"} 1x10 0x6`, 0, []string{"MillraceDatabaseUnreadable"}},
		"the database restarts": {`millrace_database_up{instance="b"} 1x10 0x2 1x100`, 0, nil},
		"no worker": {`
			millrace_jobs_waiting_for_worker{instance="a"} 0x10 3x10
			millrace_workers{instance="a"} 1x10 0x10`, 0, []string{"MillraceNoWorker"}},
		"no worker and no job": {`
			millrace_jobs_waiting_for_worker{instance="a"} 0x20
			millrace_workers{instance="a"} 1x10 0x10`, 0, nil},
		"one process does not reach Temporal": {`
			millrace_temporal_up{instance="a"} 1x50
			millrace_temporal_up{instance="b"} 0x50`, 0, nil},
		"no process reaches Temporal": {`
			millrace_temporal_up{instance="a"} 1x50 0x10
			millrace_temporal_up{instance="b"} 0x60`, 0, []string{"MillraceTemporalAway"}},
		"a workflow task is late": {`
			millrace_workflow_tasks_late{instance="a"} 0x10 1x10
			millrace_workflow_tasks_late{instance="b"} 0x20`, 0, []string{"MillraceWorkflowTasksLate"}},
		"a disk is nearly full": {`
			millrace_disk_free_bytes{instance="a"} 500000000x10
			millrace_disk_reserve_bytes{instance="a"} 256000000x10
			millrace_disk_free_bytes{instance="b"} 5000000000x10
			millrace_disk_reserve_bytes{instance="b"} 256000000x10`, 0, []string{`MillraceDiskReserve {instance="a"}`}},
		"a stream is halted": {`
			millrace_view_halted_streams{instance="a",view="jobs"} 0x3 2x10
			millrace_view_halted_streams{instance="a",view="calls"} 0x13`, 0, []string{`MillraceViewHalted {view="jobs"}`}},
		"a view is behind": {`
			millrace_view_lag_events{instance="a",view="jobs"} 0x3 5001x21`, 0, []string{`MillraceViewBehind {view="jobs"}`}},
		"a view catches up": {`
			millrace_view_lag_events{instance="a",view="jobs"} 9000x18 0x50`, 0, nil},
		"intents wait": {`
			millrace_outbox_intents{instance="a"} 0x3 7x45
			millrace_outbox_intents{instance="b"} 0x3 7x45`, 0, []string{"MillraceIntentsWait"}},
		"a job is queued for long": {`
			millrace_queue_age_seconds{instance="a",account="x",tier="free"} 1801x25
			millrace_queue_age_seconds{instance="a",account="y",tier="paid"} 10x25`, 0, []string{`MillraceQueueOld {account="x", tier="free"}`}},
		"servers get no work": {`
			millrace_server_state{server="s",state="stuck"} 0x3 1x3
			millrace_server_state{server="r",state="resting"} 1x6
			millrace_server_state{server="q",state="away"} 1x6`, 0, []string{
			`MillraceServerAcceptsNothing {server="r", state="resting"}`, `MillraceServerAcceptsNothing {server="s", state="stuck"}`,
		}},
		"deliveries are given up": {`millrace_webhook_dead{instance="a"} 0x10 1x40`, 0, []string{"MillraceWebhooksDead", "MillraceWebhooksDie"}},
		"old dead letters":        {`millrace_webhook_dead{instance="a"} 4x300`, 0, []string{"MillraceWebhooksDead"}},
		"many jobs fail": {`
			millrace_job_duration_seconds_count{instance="a",outcome="failed"} 0+3x150
			millrace_job_duration_seconds_count{instance="a",outcome="succeeded"} 0+7x150
			millrace_job_duration_seconds_count{instance="b",outcome="failed"} 0+3x150
			millrace_job_duration_seconds_count{instance="b",outcome="succeeded"} 0+7x150`, 0, []string{"MillraceJobsFail"}},
		"a provider fails": {
			`
			millrace_provider_duration_seconds_count{instance="a",provider="p",model="m",outcome="failed"} 0+3x150
			millrace_provider_duration_seconds_count{instance="a",provider="p",model="m",outcome="succeeded"} 0+2x150
			millrace_provider_duration_seconds_count{instance="a",provider="q",model="m",outcome="failed"} 0+1x150
			millrace_provider_duration_seconds_count{instance="a",provider="q",model="m",outcome="succeeded"} 0+2x150`,
			0,
			[]string{`MillraceProviderFails {provider="p"}`},
		},
		"one more call has no known outcome": {
			`
			millrace_provider_duration_seconds_count{instance="a",provider="p",model="m",outcome="unknown"} 3x300 4x20`,
			0,
			[]string{`MillraceOutcomeUnknown {provider="p"}`},
		},
		"a call had no known outcome, over an hour ago": {
			`millrace_provider_duration_seconds_count{instance="a",provider="p",model="m",outcome="unknown"} 3x300`, 61 * time.Minute, nil,
		},
		"the first call without a known outcome": {
			`
			millrace_provider_duration_seconds_count{instance="a",provider="q",model="m",outcome="succeeded"} 1x300
			millrace_provider_duration_seconds_count{instance="a",provider="p",model="m",outcome="unknown"} _x30 1x270`,
			0,
			[]string{`MillraceOutcomeUnknown {provider="p"}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			samples, end := read(t, c.series)
			require.Equal(t, c.fires, fired(t, samples, c.from, end, rules))
			for _, alert := range c.fires {
				alert, _, _ = strings.Cut(alert, " ")
				seen[alert] = true
			}
		})
	}
	metrics := regexp.MustCompile(`millrace_\w+`)
	documented, err := os.ReadFile("../../docs/admin-api.md")
	require.NoError(t, err)
	for _, r := range rules {
		require.True(t, seen[r.Alert], "no case has %s fire", r.Alert)
		for _, metric := range metrics.FindAllString(r.Expr, -1) {
			require.Contains(t, healthy, metric+"{", r.Alert)
			require.Contains(t, string(documented), fmt.Sprintf("`%s`", strings.TrimSuffix(metric, "_count")), r.Alert)
		}
	}
}
