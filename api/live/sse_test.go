package live_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/stream"
)

// sseEvent is one event as a client reads it.
type sseEvent struct {
	name string
	data map[string]any
}

// listen opens the stream of jobA and returns a function that reads its next event;
// the event has no name when the stream is over.
func listen(t *testing.T, h *apitest.Harness) func() sseEvent {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+"/api/v2/jobs/"+string(apitest.JobA)+"/events", nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { res.Body.Close() })
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.True(t, strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream"))
	lines := bufio.NewScanner(res.Body)
	return func() sseEvent {
		var e sseEvent
		for lines.Scan() {
			line := lines.Text()
			switch {
			case strings.HasPrefix(line, "event: "):
				e.name = line[7:]
			case strings.HasPrefix(line, "data: "):
				require.NoError(t, json.Unmarshal([]byte(line[6:]), &e.data))
			case line == "" && e.name != "":
				return e
			}
		}
		return sseEvent{}
	}
}

func running(version int64) job.Job {
	return job.Job{
		ID: apitest.JobA, Account: account.LocalID, State: job.Running, Version: version, Run: 1, SubmittedAt: apitest.Then,
		AdmittedAt: &apitest.Then, StartedAt: &apitest.Then,
		NodesTotal: 4, NodesDone: 1, Running: map[string]string{"7": "Blur"}, Targets: []string{"9"},
	}
}

func withOutput(j job.Job, asset string) job.Job {
	j.Outputs = append(j.Outputs, job.NodeOutput{
		Node:  "9",
		Files: []job.OutputFile{{Asset: asset, Filename: asset + ".png", Folder: "output", ContentType: "image/png"}},
	})
	return j
}

func ended(j job.Job, s job.State) job.Job {
	j.State, j.EndedAt, j.Running, j.Version = s, &apitest.Then, nil, j.Version+1
	return j
}

func happen(h *apitest.Harness, j job.Job) {
	h.Jobs.Put(j)
	h.Hub.Publish(j.Account, &stream.Message{Job: j.ID, State: &j, Progress: stream.ProgressOf(j, "", nil)})
}

func TestEventStreamBeginsWithTheCurrentState(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	j := running(5)
	h.Jobs.Put(j)
	h.Live.Snap = stream.Snapshot{Jobs: []stream.Live{{
		Job: j, Preview: apitest.Preview("7", "image/jpeg", "J"),
		Progress: stream.ProgressOf(j, "7", map[string]stream.Step{"7": {Value: 1, Max: 2}}),
	}}}
	read := listen(t, h)
	require.Equal(t, sseEvent{"status", map[string]any{"status": "running"}}, read())
	require.Equal(t, sseEvent{"progress", map[string]any{
		"value": 0.375, "nodes_done": 1.0, "nodes_total": 4.0, "current_node": "7", "current_node_class": "Blur", "step": 1.0, "steps": 2.0,
		"message": "Blur 1/2",
	}}, read())
	require.Equal(t, sseEvent{"preview", map[string]any{"node_id": "7", "content_type": "image/jpeg", "data_base64": "Sg=="}}, read())

	done := withOutput(j, "o1")
	done.Version++
	happen(h, done)
	output := read()
	require.Equal(t, "output", output.name)
	require.Equal(t, "o1", output.data["id"])
	require.Equal(t, h.URL+"/files/o1/o1.png?sig=x", output.data["url"])
	happen(h, done) // the same event again adds nothing
	happen(h, ended(withOutput(done, "o2"), job.Succeeded))
	var names []string
	var last sseEvent
	for e := read(); e.name != ""; e = read() {
		names, last = append(names, e.name), e
	}
	require.Equal(t, []string{"progress", "output", "status"}, names, "outputs come before the final status, and nothing after it")
	require.Equal(t, map[string]any{"status": "succeeded"}, last.data)
}

func TestEventStreamOfAnEndedJob(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	h.Jobs.Put(ended(withOutput(running(5), "o1"), job.Canceled))
	read := listen(t, h)
	require.Equal(t, "output", read().name)
	require.Equal(t, sseEvent{"status", map[string]any{"status": "canceled"}}, read())
	require.Equal(t, sseEvent{}, read(), "the stream is over")
}

