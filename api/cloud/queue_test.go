package api_test

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

	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/projections/jobs"
)

func jobNumber(i int) job.ID { return job.ID(fmt.Sprintf("aaaaaaaa-2222-4333-8444-%012d", i)) }

// queueOf asks for the queue and returns the ids of both halves.
func (h *harness) queueOf(t *testing.T) (running, pending []string) {
	t.Helper()
	body := h.do(t, "GET", "/api/queue", "").json(t)
	for name, ids := range map[string]*[]string{"queue_running": &running, "queue_pending": &pending} {
		for _, entry := range body[name].([]any) {
			*ids = append(*ids, entry.([]any)[1].(string))
		}
	}
	return running, pending
}

func TestAQueueOfManyPagesIsListedWholeAndInOrder(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{})
	var want [2][]string
	for i := range 20 {
		state, half := job.Queued, 1
		if i < 7 {
			state, half = job.Running, 0
		}
		h.jobs.put(job.Job{ID: jobNumber(i), Account: account.LocalID, State: state, Number: float64(i), SubmittedAt: then})
		want[half] = append(want[half], string(jobNumber(i)))
	}
	running, pending := h.queueOf(t)
	require.Equal(t, want[0], running)
	require.Equal(t, want[1], pending)
	all := h.do(t, "GET", "/api/v2/jobs?limit=50", "").json(t)["jobs"].([]any)
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
type movingJobs struct{ *memoryJobs }

func (m movingJobs) Line(ctx context.Context, owner string, q jobs.Line) (jobs.LinePage, error) {
	page, err := m.memoryJobs.Line(ctx, owner, q)
	for _, j := range page.Jobs {
		if q.Waiting && j.Number == 4 {
			j.State = job.Running
			m.put(j)
		}
	}
	return page, err
}

func TestJobThatStartsDuringAListingIsListedOnce(t *testing.T) {
	t.Parallel()
	var moving movingJobs
	h := startWith(t, api.Options{}, func(d *api.Deps) {
		moving.memoryJobs, _ = d.Reader.(*memoryJobs)
		d.Reader = moving
	})
	for i := range 9 {
		h.jobs.put(job.Job{ID: jobNumber(i), Account: account.LocalID, State: job.Queued, Number: float64(i), SubmittedAt: then})
	}
	running, pending := h.queueOf(t)
	require.Empty(t, running)
	require.Contains(t, pending, string(jobNumber(4)))
	running, pending = h.queueOf(t)
	require.Equal(t, []string{string(jobNumber(4))}, running)
	require.Len(t, pending, 8)
}

// failingJobs fails at the second page of the queue.
type failingJobs struct {
	*memoryJobs
	from float64
}

func (m failingJobs) Line(ctx context.Context, owner string, q jobs.Line) (jobs.LinePage, error) {
	if m.from == 0 || q.After != nil {
		return jobs.LinePage{}, fault.New(fault.Unavailable, "", "the database is gone")
	}
	return m.memoryJobs.Line(ctx, owner, q)
}

func TestPartlyReadQueueIsAnError(t *testing.T) {
	t.Parallel()
	failing := func(from float64) *harness {
		h := startWith(t, api.Options{}, func(d *api.Deps) {
			memory, _ := d.Reader.(*memoryJobs)
			d.Reader = failingJobs{memory, from}
		})
		for i := range 9 {
			h.jobs.put(job.Job{ID: jobNumber(i), Account: account.LocalID, State: job.Queued, Number: float64(i), SubmittedAt: then})
		}
		return h
	}
	require.Equal(t, http.StatusServiceUnavailable, failing(0).do(t, "GET", "/queue", "").status)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, failing(1).url+"/queue", nil)
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

// undocumented are the parts of a harness over another reader, for a server that nothing stands before.
func undocumented(t *testing.T, reader api.JobReader) (deps api.Deps) {
	t.Helper()
	startWith(t, api.Options{}, func(d *api.Deps) { d.Reader, deps = reader, *d })
	deps.Reader = reader
	return deps
}

// deepQueue is a queue of any depth that is nowhere in memory, and watches the heap while it is read.
type deepQueue struct {
	*memoryJobs
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
		page.Jobs = append(page.Jobs, job.Job{ID: jobNumber(i), State: job.Queued, Number: float64(i), SubmittedAt: then, Targets: targets})
	}
	if to < d.depth {
		page.Next = &jobs.Place{Number: float64(to)}
	}
	return page, nil
}

// TestADeepQueueIsAnsweredInLittleMemory is not parallel: it looks at the heap of the process.
func TestADeepQueueIsAnsweredInLittleMemory(t *testing.T) { // see above
	deep := &deepQueue{memoryJobs: &memoryJobs{}, targets: 400}
	handler, err := api.New(undocumented(t, deep), api.Options{})
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
	memory := &memoryJobs{jobs: map[job.ID]job.Job{}}
	memory.put(job.Job{ID: jobA, Account: account.LocalID, State: job.Succeeded, Version: 1, SubmittedAt: then})
	handler, err := api.New(undocumented(t, memory), api.Options{})
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(handler)
	noted := &deadlines{Listener: server.Listener}
	server.Listener = noted
	server.Start()
	t.Cleanup(server.Close)
	for i, path := range []string{"/queue", "/api/v2/jobs/" + string(jobA) + "/events"} {
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
