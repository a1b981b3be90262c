// Package metrics turns events and states into Prometheus metrics. It keeps two promises: the number of series is
// bounded whatever clients send, and no label contains a secret, a job id or text from a client. Durations and
// outcomes are folded from the event log, so they agree with it; depths and lags are read at each scrape. Serving the
// metrics is left to the caller.
package metrics

import (
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Metrics is one process's registry.
type Metrics struct {
	registry *prometheus.Registry

	mu      sync.Mutex
	started map[string]time.Time // job or call stream → when its run, or its dispatch, began
	offered map[string]offer     // call stream → its provider and model
	silent  map[string][]string  // job stream → output nodes that have left nothing to fetch yet

	events        *prometheus.CounterVec
	jobs          *prometheus.HistogramVec
	waits         prometheus.Histogram
	nodes         *prometheus.HistogramVec
	cached        *prometheus.CounterVec
	provider      *prometheus.HistogramVec
	cost          *prometheus.CounterVec
	failures      *prometheus.CounterVec
	outputless    prometheus.Counter
	segments      *prometheus.CounterVec // segments of graphs that ComfyUI servers ran
	serverSeconds *prometheus.CounterVec // seconds for which these segments occupied servers
	shareSeconds  *prometheus.CounterVec // the same seconds by account and server
	shares        map[serverUse]bool     // pairs of account and server with a counter
	known         map[string]bool        // values of labels with series
}

// offer is the provider and model of a call.
type offer struct{ provider, model string }

// maxOpen bounds the unfinished jobs and calls that are tracked. maxLabels bounds the classes, providers and models
// with series of their own; later ones count as "other".
const (
	maxOpen   = 100_000
	maxLabels = 500
)

// New returns a registry with the metrics of the Go runtime and the process.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), started: map[string]time.Time{}, offered: map[string]offer{}, known: map[string]bool{},
		shares: map[serverUse]bool{}, silent: map[string][]string{},
		events: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "millrace_events_total", Help: "Events recorded, by type."},
			[]string{"type"}),
		jobs: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "millrace_job_duration_seconds", Help: "Time from the start of a run to its end, by outcome.", Buckets: longBuckets,
		}, []string{"outcome"}),
		waits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "millrace_job_wait_seconds", Help: "Time from submission to admission.", Buckets: longBuckets,
		}),
		nodes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "millrace_node_duration_seconds", Help: "Run time of nodes, by class.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
		}, []string{"class"}),
		cached: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_node_results_total", Help: "Nodes done, by the source of the result: run or cache.",
		}, []string{"source"}),
		provider: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "millrace_provider_duration_seconds", Help: "Time from the dispatch of a call to its end.", Buckets: longBuckets,
		}, []string{"provider", "model", "outcome"}),
		cost: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_provider_cost_usd_total", Help: "Charges for calls, in US dollars.",
		}, []string{"provider", "model"}),
		segments: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_server_segments_total", Help: "Parts of graphs sent to ComfyUI servers, by outcome of the attempt.",
		}, []string{"outcome"}),
		serverSeconds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_server_seconds_total", Help: "Seconds for which parts of graphs occupied ComfyUI servers, by outcome of the attempt.",
		}, []string{"outcome"}),
		shareSeconds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_server_account_seconds_total", Help: "Seconds for which parts of graphs occupied ComfyUI servers, by account and " +
				"server.",
		}, []string{"account", "server"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_job_failures_total", Help: "Jobs that failed, by code.",
		}, []string{"code"}),
		outputless: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "millrace_jobs_without_output_total", Help: "Jobs that succeeded although an output node left nothing to fetch.",
		}),
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.events, m.jobs, m.waits, m.nodes, m.cached, m.provider, m.cost, m.failures, m.outputless, m.segments, m.serverSeconds, m.shareSeconds)
	return m
}

// longBuckets reach from ten milliseconds to half an hour.
var longBuckets = []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 180, 600, 1800}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 20 * time.Second})
}

// Gatherer returns the source of the metrics that Handler serves.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Gauge adds a number that is read at each scrape.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Counter adds a count that is read at each scrape and never falls.
func (m *Metrics) Counter(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read))
}

// Counters adds counters, one for each value of a label. read returns them at each scrape. The values of the label
// must be few and fixed.
func (m *Metrics) Counters(name, help, label string, read func() map[string]int64) {
	for value := range read() {
		m.registry.MustRegister(prometheus.NewCounterFunc(
			prometheus.CounterOpts{Name: name, Help: help, ConstLabels: prometheus.Labels{label: value}},
			func() float64 { return float64(read()[value]) },
		))
	}
}

