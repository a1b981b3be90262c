package app

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/operate/metrics"
)

// openMetrics builds the metrics of this process. Only projectors serve the metrics that are counted from the log;
// several projectors count the same events.
func (in *Instance) openMetrics(ctx context.Context, group *errgroup.Group) *metrics.Metrics {
	m := metrics.New()
	m.Read(&metrics.Database{Pool: in.pool, Storage: in.storage}, in.log)
	m.Counter("millrace_database_statements_total", "Statements that this process has sent to the database.", func() float64 {
		return float64(in.statements.Load())
	})
	m.Gauge("millrace_watching_accounts", "Accounts with an open WebSocket or event stream on this process.", func() float64 {
		return float64(len(in.hub.Accounts()))
	})
	m.Gauge("millrace_watchers", "Open WebSockets and event streams on this process.", func() float64 {
		open := 0
		for _, id := range in.hub.Accounts() {
			open += in.hub.Watched(id)
		}
		return float64(open)
	})
	m.Engine(readiness{in}.temporal)
	m.Disk(in.cfg.DataDir, in.cfg.DiskReserve)
	in.meterWebhooks(m)
	if in.has(Projector) {
		group.Go(func() error {
			return in.follow(ctx, func(events []eventlog.Recorded) { m.Observe(events, in.events.Decode) })
		})
	}
	return m
}
