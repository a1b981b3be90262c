package metrics

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/postgres/livestore"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
)

// Depth holds the numbers of waiting and running jobs of an account.
type Depth struct {
	Account, Tier   string
	Queued, Running int64
	Oldest          time.Duration // age of the oldest waiting job; 0 if no job waits
}

// Snapshot holds the values that are read at a scrape.
type Snapshot struct {
	Depths  []Depth          // of the accounts with the most waiting jobs, and of those that run some
	Head    int64            // position of the log's last event
	Lags    map[string]int64 // view → events behind
	Halted  map[string]int64 // view → halted streams
	Outbox  int64            // waiting intents
	Bytes   int64            // of the files of all accounts; equal files count each time
	Blobs   int64            // of the stored blobs; equal files count once
	Work    operatestore.Work
	Storage []AccountStorage // of the accounts that keep the most; "other" = of all others together
	Full    int64            // accounts that have reached their storage limit

	Webhooks Webhooks
	Servers  []*server.Server // ComfyUI servers, with the segments that run there
	Waiting  int              // segments that wait for a server
	Workers  livestore.Workforce
}

// AccountStorage holds the bytes that an account stores and its limit; Limit 0 = no limit.
type AccountStorage struct {
	Account      string
	Bytes, Limit int64
}

// Webhooks is the state of deliveries to endpoints.
type Webhooks struct {
	Pending, Dead int64         // waiting deliveries, abandoned deliveries
	Disabled      int64         // endpoints
	Oldest        time.Duration // age of the oldest waiting delivery
}

// Source reads a Snapshot.
type Source interface {
	Snapshot(ctx context.Context) (Snapshot, error)
}

// servedFor is how long a snapshot is reused, so that many scrapers do not load the one database.
const servedFor = 5 * time.Second

// maxAccounts bounds the accounts with series of their own; all others are summed as "other". An account keeps its
// series while it has jobs and for an hour after that. The number of series is therefore bounded even if other
// accounts have the deepest queues at every scrape.
const (
	maxAccounts   = 50
	labelLifetime = time.Hour
)

// collector reads a source at a scrape.
type collector struct {
	source Source
	log    *slog.Logger

	mu    sync.Mutex
	at    time.Time
	last  Snapshot
	named map[string]time.Time // accounts with series of their own → when they last had a job
}

var (
	descQueued  = prometheus.NewDesc("millrace_jobs_queued", "Waiting jobs, by account.", []string{"account", "tier"}, nil)
	descRunning = prometheus.NewDesc("millrace_jobs_running", "Jobs with a slot, by account.", []string{"account", "tier"}, nil)
	descOldest  = prometheus.NewDesc("millrace_queue_age_seconds", "Age of the oldest waiting job.", []string{"account", "tier"}, nil)
	descHead    = prometheus.NewDesc("millrace_log_position", "Position of the log's last event; its rate is the rate of events.", nil,
		nil)
	descLag     = prometheus.NewDesc("millrace_view_lag_events", "Events that a view is behind.", []string{"view"}, nil)
	descHalted  = prometheus.NewDesc("millrace_view_halted_streams", "Streams that a view could not fold.", []string{"view"}, nil)
	descOutbox  = prometheus.NewDesc("millrace_outbox_intents", "Intents for Temporal that wait.", nil, nil)
	descBytes   = prometheus.NewDesc("millrace_file_bytes", "Bytes of the files of all accounts.", nil, nil)
	descPending = prometheus.NewDesc("millrace_webhook_pending", "Deliveries to endpoints that wait for an attempt.", nil, nil)
	descDead    = prometheus.NewDesc("millrace_webhook_dead", "Dead deliveries, which can be replayed.", nil, nil)
	descEnded   = prometheus.NewDesc("millrace_webhook_disabled", "Endpoints that are disabled.", nil, nil)
	descWaiting = prometheus.NewDesc("millrace_webhook_oldest_pending_seconds", "Age of the oldest waiting delivery.", nil, nil)
	descBlobs   = prometheus.NewDesc("millrace_blob_bytes", "Bytes stored for the files of all accounts; equal files count once.", nil,
		nil)
	descStored = prometheus.NewDesc("millrace_account_storage_bytes",
		"Bytes of the files of the accounts that store the most, and of all others together.", []string{"account"}, nil)
	descStorageLimit = prometheus.NewDesc("millrace_account_storage_limit_bytes", "Storage limit of these accounts, if they have one.",
		[]string{"account"}, nil)
	descFull = prometheus.NewDesc("millrace_accounts_full",
		"Accounts that have reached their storage limit: their uploads are refused.", nil, nil)
	descWorkers = prometheus.NewDesc("millrace_workers", "Worker processes, by their heartbeats.", nil, nil)
	descIdle    = prometheus.NewDesc("millrace_jobs_waiting_for_worker", "Jobs with a slot that no worker has started.", nil, nil)
	descWait    = prometheus.NewDesc("millrace_worker_wait_seconds",
		"How long the oldest of these jobs has waited; scale workers by this value.", nil, nil)
	descCommits = prometheus.NewDesc("millrace_database_transactions_total", "Transactions in the database.", nil, nil)
	descLog     = prometheus.NewDesc("millrace_database_log_bytes_total", "Bytes of the write-ahead log of the whole PostgreSQL.", nil,
		nil)
	descSyncs = prometheus.NewDesc("millrace_database_log_syncs_total", "Syncs of the write-ahead log of the whole PostgreSQL.", nil,
		nil)
	descUp = prometheus.NewDesc("millrace_database_up", "1 if the database could be read for these metrics.", nil, nil)
)

