package durability_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// crash kills the API and both workers at once, and restarts them.
func (c *cluster) crash() {
	c.t.Helper()
	for _, p := range append(c.workers, c.api) {
		p.kill()
	}
	for _, p := range append(c.workers, c.api) {
		p.start()
	}
	c.ready()
}

// refuses requires that both surfaces refuse jobs, for that reason.
func (c *cluster) refuses(v2Status int, code string) {
	c.t.Helper()
	graph := cheap("refused")
	status, body := c.call("POST", "/api/v2/jobs", `{"workflow":`+graph[len(`{"prompt":`):])
	require.Equal(c.t, v2Status, status, body)
	require.Contains(c.t, body, fmt.Sprintf(`"code":%q`, code))
	status, body = c.call("POST", "/api/prompt", graph)
	require.Equal(c.t, http.StatusServiceUnavailable, status, body)
	require.Contains(c.t, body, fmt.Sprintf(`"type":%q`, code))
}

// count returns how many of the jobs are in each state.
func (c *cluster) count(jobs map[string]string) map[string]int {
	n := map[string]int{}
	for _, id := range jobs {
		n[c.state(id)]++
	}
	return n
}

// Operators pause, drain, stop and open the queues of all accounts together. The mode stays in force even if the API
// and every worker are killed meanwhile.
func TestModesOfAllQueuesSurviveKills(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	mode := func(verb string) { t.Helper(); c.command("queue", verb, "--reason", "test") }

	mode("pause")
	paused := c.batch("paused")
	c.crash()
	id := c.submit(cheap("paused-late"))
	require.Equal(t, map[string]int{"pending": len(paused)}, c.count(paused), "accepted, kept and not started")
	status, body := c.call("POST", "/api/queue", fmt.Sprintf(`{"delete":[%q]}`, id))
	require.Equal(t, http.StatusOK, status, body)
	require.Equal(t, "cancelled", c.state(id), "who waits can be canceled")
	mode("resume")
	c.await(ids(paused), "completed")
	c.checkOutputs(paused)

	draining := c.batch("draining")
	mode("drain")
	c.refuses(http.StatusTooManyRequests, "deployment_not_ready")
	c.crash()
	c.refuses(http.StatusTooManyRequests, "deployment_not_ready")
	c.await(ids(draining), "completed")
	c.checkOutputs(draining)
	mode("resume")

	mode("pause") // makes more jobs wait than there are slots when the queues are stopped
	stopped := map[string]string{}
	for i := range 10 {
		prefix := fmt.Sprintf("stopped-%d", i)
		stopped[prefix] = c.submit(longOf(1024, prefix))
	}
	mode("resume")
	c.until("a job runs", func() bool { return c.count(stopped)["in_progress"] > 0 })
	c.freeze() // no job may end before the queues are stopped
	mode("stop")
	c.refuses(http.StatusUnprocessableEntity, "deployment_stopped")
	c.crash()
	c.refuses(http.StatusUnprocessableEntity, "deployment_stopped")
	c.until("what ran has ended", func() bool { return c.count(stopped)["in_progress"] == 0 })
	n := c.count(stopped)
	require.Positive(t, n["pending"], "%v: what waited still does", n)
	require.Equal(t, len(stopped), n["pending"]+n["completed"])
	mode("resume")
	c.await(ids(stopped), "completed")
	c.checkOutputs(stopped)
	c.checkLanes()
	c.checkViews()
}
