package metrics_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/operate/metrics"
)

// rack is a source with the given number of servers.
type rack int

func (r rack) Snapshot(context.Context) (metrics.Snapshot, error) {
	st := metrics.Snapshot{Waiting: 3}
	for i := range int(r) {
		st.Servers = append(st.Servers, &server.Server{
			URL: fmt.Sprintf("http://gpu-%d:8188", i), Health: server.Answers, Running: 1, Pending: 2, Foreign: 1, Leases: make([]server.Lease, 1),
			Devices: []server.Device{{Total: 8 << 30, Free: 4 << 30}, {Total: 16 << 30, Free: 1 << 30}},
		})
	}
	return st, nil
}

func TestServersHaveSeriesOfTheirOwn(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	m.Read(rack(52), slog.New(slog.DiscardHandler))
	ended := func(account, url string, millis int64) {
		rec := eventlog.Recorded{Stream: "job-1", Account: account}
		m.Observe([]eventlog.Recorded{rec}, func(eventlog.Recorded) (any, error) {
			return job.SegmentEndedV1{URL: url, Millis: millis, Outcome: job.SegmentDone}, nil
		})
	}
	ended("acme", "http://gpu-0:8188", 1500)
	ended("acme", "http://gpu-0:8188", 500)
	for i := range 2000 {
		ended(fmt.Sprint("account-", i), "http://gpu-1:8188", 1000)
	}
	body := scrape(t, m)
	for _, want := range []string{
		`millrace_server_state{server="http://gpu-0:8188",state="busy"} 1`, `millrace_server_state{server="http://gpu-0:8188",state="away"} 0`,
		`millrace_server_state{server="other",state="busy"} 2`,
		`millrace_server_queue_prompts{kind="pending",server="http://gpu-0:8188"} 2`,
		`millrace_server_queue_prompts{kind="foreign",server="other"} 2`,
		`millrace_server_memory_bytes{device="1",kind="total",server="http://gpu-0:8188"} 1.7179869184e+10`,
		`millrace_server_segments_running{server="http://gpu-49:8188"} 1`, `millrace_server_segments_waiting 3`,
		`millrace_server_account_seconds_total{account="acme",server="http://gpu-0:8188"} 2`,
		`millrace_server_account_seconds_total{account="other",server="other"}`,
		`millrace_server_seconds_total{outcome="done"} 2002`,
	} {
		require.Contains(t, body, want)
	}
	require.Equal(t, 51*7, strings.Count(body, "millrace_server_state{"))
	require.LessOrEqual(t, strings.Count(body, "millrace_server_account_seconds_total{"), 1001)
}
