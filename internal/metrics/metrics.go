// Package metrics turns what happens into Prometheus metrics. It keeps two promises: the number of series
// is bounded whatever clients send, and no label holds a secret, an id of a job or a text of a client's.
// Durations and outcomes are folded from the event log, so they say what the log says; depths and lags are
// read when they are asked for. Serving them, and to whom, is left to the caller.
package metrics

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/millrace-dev/millrace/internal/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/job"
)

// Metrics is one process's registry.
type Metrics struct {
	registry *prometheus.Registry

	mu      sync.Mutex
	begun   map[string]time.Time // job or call stream → when its run, or its dispatch, began
	offered map[string]offer     // call stream → what was asked for

	events   *prometheus.CounterVec
	jobs     *prometheus.HistogramVec
	waits    prometheus.Histogram
	nodes    *prometheus.HistogramVec
	cached   *prometheus.CounterVec
	provider *prometheus.HistogramVec
	cost     *prometheus.CounterVec
	failures *prometheus.CounterVec
	known    map[string]bool // values of labels that have series
}

// offer is the provider and model of a call.
type offer struct{ provider, model string }

// most bounds what is remembered of unfinished jobs and calls, and the classes, providers and models that
// get series of their own: later ones count as "other".
const (
	mostOpen   = 100_000
	mostLabels = 500
)

// New returns empty metrics, with those of the Go runtime and the process.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), begun: map[string]time.Time{}, offered: map[string]offer{}, known: map[string]bool{},
		events: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "millrace_events_total", Help: "Facts recorded, by type."}, []string{"type"}),
		jobs: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "millrace_job_duration_seconds", Help: "From the start of a run to its end, by outcome.", Buckets: longBuckets,
		}, []string{"outcome"}),
		waits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "millrace_job_wait_seconds", Help: "From submission to admission.", Buckets: longBuckets,
		}),
		nodes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "millrace_node_duration_seconds", Help: "Of nodes that ran, by class.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
		}, []string{"class"}),
		cached: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_node_results_total", Help: "Nodes done, by where the result came from: run or cache.",
		}, []string{"source"}),
		provider: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "millrace_provider_duration_seconds", Help: "From the dispatch of a call to its end.", Buckets: longBuckets,
		}, []string{"provider", "model", "outcome"}),
		cost: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_provider_cost_usd_total", Help: "Charged for calls, in US dollars.",
		}, []string{"provider", "model"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_job_failures_total", Help: "Jobs that failed, by code.",
		}, []string{"code"}),
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.events, m.jobs, m.waits, m.nodes, m.cached, m.provider, m.cost, m.failures)
	return m
}

// longBuckets reach from ten milliseconds to half an hour.
var longBuckets = []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 180, 600, 1800}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 20 * time.Second})
}

// Gauge adds a number that is read when it is asked for.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Counters adds numbers that only grow, one for each value of a label; read is asked for them. The values
// are few and fixed.
func (m *Metrics) Counters(name, help, label string, read func() map[string]int64) {
	for value := range read() {
		m.registry.MustRegister(prometheus.NewCounterFunc(
			prometheus.CounterOpts{Name: name, Help: help, ConstLabels: prometheus.Labels{label: value}},
			func() float64 { return float64(read()[value]) },
		))
	}
}

