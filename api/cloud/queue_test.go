package cloud_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/projections/jobs"
)

func jobNumber(i int) job.ID { return job.ID(fmt.Sprintf("aaaaaaaa-2222-4333-8444-%012d", i)) }

// queueOf asks for the queue and returns the ids of both halves.
func queueOf(t *testing.T, h *apitest.Harness) (running, pending []string) {
	t.Helper()
	body := h.Do(t, "GET", "/api/queue", "").JSON(t)
	for name, ids := range map[string]*[]string{"queue_running": &running, "queue_pending": &pending} {
		for _, entry := range body[name].([]any) {
			*ids = append(*ids, entry.([]any)[1].(string))
		}
	}
	return running, pending
}

func TestLongQueueIsListedCompletelyAndInOrder(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	var want [2][]string
	for i := range 20 {
		state, half := job.Queued, 1
		if i < 7 {
			state, half = job.Running, 0
		}
		h.Jobs.Put(job.Job{ID: jobNumber(i), Account: account.LocalID, State: state, Number: float64(i), SubmittedAt: apitest.Then})
		want[half] = append(want[half], string(jobNumber(i)))
	}
	running, pending := queueOf(t, h)
	require.Equal(t, want[0], running)
	require.Equal(t, want[1], pending)
	all := h.Do(t, "GET", "/api/v2/jobs?limit=50", "").JSON(t)["jobs"].([]any)
	require.Len(t, all, 20)
	for i, listed := range all { // newest first
		if position := listed.(map[string]any)["queue_position"]; i < 13 {
			require.InDelta(t, 12-i, position, 0)
		} else {
			require.Nil(t, position)
		}
	}
}

// movingJobs gives a job a slot between the two reads of a queue.
type movingJobs struct{ *apitest.MemoryJobs }

func (m movingJobs) Line(ctx context.Context, owner string, q jobs.Line) (jobs.LinePage, error) {
	page, err := m.MemoryJobs.Line(ctx, owner, q)
	for _, j := range page.Jobs {
		if q.Waiting && j.Number == 4 {
			j.State = job.Running
			m.Put(j)
		}
	}
	return page, err
}

func TestJobThatStartsDuringAListingIsListedOnce(t *testing.T) {
	t.Parallel()
	var moving movingJobs
	h := apitest.StartWith(t, apitest.Options{}, func(d *apitest.Deps) {
		moving.MemoryJobs, _ = d.Reader.(*apitest.MemoryJobs)
		d.Reader = moving
	})
	for i := range 9 {
		h.Jobs.Put(job.Job{ID: jobNumber(i), Account: account.LocalID, State: job.Queued, Number: float64(i), SubmittedAt: apitest.Then})
	}
	running, pending := queueOf(t, h)
	require.Empty(t, running)
	require.Contains(t, pending, string(jobNumber(4)))
	running, pending = queueOf(t, h)
	require.Equal(t, []string{string(jobNumber(4))}, running)
	require.Len(t, pending, 8)
}

// failingJobs fails at the second page of the queue.
type failingJobs struct {
	*apitest.MemoryJobs
	from float64
}

func (m failingJobs) Line(ctx context.Context, owner string, q jobs.Line) (jobs.LinePage, error) {
	if m.from == 0 || q.After != nil {
		return jobs.LinePage{}, fault.New(fault.Unavailable, "", "the database is gone")
	}
	return m.MemoryJobs.Line(ctx, owner, q)
}

func TestPartlyReadQueueIsAnError(t *testing.T) {
	t.Parallel()
	failing := func(from float64) *apitest.Harness {
		h := apitest.StartWith(t, apitest.Options{}, func(d *apitest.Deps) {
			memory, _ := d.Reader.(*apitest.MemoryJobs)
			d.Reader = failingJobs{memory, from}
		})
		for i := range 9 {
			h.Jobs.Put(job.Job{ID: jobNumber(i), Account: account.LocalID, State: job.Queued, Number: float64(i), SubmittedAt: apitest.Then})
		}
		return h
	}
	require.Equal(t, http.StatusServiceUnavailable, failing(0).Do(t, "GET", "/queue", "").Status)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, failing(1).URL+"/queue", nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	if err == nil {
		defer res.Body.Close()
		_, err = bufio.NewReader(res.Body).ReadString(0)
		require.NotErrorIs(t, err, http.ErrBodyNotAllowed)
		require.ErrorContains(t, err, "EOF")
		require.NotEqual(t, "EOF", err.Error(), "the connection is cut, the answer does not end")
	}
}