func TestEventStreamReportsTheQueuePosition(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	waiting := job.Job{ID: apitest.JobA, Account: account.LocalID, State: job.Queued, Version: 1, Number: 2, SubmittedAt: apitest.Then}
	ahead := job.Job{ID: apitest.JobB, Account: account.LocalID, State: job.Queued, Version: 1, Number: 1, SubmittedAt: apitest.Then}
	h.Jobs.Put(waiting)
	h.Jobs.Put(ahead)
	read := listen(t, h)
	require.Equal(t, sseEvent{"status", map[string]any{"status": "queued", "queue_position": 1.0}}, read())
	ahead.State = job.Running
	happen(h, ahead)
	require.Equal(t, sseEvent{"status", map[string]any{"status": "queued", "queue_position": 0.0}}, read())
}

func TestProgressOfAStreamNeverFalls(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	j := running(5)
	j.NodesDone = 3
	h.Jobs.Put(j)
	read := listen(t, h)
	require.Equal(t, "status", read().name)
	require.InDelta(t, 0.8125, read().data["value"], 1e-9)
	h.Hub.Publish(account.LocalID, &stream.Message{Job: apitest.JobA, Progress: &stream.Progress{Value: 0.5}})
	happen(h, ended(j, job.Failed))
	for e := read(); e.name != ""; e = read() {
		if e.name == "progress" {
			require.GreaterOrEqual(t, e.data["value"], 0.8125)
		}
	}
}

func TestEventStreamsOfAnAccountAreBounded(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{MaxStreams: 1})
	h.Jobs.Put(running(5))
	read := listen(t, h)
	require.Equal(t, "status", read().name)
	got := h.Do(t, "GET", "/api/v2/jobs/"+string(apitest.JobA)+"/events", "")
	require.Equal(t, http.StatusTooManyRequests, got.Status)
	require.Equal(t, "2", got.Header.Get("Retry-After"))
	require.Equal(t, "too_many_streams", got.JSON(t)["error"].(map[string]any)["code"])
}

func TestShutdownEndsEventStreams(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	h.Jobs.Put(running(5))
	read := listen(t, h)
	require.Equal(t, "status", read().name)
	over := make(chan struct{})
	go func() {
		for read().name != "" {
		}
		close(over)
	}()
	h.Hub.Stop()
	select {
	case <-over:
	case <-time.After(2 * time.Minute):
		t.Fatal("the stream did not end")
	}
}

// TestTheEndOfAJobIsDeliveredOnce comes back as a browser does: with the id of the last event that it received.
func TestTheEndOfAJobIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	h.Jobs.Put(running(5))
	watch := func(last string) (status int, read *bufio.Scanner) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+"/api/v2/jobs/"+string(apitest.JobA)+"/events", nil)
		require.NoError(t, err)
		if last != "" {
			req.Header.Set("Last-Event-ID", last)
		}
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		t.Cleanup(func() { res.Body.Close() })
		return res.StatusCode, bufio.NewScanner(res.Body)
	}
	nextID := func(read *bufio.Scanner) string {
		for read.Scan() {
			if id, ok := strings.CutPrefix(read.Text(), "id: "); ok {
				return id
			}
		}
		return ""
	}
	status, read := watch("")
	require.Equal(t, http.StatusOK, status)
	begun := nextID(read)
	require.NotEmpty(t, begun)
	happen(h, ended(running(5), job.Succeeded))
	end := nextID(read)
	require.NotEmpty(t, end)
	require.NotEqual(t, begun, end)
	require.Empty(t, nextID(read), "the stream is over")

	status, read = watch(begun)
	require.Equal(t, http.StatusOK, status, "an end that came meanwhile is not lost")
	require.Equal(t, end, nextID(read))
	status, _ = watch(end)
	require.Equal(t, http.StatusNoContent, status, "the end was delivered")
	h.Jobs.Put(running(4)) // as after a failover that lost the end
	status, _ = watch(end)
	require.Equal(t, http.StatusNoContent, status)
}