// See takes recorded events into the metrics. decode gives an event's data; what it cannot decode only counts.
func (m *Metrics) See(events []eventlog.Recorded, decode func(eventlog.Recorded) (any, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, rec := range events {
		data, err := decode(rec)
		if err != nil {
			m.events.WithLabelValues("other").Inc()
			continue
		}
		m.events.WithLabelValues(rec.Type).Inc()
		m.job(rec, data)
		m.call(rec, data)
	}
}

func (m *Metrics) job(rec eventlog.Recorded, data any) {
	switch e := data.(type) {
	case job.SubmittedV1:
		m.begin(rec.Stream, rec.RecordedAt)
	case job.AdmittedV1:
		if since, ok := m.since(rec); ok {
			m.waits.Observe(since.Seconds())
		}
	case job.StartedV1:
		m.begin(rec.Stream, rec.RecordedAt)
	case job.NodesCachedV1:
		m.cached.WithLabelValues("cache").Add(float64(len(e.Nodes)))
	case job.NodeExecutedV1:
		m.node(e)
	case job.SucceededV1:
		m.end(rec, "succeeded")
	case job.FailedV1:
		m.failures.WithLabelValues(m.label(e.Failure.Code)).Inc()
		m.end(rec, "failed")
	case job.CanceledV1:
		m.end(rec, "canceled")
	case job.ExpiredV1:
		delete(m.begun, rec.Stream)
	}
}

func (m *Metrics) node(e job.NodeExecutedV1) {
	if e.Cached {
		if e.Within != nil {
			m.cached.WithLabelValues("cache").Inc()
		}
		return // those of the prompt are counted with the list of cached nodes
	}
	m.cached.WithLabelValues("run").Inc()
	m.nodes.WithLabelValues(m.label(e.Class)).Observe(float64(e.Millis) / 1000)
}

func (m *Metrics) call(rec eventlog.Recorded, data any) {
	switch e := data.(type) {
	case call.AcceptedV1:
		if len(m.offered) < mostOpen {
			m.offered[rec.Stream] = offer{m.label(e.Provider), m.label(e.Model)}
		}
	case call.DispatchingV1:
		m.begin(rec.Stream, rec.RecordedAt)
	case call.SucceededV1:
		m.settle(rec, "succeeded", e.Charged)
	case call.FailedV1:
		m.settle(rec, "failed", e.Charged)
	case call.CanceledV1:
		m.settle(rec, "canceled", e.Charged)
	case call.OutcomeUnknownV1:
		m.settle(rec, "unknown", 0)
	}
}

// settle observes the end of a call.
func (m *Metrics) settle(rec eventlog.Recorded, outcome string, micros int64) {
	o, ok := m.offered[rec.Stream]
	if !ok {
		o = offer{"unknown", "unknown"} // accepted before this process began
	}
	delete(m.offered, rec.Stream)
	m.cost.WithLabelValues(o.provider, o.model).Add(float64(micros) / 1e6)
	if since, ok := m.since(rec); ok {
		m.provider.WithLabelValues(o.provider, o.model, outcome).Observe(since.Seconds())
	}
	delete(m.begun, rec.Stream)
}

func (m *Metrics) begin(stream string, at time.Time) {
	if _, ok := m.begun[stream]; ok || len(m.begun) < mostOpen {
		m.begun[stream] = at
	}
}

func (m *Metrics) since(rec eventlog.Recorded) (time.Duration, bool) {
	at, ok := m.begun[rec.Stream]
	return max(0, rec.RecordedAt.Sub(at)), ok
}

func (m *Metrics) end(rec eventlog.Recorded, outcome string) {
	if since, ok := m.since(rec); ok {
		m.jobs.WithLabelValues(outcome).Observe(since.Seconds())
	}
	delete(m.begun, rec.Stream)
}

// label bounds the values that get series of their own.
func (m *Metrics) label(value string) string {
	if value == "" {
		return "none"
	}
	if !m.known[value] {
		if len(m.known) >= mostLabels {
			return "other"
		}
		m.known[value] = true
	}
	return value
}

// Depth is how many jobs of an account wait and run.
type Depth struct {
	Account, Tier   string
	Queued, Running int64
	Oldest          time.Duration // age of the job that has waited longest; 0 when none waits
}

// Stand is what is read when metrics are asked for.
type Stand struct {
	Depths []Depth          // of the accounts with the most waiting jobs, and of those that run some
	Head   int64            // position of the log's last fact
	Lags   map[string]int64 // view → facts behind
	Halted map[string]int64 // view → halted streams
	Outbox int64            // intents that wait
	Bytes  int64            // of the files of all accounts, as they see them
	Blobs  int64            // of what is stored for them: equal bytes once
	Kept   []Kept           // of the accounts that keep the most; "other" = of all others together
	Full   int64            // accounts that keep as much as they may

	Webhooks Webhooks
}

// Kept is how many bytes an account keeps and may keep; Limit 0 = no limit.
type Kept struct {
	Account      string
	Bytes, Limit int64
}

// Webhooks is the state of deliveries to endpoints.
type Webhooks struct {
	Pending, Dead int64         // deliveries that wait, that were given up
	Disabled      int64         // endpoints
	Oldest        time.Duration // age of the oldest delivery that waits
}

// Source reads a Stand.
type Source interface {
	Stand(ctx context.Context) (Stand, error)
}

// standFor is how long what was read is served again: scrapers are many, the database is one.
const standFor = 5 * time.Second

// mostAccounts bounds the accounts with series of their own; the rest is summed as "other". An account keeps its
// place while it has jobs and for an hour after: whichever queues are deepest at a scrape, the number of series that
// a server of Prometheus has to keep does not grow with the number of accounts.
const (
	mostAccounts = 50
	keepsPlace   = time.Hour
)

// collector reads a source when it is asked.
type collector struct {
	source Source
	log    *slog.Logger

	mu    sync.Mutex
	at    time.Time
	last  Stand
	named map[string]time.Time // accounts with series of their own → when they last had a job
}

var (
	descQueued  = prometheus.NewDesc("millrace_jobs_queued", "Jobs that wait, by account.", []string{"account", "tier"}, nil)
	descRunning = prometheus.NewDesc("millrace_jobs_running", "Jobs that hold a slot, by account.", []string{"account", "tier"}, nil)
	descOldest  = prometheus.NewDesc("millrace_queue_age_seconds", "How long the job has waited that has waited longest.", []string{"account", "tier"}, nil)
	descHead    = prometheus.NewDesc("millrace_log_position", "Position of the log's last fact: its rate is that of facts.", nil, nil)
	descLag     = prometheus.NewDesc("millrace_view_lag_events", "Facts that a view is behind.", []string{"view"}, nil)
	descHalted  = prometheus.NewDesc("millrace_view_halted_streams", "Streams that a view could not fold.", []string{"view"}, nil)
	descOutbox  = prometheus.NewDesc("millrace_outbox_intents", "Intents for the workflow engine that wait.", nil, nil)
	descBytes   = prometheus.NewDesc("millrace_file_bytes", "Bytes of the files of all accounts.", nil, nil)
	descPending = prometheus.NewDesc("millrace_webhook_pending", "Deliveries to endpoints that wait for an attempt.", nil, nil)
	descDead    = prometheus.NewDesc("millrace_webhook_dead", "Deliveries that were given up and can be replayed.", nil, nil)
	descEnded   = prometheus.NewDesc("millrace_webhook_disabled", "Endpoints that are disabled.", nil, nil)
	descWaiting = prometheus.NewDesc("millrace_webhook_oldest_pending_seconds", "Age of the oldest delivery that waits.", nil, nil)
	descBlobs   = prometheus.NewDesc("millrace_blob_bytes", "Bytes that are stored for the files of all accounts, equal bytes once.", nil, nil)
	descKept    = prometheus.NewDesc("millrace_account_storage_bytes", "Bytes of the files of the accounts that keep the most, and of all others together.", []string{"account"}, nil)
	descMayKeep = prometheus.NewDesc("millrace_account_storage_limit_bytes", "Bytes that these accounts may keep, where they have a limit.", []string{"account"}, nil)
	descFull    = prometheus.NewDesc("millrace_accounts_full", "Accounts that keep as much as they may: nothing more is taken from them.", nil, nil)
	descUp      = prometheus.NewDesc("millrace_stand_readable", "1 when the database could be read for these metrics.", nil, nil)
)

// Read adds the metrics of a source.
func (m *Metrics) Read(source Source, log *slog.Logger) {
	m.registry.MustRegister(&collector{source: source, log: log})
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descQueued, descRunning, descOldest, descHead, descLag, descHalted, descOutbox, descBytes, descBlobs, descPending, descDead, descEnded, descWaiting, descKept, descMayKeep, descFull, descUp} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	st, err := c.read()
	if err != nil {
		c.log.Warn("metrics of the database are missing", "error", err)
		gauge(descUp, 0)
		return
	}
	gauge(descUp, 1)
	for _, d := range c.bounded(st.Depths, time.Now()) {
		gauge(descQueued, float64(d.Queued), d.Account, d.Tier)
		gauge(descRunning, float64(d.Running), d.Account, d.Tier)
		gauge(descOldest, d.Oldest.Seconds(), d.Account, d.Tier)
	}
	gauge(descHead, float64(st.Head))
	for view, lag := range st.Lags {
		gauge(descLag, float64(lag), view)
	}
	for view, n := range st.Halted {
		gauge(descHalted, float64(n), view)
	}
	gauge(descOutbox, float64(st.Outbox))
	gauge(descBytes, float64(st.Bytes))
	gauge(descBlobs, float64(st.Blobs))
	gauge(descFull, float64(st.Full))
	for _, k := range st.Kept {
		gauge(descKept, float64(k.Bytes), k.Account)
		if k.Limit > 0 {
			gauge(descMayKeep, float64(k.Limit), k.Account)
		}
	}
	gauge(descPending, float64(st.Webhooks.Pending))
	gauge(descDead, float64(st.Webhooks.Dead))
	gauge(descEnded, float64(st.Webhooks.Disabled))
	gauge(descWaiting, st.Webhooks.Oldest.Seconds())
}

