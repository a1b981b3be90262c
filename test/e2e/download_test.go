package e2e_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A name that nothing has cannot be reached however often it is tried: the task ends, and its watchers learn why.
func TestADownloadThatCannotBeReachedEndsItsTask(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	watcher := c.dial("&clientId=a")
	accepted := c.do("POST", "/api/assets/download", `{"source_url":"https://millrace.invalid/a.bin","tags":["input"]}`, "Content-Type",
		"application/json")
	require.Equal(t, http.StatusAccepted, accepted.status, accepted.body)
	task, _ := decode(t, accepted.body)["task_id"].(string)
	var states []any
	for _, f := range watcher.until(func(f frame) bool { return f.Type == "asset_download" && f.Data["status"] == "failed" }) {
		if f.Type == "asset_download" {
			require.Equal(t, []any{task, "a.bin"}, []any{f.Data["task_id"], f.Data["asset_name"]})
			states = append(states, f.Data["status"])
		}
	}
	require.Equal(t, []any{"created", "running", "failed"}, slices.Compact(states))
	require.Equal(t, "NETWORK_ERROR", c.finished(task, "failed")["error_code"])
}
