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
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/livestore"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
	"github.com/millrace-dev/millrace/internal/postgres/webhookstore"
)

// Snapshot holds the values that are read at a scrape.
type Snapshot struct {
	operatestore.Totals
	Depths []operatestore.Queue // of the accounts with the most waiting jobs, and of those that run some
	Lags   map[string]int64     // view → events behind
	Halted map[string]int64     // view → halted streams
	Work   operatestore.Work

	Storage []accountstore.LargeAccount // of the accounts that keep the most; "other" = of all others together
	Full    int64                       // accounts that have reached their storage limit

	Webhooks webhookstore.State
	Servers  []*server.Server // ComfyUI servers, with the segments that run there
	Waiting  int              // segments that wait for a server
	Workers  livestore.Workforce
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

// sampler receives the samples of a metric.
type sampler = func(value float64, labels ...string)

// family is a metric that is read at each scrape: its description, and the samples that a snapshot has of it.
type family struct {
	desc    *prometheus.Desc
	kind    prometheus.ValueType
	samples func(s *Snapshot, sample sampler)
}

func newFamily(name, help string, samples func(*Snapshot, sampler), labels ...string) family {
	return family{prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue, samples}
}

func number[N int | int64](name, help string, value func(*Snapshot) N) family {
	return newFamily(name, help, func(s *Snapshot, sample sampler) { sample(float64(value(s))) })
}

func seconds(name, help string, value func(*Snapshot) time.Duration) family {
	return newFamily(name, help, func(s *Snapshot, sample sampler) { sample(value(s).Seconds()) })
}

func counter(name, help string, value func(*Snapshot) int64) family {
	f := number(name, help, value)
	f.kind = prometheus.CounterValue
	return f
}

func ofAccount(name, help string, value func(operatestore.Queue) float64) family {
	return newFamily(name, help, func(s *Snapshot, sample sampler) {
		for _, q := range s.Depths {
			sample(value(q), q.Account, q.Tier)
		}
	}, "account", "tier")
}

func ofView(name, help string, values func(*Snapshot) map[string]int64) family {
	return newFamily(name, help, func(s *Snapshot, sample sampler) {
		for view, n := range values(s) {
			sample(float64(n), view)
		}
	}, "view")
}

// families are the metrics that are read from the database.
var families = append([]family{
	ofAccount("millrace_jobs_queued", "Waiting jobs, by account.", func(q operatestore.Queue) float64 { return float64(q.Queued) }),
	ofAccount("millrace_jobs_running", "Jobs with a slot, by account.", func(q operatestore.Queue) float64 { return float64(q.Running) }),
	ofAccount("millrace_queue_age_seconds", "Age of the oldest waiting job.",
		func(q operatestore.Queue) float64 { return q.Oldest.Seconds() }),
	number("millrace_log_position", "Position of the log's last event; its rate is the rate of events.",
		func(s *Snapshot) int64 { return s.Head }),
	ofView("millrace_view_lag_events", "Events that a view is behind.", func(s *Snapshot) map[string]int64 { return s.Lags }),
	ofView("millrace_view_halted_streams", "Streams that a view could not fold.", func(s *Snapshot) map[string]int64 { return s.Halted }),
	number("millrace_outbox_intents", "Intents for Temporal that wait.", func(s *Snapshot) int64 { return s.Intents }),
	number("millrace_file_bytes", "Bytes of the files of all accounts.", func(s *Snapshot) int64 { return s.Bytes }),
	number("millrace_blob_bytes", "Bytes stored for the files of all accounts; equal files count once.",
		func(s *Snapshot) int64 { return s.Blobs }),
	newFamily("millrace_account_storage_bytes", "Bytes of the files of the accounts that store the most, and of all others together.",
		func(s *Snapshot, sample sampler) {
			for _, a := range s.Storage {
				sample(float64(a.Bytes), a.Account)
			}
		}, "account"),
	newFamily("millrace_account_storage_limit_bytes", "Storage limit of these accounts, if they have one.",
		func(s *Snapshot, sample sampler) {
			for _, a := range s.Storage {
				if a.Limit > 0 {
					sample(float64(a.Limit), a.Account)
				}
			}
		}, "account"),
	number("millrace_accounts_full", "Accounts that have reached their storage limit: their uploads are refused.",
		func(s *Snapshot) int64 { return s.Full }),
	number("millrace_webhook_pending", "Deliveries to endpoints that wait for an attempt.",
		func(s *Snapshot) int64 { return s.Webhooks.Pending }),
	number("millrace_webhook_dead", "Dead deliveries, which can be replayed.", func(s *Snapshot) int64 { return s.Webhooks.Dead }),
	number("millrace_webhook_disabled", "Endpoints that are disabled.", func(s *Snapshot) int64 { return s.Webhooks.Disabled }),
	seconds("millrace_webhook_oldest_pending_seconds", "Age of the oldest waiting delivery.",
		func(s *Snapshot) time.Duration { return s.Webhooks.Oldest }),
	number("millrace_workers", "Worker processes, by their heartbeats.", func(s *Snapshot) int { return s.Workers.Workers }),
	number("millrace_jobs_waiting_for_worker", "Jobs with a slot that no worker has started.",
		func(s *Snapshot) int { return s.Workers.Waiting }),
	seconds("millrace_worker_wait_seconds", "How long the oldest of these jobs has waited; scale workers by this value.",
		func(s *Snapshot) time.Duration { return s.Workers.Oldest }),
	counter("millrace_database_transactions_total", "Transactions in the database.", func(s *Snapshot) int64 { return s.Work.Transactions }),
	counter("millrace_database_log_bytes_total", "Bytes of the write-ahead log of the whole PostgreSQL.",
		func(s *Snapshot) int64 { return s.Work.LogBytes }),
	counter("millrace_database_log_syncs_total", "Syncs of the write-ahead log of the whole PostgreSQL.",
		func(s *Snapshot) int64 { return s.Work.LogSyncs }),
}, serverFamilies...)

var descUp = prometheus.NewDesc("millrace_database_up", "1 if the database could be read for these metrics.", nil, nil)

// Read adds the metrics of a source.
func (m *Metrics) Read(source Source, log *slog.Logger) {
	m.registry.MustRegister(&collector{source: source, log: log})
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- descUp
	for _, f := range families {
		ch <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	st, err := c.read()
	if err != nil {
		c.log.Warn("read of database metrics failed", "error", err)
		ch <- prometheus.MustNewConstMetric(descUp, prometheus.GaugeValue, 0)
		return
	}
	ch <- prometheus.MustNewConstMetric(descUp, prometheus.GaugeValue, 1)
	st.Depths = c.bounded(st.Depths, time.Now())
	for _, f := range families {
		f.samples(&st, func(value float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(f.desc, f.kind, value, labels...)
		})
	}
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
func (c *collector) bounded(all []operatestore.Queue, now time.Time) []operatestore.Queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chooseNamed(all, now)
	out := []operatestore.Queue{}
	rest := map[string]*operatestore.Queue{}
	for _, d := range all {
		if _, ok := c.named[d.Account]; ok {
			out = append(out, d)
			continue
		}
		r := rest[d.Tier]
		if r == nil {
			r = &operatestore.Queue{Account: "other", Tier: d.Tier}
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
func (c *collector) chooseNamed(all []operatestore.Queue, now time.Time) {
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