// deepQueue is a queue of any depth that is nowhere in memory, and watches the heap while it is read.
type deepQueue struct {
	*apitest.MemoryJobs
	depth, targets int
	most           atomic.Uint64 // bytes of live heap
}

func (d *deepQueue) Line(_ context.Context, _ string, q jobs.Line) (jobs.LinePage, error) {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	d.most.Store(max(d.most.Load(), stats.HeapAlloc))
	var page jobs.LinePage
	if !q.Waiting {
		return page, nil
	}
	from := 0
	if q.After != nil {
		from = int(q.After.Number)
	}
	to := min(from+q.Limit, d.depth)
	for i := from; i < to; i++ {
		targets := make([]string, d.targets)
		for k := range targets {
			targets[k] = fmt.Sprintf("%d:%d", i, k)
		}
		page.Jobs = append(page.Jobs, job.Job{
			ID: jobNumber(i), State: job.Queued, Number: float64(i), SubmittedAt: apitest.Then,
			Targets: targets,
		})
	}
	if to < d.depth {
		page.Next = &jobs.Place{Number: float64(to)}
	}
	return page, nil
}

// TestLongQueueIsAnsweredInBoundedMemory is not parallel: it looks at the heap of the process.
func TestLongQueueIsAnsweredInBoundedMemory(t *testing.T) { // see above
	deep := &deepQueue{MemoryJobs: &apitest.MemoryJobs{}, targets: 400}
	handler, err := apitest.New(apitest.Undocumented(t, deep), apitest.Options{})
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	read := func(depth int) (bytes int64, most uint64) {
		deep.depth = depth
		deep.most.Store(0)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/queue", nil)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		d := json.NewDecoder(res.Body)
		entries := 0
		for { // a client that keeps nothing either
			token, err := d.Token()
			if err != nil {
				require.EqualError(t, err, "EOF")
				break
			}
			if id, ok := token.(string); ok && strings.HasPrefix(id, "aaaaaaaa-2222") {
				entries++
			}
		}
		require.Equal(t, depth, entries)
		return d.InputOffset(), deep.most.Load()
	}
	_, few := read(1000)
	bytes, many := read(10_000)
	require.Greater(t, bytes, int64(32<<20), "the answer itself is large")
	require.Less(t, many, few+16<<20, "ten times as deep costs no more than the ids")
}

// TestConnectionDeadlinesAreCleared: the connection of an answer with a deadline for its client serves others later.
func TestConnectionDeadlinesAreCleared(t *testing.T) {
	t.Parallel()
	memory := &apitest.MemoryJobs{Jobs: map[job.ID]job.Job{}}
	memory.Put(job.Job{ID: apitest.JobA, Account: account.LocalID, State: job.Succeeded, Version: 1, SubmittedAt: apitest.Then})
	handler, err := apitest.New(apitest.Undocumented(t, memory), apitest.Options{})
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(handler)
	noted := &deadlines{Listener: server.Listener}
	server.Listener = noted
	server.Start()
	t.Cleanup(server.Close)
	for i, path := range []string{"/queue", "/api/v2/jobs/" + string(apitest.JobA) + "/events"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		_, err = bufio.NewReader(res.Body).ReadString(0)
		require.EqualError(t, err, "EOF")
		require.NoError(t, res.Body.Close())
		set, last := noted.writes()
		require.Greater(t, set, 2*i+1, "%s sets a deadline and takes it back", path)
		require.True(t, last.IsZero(), path)
	}
}

// deadlines notes the write deadlines of a listener's connections.
type deadlines struct {
	net.Listener
	mu  sync.Mutex // guards all
	all []time.Time
}

func (d *deadlines) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	return deadlineConn{conn, d}, err
}

func (d *deadlines) writes() (set int, last time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.all), d.all[len(d.all)-1]
}

type deadlineConn struct {
	net.Conn
	noted *deadlines
}

func (c deadlineConn) SetWriteDeadline(at time.Time) error {
	c.noted.mu.Lock()
	defer c.noted.mu.Unlock()
	c.noted.all = append(c.noted.all, at)
	return c.Conn.SetWriteDeadline(at)
}
