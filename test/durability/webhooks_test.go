package durability_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// receiver is an endpoint of webhooks that does not answer its first attempts until it is released.
type receiver struct {
	*httptest.Server
	hold chan struct{} // closed to release the attempts
	came chan string   // ids of attempts

	mu    sync.Mutex
	taken map[string][]string // id of the job → ids of the attempts that were answered with success
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{hold: make(chan struct{}), came: make(chan string, 10_000), taken: map[string][]string{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP handles an attempt.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var m struct {
		Data struct{ ID string }
	}
	raw, err := io.ReadAll(req.Body)
	if err != nil || json.Unmarshal(raw, &m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.came <- req.Header.Get("webhook-id")
	select {
	case <-r.hold:
	case <-req.Context().Done(): // its sender has died or timed out
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken[m.Data.ID] = append(r.taken[m.Data.ID], req.Header.Get("webhook-id"))
}

func (r *receiver) got() map[string][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	copied := map[string][]string{}
	for job, ids := range r.taken {
		copied[job] = append([]string{}, ids...)
	}
	return copied
}

// Workers, the API and the projector are killed while deliveries are in progress. Every ended job is reported, each
// under one id, and the queue of deliveries shows this.
func TestWebhooksSurviveKilledProcesses(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	dir := dataDir(t)
	c := serveOn(t, startStack(t, dir), dir)
	c.env = append(c.env, "MILLRACE_WEBHOOK_ALLOW="+strings.TrimPrefix(r.URL, "http://"), "MILLRACE_WEBHOOK_TIMEOUT=5s",
		"MILLRACE_WEBHOOK_RETRIES="+strings.Repeat("500ms,", 49)+"500ms")
	c.startRoles()
	status, body := c.call("POST", "/api/v2/webhooks", fmt.Sprintf(`{"url":%q}`, r.URL))
	require.Equal(t, http.StatusCreated, status, body)
	var hook struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(body), &hook))

	jobs := map[string]bool{}
	submit := func(name string) {
		for i := range 6 {
			jobs[c.submit(cheap(fmt.Sprintf("%s-%d", name, i)))] = true
		}
	}
	underWay := func() {
		t.Helper()
		select {
		case <-r.came:
		case <-time.After(patience):
			t.Fatal("nothing is delivered")
		}
	}
	submit("workers")
	underWay() // an attempt waits at the receiver
	c.workers[0].kill()
	c.workers[1].kill()
	submit("api") // while no process delivers
	c.api.kill()
	c.workers[0].start()
	c.workers[1].start()
	c.api.start()
	c.ready()
	submit("projector")
	c.projector.kill()
	close(r.hold)
	c.await(keys(jobs), "completed")
	c.projector.start()

	c.until("a message about every job", func() bool { return len(r.got()) == len(jobs) })
	for job, attempts := range r.got() {
		require.True(t, jobs[job], "job %s was accepted", job)
		for _, id := range attempts {
			require.Equal(t, attempts[0], id, "job %s is reported under one id", job)
		}
	}
	c.until("every delivery is known to be made", func() bool { return c.countDeliveries(hook.ID, "delivered") == len(jobs) })
	require.Zero(t, c.countDeliveries(hook.ID, "dead"))
	require.Zero(t, c.countDeliveries(hook.ID, "pending"))
	c.checkViews()
}

func keys(set map[string]bool) []string {
	list := make([]string, 0, len(set))
	for id := range set {
		list = append(list, id)
	}
	return list
}

// countDeliveries returns how many deliveries of a webhook have a status, -1 while the service is away.
func (s *service) countDeliveries(hook, status string) int {
	s.t.Helper()
	code, body := s.call("GET", "/api/v2/webhooks/"+hook+"/deliveries?limit=1000&status="+status, "")
	if code != http.StatusOK {
		return -1
	}
	var page struct{ Deliveries []struct{ ID string } }
	require.NoError(s.t, json.Unmarshal([]byte(body), &page))
	return len(page.Deliveries)
}
