package durability_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim"
)

// charges counts the charges of each request.
type charges struct {
	t    *testing.T
	base string
}

func (c charges) total() int { return c.count("/charges") }

// stopped counts the generations that the provider was asked to stop in time.
func (c charges) stopped() int { return c.count("/cancels") }

func (c charges) count(path string) (sum int) {
	c.t.Helper()
	resp, err := http.Get(c.base + path)
	require.NoError(c.t, err)
	defer resp.Body.Close()
	var counted map[string]int
	require.NoError(c.t, json.NewDecoder(resp.Body).Decode(&counted))
	for _, n := range counted {
		sum += n
	}
	return sum
}

// startPartners starts the roles against a simulated provider, with further environment variables.
func startPartners(t *testing.T, env ...string) (*cluster, charges) {
	t.Helper()
	provider := sim.New(sim.Options{Delay: 50 * time.Millisecond})
	t.Cleanup(provider.Close)
	server := httptest.NewServer(provider)
	t.Cleanup(server.Close)
	dir := dataDir(t)
	c := serveOn(t, startStack(t, dir), dir)
	c.env = append(append(c.env, "MILLRACE_SIMULATOR="+server.URL), env...)
	c.startRoles()
	return c, charges{t, server.URL}
}

func paintedBy(prompt string) string {
	return fmt.Sprintf(`{"prompt":{
		"1":{"class_type":"Partner_sim_image","inputs":{"prompt":%q}},
		"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"painted"}}}}`, prompt)
}

// a worker that dies while its node waits for a model leaves a generation, which the next worker collects. A
// repeated graph is answered from the cache.
func TestAPartnerNodeIsPaidForOnce(t *testing.T) {
	t.Parallel()
	c, charged := startPartners(t)
	id := c.submit(paintedBy("slowly [sim:delay=12s]"))
	c.untilCall("call.provider_accepted.v1")
	require.Equal(t, 1, charged.total())
	for _, w := range c.workers {
		w.kill()
	}
	for _, w := range c.workers {
		w.start()
	}
	c.await([]string{id}, "completed")
	require.Equal(t, 1, charged.total(), "the second attempt collects what the first one ordered")

	again := c.submit(strings.Replace(paintedBy("slowly [sim:delay=12s]"), "painted", "renamed", 1))
	c.await([]string{again}, "completed")
	require.Equal(t, 1, charged.total(), "equal inputs are not paid for again")
	c.checkLanes()
}

// If an account may make one call at a time, the second node waits. Its timeline shows the wait apart from the call.
func TestWaitingForAPlaceIsShownApartFromCalling(t *testing.T) {
	t.Parallel()
	c, _ := startPartners(t, "MILLRACE_ROUTER_LOCAL_CONCURRENCY=1")
	jobs := []string{c.submit(paintedBy("first [sim:delay=3s]")), c.submit(paintedBy("second [sim:delay=3s]"))}
	c.await(jobs, "completed")
	var waits []float64
	for _, id := range jobs {
		var shown struct {
			Nodes []struct {
				Class        string
				Took, Waited float64
			}
		}
		require.NoError(t, json.Unmarshal([]byte(c.command("jobs", "timeline", id, "--json")), &shown))
		for _, n := range shown.Nodes {
			if n.Class == "Partner_sim_image" {
				require.Greater(t, n.Took-n.Waited, 2900.0, "the call itself")
				waits = append(waits, n.Waited)
				require.Contains(t, c.command("jobs", "timeline", id), " to call")
			}
		}
	}
	require.Len(t, waits, 2)
	require.Greater(t, slices.Max(waits), 1500.0, "behind the other call")
}

// ofCall returns the types of the events of the only model call, oldest first.
func (c *cluster) ofCall() (types []string) {
	c.t.Helper()
	var found []struct {
		ID string `json:"id"`
	}
	require.NoError(c.t, json.Unmarshal([]byte(c.command("calls", "list", "--json")), &found))
	if len(found) == 0 {
		return nil
	}
	require.Len(c.t, found, 1)
	var got struct {
		Events []struct{ Type string } `json:"events"`
	}
	require.NoError(c.t, json.Unmarshal([]byte(c.command("calls", "events", found[0].ID, "--json")), &got))
	for _, f := range got.Events {
		types = append(types, f.Type)
	}
	return types
}

// untilCall waits until an event of the only call is recorded.
func (c *cluster) untilCall(event string) {
	c.t.Helper()
	c.until(event, func() bool { return slices.Contains(c.ofCall(), event) })
}

// A request whose sender died before it recorded the provider's handle is not sent again, and the job reports this.
func TestRequestWithoutAnswerIsNotSentAgain(t *testing.T) {
	t.Parallel()
	c, _ := startPartners(t)
	id := c.submit(paintedBy("never [sim:hang]"))
	c.untilCall("call.dispatching.v1")
	for _, w := range c.workers {
		w.kill()
	}
	for _, w := range c.workers {
		w.start()
	}
	c.await([]string{id}, "failed")
	_, body := c.call("GET", "/api/jobs/"+id, "")
	var got struct {
		Error struct {
			Kind    string `json:"exception_type"`
			Message string `json:"exception_message"`
		} `json:"execution_error"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	require.Equal(t, "ServiceError", got.Error.Kind, body)
	require.Contains(t, got.Error.Message, "retry the job to send a new request", body)
	events := c.ofCall()
	require.Equal(t, "call.outcome_unknown.v1", events[len(events)-1])
	require.Equal(t, 1, strings.Count(strings.Join(events, " "), "call.dispatching.v1"))
	c.checkLanes()
}

// If a job is canceled while no worker lives, its model's call is canceled as soon as a worker starts. The
// interrupted node cannot cancel the call, so the end of the run does.
func TestACanceledJobStopsTheCallOfADeadWorker(t *testing.T) {
	t.Parallel()
	c, provider := startPartners(t)
	id := c.submit(paintedBy("slowly [sim:delay=10m]"))
	c.untilCall("call.provider_accepted.v1")
	require.Equal(t, 1, provider.total())
	for _, w := range c.workers {
		w.kill()
	}
	status, body := c.call("POST", "/api/v2/jobs/"+id+"/cancel", "")
	require.Equal(t, http.StatusOK, status, body)
	for _, w := range c.workers {
		w.start()
	}
	c.await([]string{id}, "cancelled")
	var events []string
	c.until("the call has ended", func() bool {
		events = c.ofCall()
		return events[len(events)-1] == "call.canceled.v1"
	})
	require.Contains(t, events, "call.cancel_requested.v1")
	require.Equal(t, 1, provider.stopped(), "its provider was asked to stop")
	require.Equal(t, 1, provider.total(), "and charged once")
	c.checkViews()
	c.checkLanes()
}