// Observe updates the metrics from recorded events. decode returns an event's data; an event that it cannot decode is
// only counted.
func (m *Metrics) Observe(events []eventlog.Recorded, decode func(eventlog.Recorded) (any, error)) {
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
		m.runStarted(rec.Stream, rec.RecordedAt)
		if len(m.silent) < maxOpen {
			m.silent[rec.Stream] = slices.Clone(e.Targets)
		}
	case job.AdmittedV1:
		if since, ok := m.since(rec); ok {
			m.waits.Observe(since.Seconds())
		}
	case job.StartedV1:
		m.runStarted(rec.Stream, rec.RecordedAt)
	case job.NodesCachedV1:
		m.cached.WithLabelValues("cache").Add(float64(len(e.Nodes)))
	case job.NodeExecutedV1:
		m.node(e)
		if out, ok := e.Output(); ok {
			if left := m.silent[rec.Stream]; left != nil { // otherwise the job was submitted before this process began
				m.silent[rec.Stream] = slices.DeleteFunc(left, out.ShowsFor)
			}
		}
	case job.SegmentEndedV1:
		m.segment(rec, e)
	case job.SucceededV1:
		if len(m.silent[rec.Stream]) > 0 {
			m.outputless.Inc()
		}
		m.jobEnded(rec, "succeeded")
	case job.FailedV1:
		m.failures.WithLabelValues(m.label(string(e.Failure.Code))).Inc()
		m.jobEnded(rec, "failed")
	case job.CanceledV1:
		m.jobEnded(rec, "canceled")
	case job.ExpiredV1:
		delete(m.started, rec.Stream)
		delete(m.silent, rec.Stream)
	}
}

func (m *Metrics) node(e job.NodeExecutedV1) {
	if e.Cached {
		if e.Within != nil {
			m.cached.WithLabelValues("cache").Inc()
		}
		return // cached nodes of the prompt are counted by NodesCached
	}
	m.cached.WithLabelValues("run").Inc()
	m.nodes.WithLabelValues(m.label(e.Class)).Observe(float64(e.Millis) / 1000)
}

func (m *Metrics) call(rec eventlog.Recorded, data any) {
	switch e := data.(type) {
	case call.AcceptedV1:
		if len(m.offered) < maxOpen {
			m.offered[rec.Stream] = offer{m.label(e.Provider), m.label(e.Model)}
		}
	case call.DispatchingV1:
		m.runStarted(rec.Stream, rec.RecordedAt)
	case call.SucceededV1:
		m.callEnded(rec, "succeeded", e.Charged)
	case call.FailedV1:
		m.callEnded(rec, "failed", e.Charged)
	case call.CanceledV1:
		m.callEnded(rec, "canceled", e.Charged)
	case call.OutcomeUnknownV1:
		m.callEnded(rec, "unknown", 0)
	}
}

// callEnded observes the end of a call.
func (m *Metrics) callEnded(rec eventlog.Recorded, outcome string, micros int64) {
	o, ok := m.offered[rec.Stream]
	if !ok {
		o = offer{"unknown", "unknown"} // the call was accepted before this process began
	}
	delete(m.offered, rec.Stream)
	m.cost.WithLabelValues(o.provider, o.model).Add(float64(micros) / 1e6)
	if since, ok := m.since(rec); ok {
		m.provider.WithLabelValues(o.provider, o.model, outcome).Observe(since.Seconds())
	}
	delete(m.started, rec.Stream)
}

func (m *Metrics) runStarted(stream string, at time.Time) {
	if _, ok := m.started[stream]; ok || len(m.started) < maxOpen {
		m.started[stream] = at
	}
}

func (m *Metrics) since(rec eventlog.Recorded) (time.Duration, bool) {
	at, ok := m.started[rec.Stream]
	return max(0, rec.RecordedAt.Sub(at)), ok
}

func (m *Metrics) jobEnded(rec eventlog.Recorded, outcome string) {
	if since, ok := m.since(rec); ok {
		m.jobs.WithLabelValues(outcome).Observe(since.Seconds())
	}
	delete(m.started, rec.Stream)
	delete(m.silent, rec.Stream)
}

// label returns value, or "other" once maxLabels values have series of their own.
func (m *Metrics) label(value string) string {
	if value == "" {
		return "none"
	}
	if !m.known[value] {
		if len(m.known) >= maxLabels {
			return "other"
		}
		m.known[value] = true
	}
	return value
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

// nameOf parses a metric's name from the text of its description, because Desc has no accessor for it.
var nameOf = regexp.MustCompile(`fqName: "([^"]+)"`)
