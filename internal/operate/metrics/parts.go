package metrics

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// engineTimeout bounds the check of Temporal at a scrape.
const engineTimeout = 2 * time.Second

// Engine adds a metric that shows whether Temporal answers this process, according to check.
func (m *Metrics) Engine(check func(ctx context.Context) error) {
	m.Gauge("millrace_temporal_up", "1 if Temporal answers this process.", func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), engineTimeout)
		defer cancel()
		if check(ctx) != nil {
			return 0
		}
		return 1
	})
}

// Disk adds the free bytes of the disk of dir, and the reserve below which new work is refused. A disk that cannot be
// read counts as having no free bytes.
func (m *Metrics) Disk(dir string, reserve int64) {
	m.Gauge("millrace_disk_free_bytes", "Free bytes on the disk of this process's data directory.", func() float64 {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) != nil {
			return 0
		}
		return float64(st.Bavail) * float64(st.Bsize)
	})
	m.Gauge("millrace_disk_reserve_bytes", "Free bytes below which new jobs and uploads are refused (MILLRACE_DISK_RESERVE).", func() float64 {
		return float64(reserve)
	})
}

// Hub counts open connections; stream.Hub implements it.
type Hub interface {
	Accounts() []string
	Watched(account string) int
}

// Streams adds the open connections of a hub.
func (m *Metrics) Streams(hub Hub) {
	m.Gauge("millrace_watching_accounts", "Accounts with an open WebSocket or event stream on this process.", func() float64 {
		return float64(len(hub.Accounts()))
	})
	m.Gauge("millrace_watchers", "Open WebSockets and event streams on this process.", func() float64 {
		open := 0
		for _, id := range hub.Accounts() {
			open += hub.Watched(id)
		}
		return float64(open)
	})
}