// Read adds the metrics of a source.
func (m *Metrics) Read(source Source, log *slog.Logger) {
	m.registry.MustRegister(&collector{source: source, log: log})
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descQueued, descRunning, descOldest, descHead, descLag, descHalted, descOutbox, descBytes, descBlobs,
		descPending, descDead, descEnded, descWaiting, descStored, descStorageLimit, descFull, descCommits, descLog, descSyncs, descUp,
		descWorkers, descIdle, descWait, descServerState, descServerQueue, descServerMemory, descServerSegments, descServerWaiting,
	} {
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
		c.log.Warn("read of database metrics failed", "error", err)
		gauge(descUp, 0)
		return
	}
	gauge(descUp, 1)
	count := func(d *prometheus.Desc, n int64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n))
	}
	count(descCommits, st.Work.Transactions)
	count(descLog, st.Work.LogBytes)
	count(descSyncs, st.Work.LogSyncs)
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
	for _, k := range st.Storage {
		gauge(descStored, float64(k.Bytes), k.Account)
		if k.Limit > 0 {
			gauge(descStorageLimit, float64(k.Limit), k.Account)
		}
	}
	gauge(descPending, float64(st.Webhooks.Pending))
	gauge(descDead, float64(st.Webhooks.Dead))
	gauge(descEnded, float64(st.Webhooks.Disabled))
	gauge(descWaiting, st.Webhooks.Oldest.Seconds())
	gauge(descServerWaiting, float64(st.Waiting))
	gauge(descWorkers, float64(st.Workers.Workers))
	gauge(descIdle, float64(st.Workers.Waiting))
	gauge(descWait, st.Workers.Oldest.Seconds())
	collectServers(gauge, st.Servers)
}

func (c *collector) read() (Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) < servedFor {
		return c.last, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), servedFor)
	defer cancel()
	st, err := c.source.Snapshot(ctx)
	if err == nil {
		c.last, c.at = st, time.Now()
	}
	return st, err
}

// bounded sums the accounts without series of their own by tier. Free series go to the accounts with the deepest
// queues.
func (c *collector) bounded(all []Depth, now time.Time) []Depth {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chooseNamed(all, now)
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

// chooseNamed decides which accounts have series of their own. The caller must hold mu.
func (c *collector) chooseNamed(all []Depth, now time.Time) {
	if c.named == nil {
		c.named = map[string]time.Time{}
	}
	for _, d := range all {
		if _, ok := c.named[d.Account]; ok {
			c.named[d.Account] = now
		}
	}
	maps.DeleteFunc(c.named, func(_ string, last time.Time) bool { return now.Sub(last) > labelLifetime })
	for _, d := range all {
		if len(c.named) == maxAccounts {
			return
		}
		c.named[d.Account] = now
	}
}
