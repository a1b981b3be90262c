package webhooks_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnEndpointIsToldOnceOfEachJobAndCanCheckWhoTellsIt(t *testing.T) {
	t.Parallel()
	c, r := newClient(t), receive(t, nil)
	e := c.register(r.url)
	jobs := map[string]bool{}
	for range 5 {
		jobs[c.submit()] = true
	}
	for range 5 {
		m := r.next(t)
		require.True(t, m.signedWith(t, e.secret))
		require.False(t, m.signedWith(t, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
		kind, data := m.told(t)
		require.Equal(t, "job.completed", kind)
		require.Equal(t, "succeeded", data["status"])
		id, _ := data["id"].(string)
		require.True(t, jobs[id], "%s is a job of this account, told of for the first time", id)
		delete(jobs, id)
		require.Equal(t, map[string]any{"self": "/api/v2/jobs/" + id}, data["urls"])
		job := c.json("GET", "/api/v2/jobs/"+id, "")
		require.Equal(t, job["status"], data["status"], "the words are those of the v2 surface")
		_ = m
	}
	c.until("all are delivered", func() bool { return len(c.deliveries(e, "?status=delivered")) == 5 })
	require.Len(t, r.all(), 5)
	require.Equal(t, http.StatusNoContent, int(c.deliveries(e, "")[0]["last_attempts"].([]any)[0].(map[string]any)["status_code"].(float64)))
}
