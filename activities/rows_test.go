package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/fault"
)

// rows are the rows that package serverstore keeps of servers, of the segments that wait for one and of their leases.
type rows struct {
	placement.Store
	log *eventlogtest.Memory

	mu       sync.Mutex // guards all below
	servers  []*server.Server
	classes  map[string][]byte
	removed  []string // digests of the classes of removed servers
	waits    map[server.Key]server.Wait
	why      map[server.Key]string
	leases   map[server.Key]*server.Lease
	fence    int64
	noted    []string // what was learned about servers, in order
	outcomes []server.Outcome
	left     []server.Wait // waits that were taken out of the queue
}

func newRows(log *eventlogtest.Memory) *rows {
	return &rows{
		log: log, classes: map[string][]byte{}, waits: map[server.Key]server.Wait{}, why: map[server.Key]string{},
		leases: map[server.Key]*server.Lease{},
	}
}

// do calls a function on the rows.
func (r *rows) do(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// row calls a function on the row of a server.
func (r *rows) row(id server.ID, change func(*server.Server)) {
	r.do(func() {
		for n, s := range r.servers {
			if s.ID == id {
				c := *s
				change(&c)
				r.servers[n] = &c
			}
		}
	})
}

func (r *rows) all() []*server.Server {
	var all []*server.Server
	for _, s := range r.servers {
		c := *s
		c.Leases = nil
		for _, l := range r.leases {
			if l.Server == c.ID && l.Result == nil {
				c.Leases = append(c.Leases, *l)
			}
		}
		all = append(all, &c)
	}
	return all
}

func (r *rows) Servers(context.Context) (all []*server.Server, err error) {
	r.do(func() { all = r.all() })
	return all, nil
}

func (r *rows) Classes(_ context.Context, digest string) (body []byte, err error) {
	r.do(func() { body = r.classes[digest] })
	return body, nil
}

func (r *rows) RemovedClasses(context.Context) (bodies map[string][]byte, order []string, err error) {
	r.do(func() { bodies, order = r.classes, slices.Clone(r.removed) })
	return bodies, order, nil
}

func (*rows) Loads(context.Context) (map[server.ID]map[string]time.Duration, error) { return nil, nil }

func (r *rows) Place(_ context.Context, round server.Round, decide server.Decide) (made []server.Lease, mine bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range round.Waits {
		if l := r.leases[w.Key]; l == nil || l.Fence <= w.Fence {
			r.waits[w.Key] = w
		}
	}
	for _, v := range round.Vacated {
		if l := r.leases[v.Key]; l != nil && l.Fence == v.Fence {
			l.Copying = true
		}
	}
	var waiting []*server.Wait
	for _, w := range r.waits {
		waiting = append(waiting, &w)
	}
	placed, unplaced := decide(r.all(), waiting, nil)
	for _, p := range placed {
		r.fence++
		l := &server.Lease{
			Key: p.Wait.Key, Account: p.Wait.Account, Server: p.Server.ID, Attempt: p.Wait.Attempt, Fence: r.fence, Holder: p.Wait.Holder,
			Since: time.Now(), Until: time.Now().Add(time.Minute), Models: p.Wait.Models, Reason: p.Reason,
		}
		delete(r.waits, l.Key)
		r.leases[l.Key] = l
		made = append(made, *l)
	}
	clear(r.why)
	for _, u := range unplaced {
		r.why[u.Wait.Key] = u.Reason
	}
	return made, true, nil
}

func (r *rows) KeepWaiting(_ context.Context, _ string, keys []server.Key) (kept []server.Key, err error) {
	r.do(func() {
		kept = slices.DeleteFunc(slices.Clone(keys), func(k server.Key) bool { _, waits := r.waits[k]; return !waits })
	})
	return kept, nil
}

func (r *rows) OfSegments(_ context.Context, keys []server.Key) (found []server.Lease, err error) {
	r.do(func() {
		for _, k := range keys {
			if l := r.leases[k]; l != nil {
				found = append(found, *l)
			}
		}
	})
	return found, nil
}

func (r *rows) WhyWaiting(_ context.Context, k server.Key) (why string, ahead int, err error) {
	r.do(func() { why = r.why[k] })
	return why, 0, nil
}

// reasons returns why segments wait.
func (r *rows) reasons() (all []string) {
	r.do(func() { all = slices.Collect(maps.Values(r.why)) })
	return all
}

func (r *rows) StopWaiting(_ context.Context, w server.Wait) error {
	r.do(func() {
		r.left = append(r.left, w)
		delete(r.waits, w.Key)
		if l := r.leases[w.Key]; l != nil && l.Attempt == w.Attempt && l.Holder == w.Holder && l.Result == nil {
			delete(r.leases, w.Key)
		}
	})
	return nil
}

func (r *rows) Retake(_ context.Context, k server.Key, holder string) (l server.Lease, err error) {
	err = fault.New(fault.NotFound, "", "the segment has no lease")
	r.do(func() {
		if row := r.leases[k]; row != nil {
			r.fence++
			delete(r.waits, k)
			row.Fence, row.Holder, row.Copying = r.fence, holder, false
			l, err = *row, nil
		}
	})
	return l, err
}

func (r *rows) Renew(_ context.Context, l server.Lease) (mine bool, err error) {
	r.do(func() { mine = r.mine(l) })
	return mine, nil
}

func (r *rows) mine(l server.Lease) bool {
	row := r.leases[l.Key]
	return row != nil && row.Fence == l.Fence
}

var errLeaseLost = fault.New(fault.Conflict, fault.CodeSegmentLeaseLost, "another driver has the lease")

func (r *rows) Record(
	ctx context.Context, l server.Lease, a eventlog.Append, result json.RawMessage,
) (recorded []eventlog.Recorded, err error) {
	r.do(func() {
		if !r.mine(l) {
			err = errLeaseLost
			return
		}
		if len(a.Events) > 0 {
			recorded, err = r.log.Append(ctx, a)
		}
		if err == nil && result != nil {
			r.leases[l.Key].Result = result
		}
	})
	return recorded, err
}

func (r *rows) Drop(_ context.Context, l server.Lease) error {
	r.do(func() {
		if r.mine(l) {
			delete(r.leases, l.Key)
		}
	})
	return nil
}

func (r *rows) Orphan(_ context.Context, l server.Lease) error {
	r.do(func() { r.noted = append(r.noted, "may still run a prompt: "+string(l.Server)) })
	return nil
}

func (r *rows) MarkAway(_ context.Context, id server.ID, problem string) error {
	r.row(id, func(s *server.Server) { s.Health, s.Problem = server.Absent, problem })
	r.do(func() { r.noted = append(r.noted, "away: "+string(id)) })
	return nil
}

func (r *rows) RecordOutcome(_ context.Context, id server.ID, o server.Outcome) error {
	r.do(func() {
		r.outcomes = append(r.outcomes, o)
		switch {
		case o.Machine:
			r.noted = append(r.noted, "its machine failed: "+string(id))
		case o.Problem != "":
			r.noted = append(r.noted, "a job failed: "+string(id))
		default:
			r.noted = append(r.noted, "works: "+string(id))
		}
	})
	return nil
}

func (r *rows) Loaded(_ context.Context, id server.ID, models []string, took time.Duration) error {
	r.do(func() {
		if took > 0 {
			r.noted = append(r.noted, fmt.Sprint("time to load ", models, ": ", id))
		}
	})
	return nil
}

func (r *rows) GiveUpRun(_ context.Context, ref job.RunRef) (ids []server.ID, err error) {
	r.do(func() {
		for k, l := range r.leases {
			if k.Job == ref.Job && k.Run == ref.Run && l.Result == nil {
				ids = append(ids, l.Server)
			}
			if k.Job == ref.Job && k.Run == ref.Run {
				delete(r.leases, k)
			}
		}
		for _, id := range ids {
			r.noted = append(r.noted, "gives the run up: "+string(id))
		}
	})
	return ids, nil
}

// state returns what was learned about servers, and how many segments wait for one, have one and have run.
func (r *rows) state() (noted []string, waiting, running, ran int) {
	r.do(func() {
		noted, waiting = slices.Clone(r.noted), len(r.waits)
		for _, l := range r.leases {
			if l.Result == nil {
				running++
			} else {
				ran++
			}
		}
	})
	return noted, waiting, running, ran
}

// runEnds ends jobs as package jobstore does, and the lease of the last segment with them.
type runEnds struct{ rows *rows }

func (e runEnds) End(ctx context.Context, end job.Ending) (job.Ended, error) {
	r := e.rows
	r.mu.Lock()
	defer r.mu.Unlock()
	var l *server.Lease
	if end.Lease != nil {
		l = r.leases[server.Key{Job: end.ID, Run: end.Run, Unit: end.Lease.Segment}]
		if l == nil || l.Fence != end.Lease.Fence {
			return job.Ended{}, errLeaseLost
		}
	}
	recorded, err := r.log.ReadStream(ctx, end.ID.Stream(), 0, 10_000)
	if err != nil {
		return job.Ended{}, err
	}
	known := map[uuid.UUID]bool{}
	for _, rec := range recorded {
		known[rec.ID] = true
	}
	last := eventlog.Event{ID: job.EventID(end.ID, end.Run, "", 0, end.Type), Type: end.Type, Data: end.Data}
	ends := func(rec eventlog.Recorded) bool {
		return rec.Type == job.TypeSucceeded || rec.Type == job.TypeFailed || rec.Type == job.TypeCanceled
	}
	begun := func(before eventlog.Event) bool { return known[before.ID] }
	switch {
	case known[last.ID]:
		return job.Ended{Applied: true}, nil
	case slices.ContainsFunc(recorded, ends):
		return job.Ended{}, nil
	case end.After > 0 && end.After != int64(len(recorded)):
		return job.Ended{}, job.ErrOvertaken
	case slices.ContainsFunc(end.Before, begun):
		return job.Ended{}, job.ErrRecordedInPart
	}
	if l != nil {
		l.Result = end.Lease.Result
	}
	_, err = r.log.Append(ctx, eventlog.Append{
		Stream: end.ID.Stream(), Account: end.Account, Expected: eventlog.AnyVersion, Close: true,
		Events: append(slices.Clip(end.Before), last), Meta: eventlog.Meta{Actor: end.Actor, Reason: end.Reason},
	})
	return job.Ended{Applied: err == nil}, err
}