func (c *collector) read() (Stand, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) < standFor {
		return c.last, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), standFor)
	defer cancel()
	st, err := c.source.Stand(ctx)
	if err == nil {
		c.last, c.at = st, time.Now()
	}
	return st, err
}

// bounded sums what is beyond the accounts that have series of their own, by tier. Places that are free go to
// the deepest queues.
func (c *collector) bounded(all []Depth, now time.Time) []Depth {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(all, now)
	out := []Depth{}
	rest := map[string]*Depth{}
	for _, d := range all {
		if _, ok := c.named[d.Account]; ok {
			out = append(out, d)
			continue
		}
		r := rest[d.Tier]
		if r == nil {
			r = &Depth{Account: "other", Tier: d.Tier}
			rest[d.Tier] = r
		}
		r.Queued, r.Running, r.Oldest = r.Queued+d.Queued, r.Running+d.Running, max(r.Oldest, d.Oldest)
	}
	for _, tier := range slices.Sorted(maps.Keys(rest)) {
		out = append(out, *rest[tier])
	}
	return out
}

// keep decides which accounts have series of their own; mu is held.
func (c *collector) keep(all []Depth, now time.Time) {
	if c.named == nil {
		c.named = map[string]time.Time{}
	}
	for _, d := range all {
		if _, ok := c.named[d.Account]; ok {
			c.named[d.Account] = now
		}
	}
	maps.DeleteFunc(c.named, func(_ string, last time.Time) bool { return now.Sub(last) > keepsPlace })
	for _, d := range all {
		if len(c.named) == mostAccounts {
			return
		}
		c.named[d.Account] = now
	}
}

// Names returns the name of every metric that may be served.
func (m *Metrics) Names() []string {
	ch := make(chan *prometheus.Desc)
	go func() {
		defer close(ch)
		m.registry.Describe(ch)
	}()
	var names []string
	for d := range ch {
		if found := nameOf.FindStringSubmatch(d.String()); found != nil {
			names = append(names, found[1])
		}
	}
	return names
}

// nameOf reads a metric's name off its description, which tells it in no other way.
var nameOf = regexp.MustCompile(`fqName: "([^"]+)"`)
