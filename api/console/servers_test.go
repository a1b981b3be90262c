package console_test

import (
	"bytes"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/console"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	layout "github.com/millrace-dev/millrace/internal/web/console"
)

func TestThePageOfServersShowsWhatIsThereAndRunsNothingOfIt(t *testing.T) {
	t.Parallel()
	const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`
	seen := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	id := job.PublicID("aaaaaaaa-0000-4000-8000-000000000001")
	pages := layout.New()
	pages.Add(console.Templates)
	var b bytes.Buffer
	require.NoError(t, pages.Write(&b, &console.ServersPage{
		Frame: layout.Frame{Title: "Servers", Base: "/console", Nonce: "n", Live: true},
		Servers: []layout.ShownServer{
			{
				Server: &server.Server{
					URL: "http://gpu-1:8188", Health: server.Answers, Running: 1, Version: hostile, Labels: []string{"eu"}, SeenAt: &seen,
					Leases: make([]server.Lease, 1),
					Devices: []server.Device{
						{Name: hostile, Total: 24 << 30, Free: 6 << 30},
						{Name: "wrong", Total: 0, Free: 5},
						{Name: "odd", Total: 1 << 30, Free: 2 << 30},
					},
				},
				Runs: []layout.ShownLease{{ID: id, Lease: server.Lease{
					Account: hostile, Attempt: 2, Since: seen, Reason: "has its models loaded",
				}}},
			},
			{Server: &server.Server{URL: "http://gpu-2:8188", Health: server.Absent, Problem: hostile}},
			{Server: &server.Server{URL: "http://gpu-3:8188", Health: server.Answers, Drained: true}},
		},
		Counts: []console.StateCount{{State: server.Busy, Count: 1}},
		Waiting: []console.ShownWait{{ID: id, Waiting: server.Waiting{
			Wait: server.Wait{Account: "acme", Since: seen}, Reason: hostile, Ahead: 4,
		}}},
	}))
	page := b.String()
	require.NotContains(t, page, "<script>alert")
	require.NotContains(t, page, "<img")
	require.Contains(t, page, "&lt;script&gt;alert(1)")
	for _, text := range []string{
		"18.0 GiB of 24.0 GiB used", `class="bar" width="750"`, `class="bar" width="0"`, `href="/console/jobs/` + string(id) + `"`,
		"has its models loaded",
		`class="state busy">busy`, `class="state away">away`, `class="state draining">draining`, "An operator drained the server",
		`class="number">5</td>`, "2026-01-02 03:04:05 UTC",
		`name="viewport" content="width=device-width`, `content="light dark"`, `data-live="1"`,
	} {
		require.Contains(t, page, text)
	}
	require.NotRegexp(t, regexp.MustCompile(` style="| on[a-z]+="`), page, "no style and no script stands in the page")
	require.NotRegexp(t, regexp.MustCompile(`(?s)</div>\s*<table|<section[^>]*>\s*<table`), page,
		"tables scroll in a box of their own, so that the page is not wider than a phone")
	b.Reset()
	require.NoError(t, pages.Write(&b, &console.ServersPage{Frame: layout.Frame{Title: "Servers"}}))
	require.Contains(t, b.String(), "No ComfyUI server is registered")
	require.Contains(t, b.String(), "Nothing waits for a server.")
}
