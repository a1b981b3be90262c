package jobs_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/api/jobs"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

func TestGetJobWaitsForItsEnd(t *testing.T) {
	t.Parallel()
	ends := jobs.NewEnds()
	h := apitest.StartWith(t, apitest.Options{}, func(d *apitest.Deps) { d.Ends = ends })
	running := job.Job{ID: job.NewID(), Account: account.LocalID, State: job.Running, Surface: job.SurfaceV2, SubmittedAt: apitest.Then}
	h.Jobs.Put(running)
	get := func(prefer string) apitest.Reply {
		return h.Do(t, http.MethodGet, "/api/v2/jobs/"+string(running.ID), "", "Prefer", prefer)
	}

	for _, ignored := range []string{"", "wait", "wait=soon", "wait=-1", "wait=0", "return=minimal"} {
		answer := get(ignored)
		require.Equal(t, http.StatusOK, answer.Status, ignored)
		require.Empty(t, answer.Header.Get("Preference-Applied"), ignored)
	}
	began := time.Now()
	late := get("respond-async, wait=1")
	require.Contains(t, late.Body, `"running"`)
	require.Equal(t, "wait=1", late.Header.Get("Preference-Applied"))
	require.GreaterOrEqual(t, time.Since(began), time.Second)

	answers := make(chan apitest.Reply, 1)
	go func() { answers <- get("Wait=600") }()
	ended := running
	ended.State = job.Succeeded
	stop := time.NewTicker(10 * time.Millisecond)
	defer stop.Stop()
	var answer apitest.Reply
	for waiting := true; waiting; {
		select {
		case answer = <-answers:
			waiting = false
		case <-stop.C: // the request may not have begun to wait
			h.Jobs.Put(ended)
			ends.Observe([]eventlog.Recorded{{Stream: running.ID.Stream(), Type: job.TypeSucceeded}})
		}
	}
	require.Equal(t, "wait=50", answer.Header.Get("Preference-Applied"), "more is not promised")
	plain := get("")
	require.Equal(t, plain.Body, answer.Body)
	require.Contains(t, plain.Body, `"succeeded"`)

	h.Jobs.Put(running)
	ends.Stop()
	require.Contains(t, get("wait=600").Body, `"running"`, "a process that stops keeps nobody waiting")
}

func TestRequestsThatWaitForAJobAreBounded(t *testing.T) {
	t.Parallel()
	ends := jobs.NewEnds()
	h := apitest.StartWith(t, apitest.Options{MaxStreams: 1}, func(d *apitest.Deps) { d.Ends = ends })
	running := job.Job{ID: job.NewID(), Account: account.LocalID, State: job.Running, Surface: job.SurfaceV2, SubmittedAt: apitest.Then}
	h.Jobs.Put(running)
	get := func(prefer string) apitest.Reply {
		return h.Do(t, http.MethodGet, "/api/v2/jobs/"+string(running.ID), "", "Prefer", prefer)
	}
	first := make(chan apitest.Reply, 1)
	go func() {
		answer := get("wait=50")
		for answer.Header.Get("Preference-Applied") == "" { // the probe below waits
			answer = get("wait=50")
		}
		first <- answer
	}()
	for get("wait=1").Header.Get("Preference-Applied") != "" { // until the first one waits
		require.Empty(t, first, "the first one waits longer")
	}
	began := time.Now()
	above := get("wait=50")
	require.Equal(t, http.StatusOK, above.Status)
	require.Contains(t, above.Body, `"running"`)
	require.Empty(t, above.Header.Get("Preference-Applied"))
	require.Less(t, time.Since(began), 30*time.Second, "answered at once")

	ends.Stop()
	require.Equal(t, "wait=50", (<-first).Header.Get("Preference-Applied"))
	require.Equal(t, "wait=1", get("wait=1").Header.Get("Preference-Applied"), "the first one waits no more")
}
