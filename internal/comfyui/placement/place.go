package placement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
	"github.com/millrace-dev/millrace/internal/fault"
)

// waiter is a waiting segment of this process.
type waiter struct {
	wait       server.Wait
	queued     chan error        // capacity 1: nil when the segment is in the queue, or the error
	lease      chan server.Lease // capacity 1
	takenOver  chan struct{}     // closed when another driver has the segment
	considered chan struct{}     // closed when a round found no server for the segment

	inQueue bool   // guarded by Pool.mu, like wait.Fetching and the closing of considered
	added   string // wait.Fetching as it was last added to the queue
	refused bool
}

func newWaiter(w server.Wait) *waiter {
	return &waiter{
		wait: w, queued: make(chan error, 1), lease: make(chan server.Lease, 1), considered: make(chan struct{}),
		takenOver: make(chan struct{}),
	}
}

const (
	// roundEvery is the time between two rounds of placement while segments wait.
	roundEvery = 300 * time.Millisecond
	// retryRound is the delay before a round is repeated that another process prevented. The other process may have
	// read the queue before this process added to it.
	retryRound = 10 * time.Millisecond
	// renewEvery is the time between two heartbeats of the waits of this process.
	renewEvery = 5 * time.Second
)

// Serve places the waiting segments of this process until ctx ends.
func (p *Pool) Serve(ctx context.Context) error {
	tick := time.NewTicker(roundEvery)
	defer tick.Stop()
	var again <-chan time.Time
	var kept time.Time
	for {
		granted := false
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-again:
		case <-p.rounds:
		case <-p.granted:
			granted = true
		}
		keys := p.keys()
		if granted && len(keys) > 0 {
			p.collect(ctx, keys)
			continue
		}
		again = nil
		if prevented := p.placeWaiting(ctx); prevented {
			again = time.After(retryRound)
		}
		if keys = p.keys(); len(keys) > 0 && time.Since(kept) >= renewEvery {
			kept = time.Now()
			p.renewWaits(ctx, keys)
		}
	}
}

// renewWaits sends heartbeats for the waits of this process, takes leases that another process made unnoticed, and adds segments
// to the queue again that are neither in the queue nor have a lease.
func (p *Pool) renewWaits(ctx context.Context, keys []server.Key) {
	kept, err := p.store.KeepWaiting(ctx, p.holder, keys)
	if err == nil {
		keys = slices.DeleteFunc(keys, func(k server.Key) bool { return slices.Contains(kept, k) })
		if len(keys) == 0 {
			return
		}
		var held []server.Lease
		if held, err = p.store.OfSegments(ctx, keys); err == nil {
			p.deliver(held)
			p.repair(keys, held)
		}
	}
	if err != nil && ctx.Err() == nil {
		p.opts.Log.Warn("segment wait renewal failed", "error", err)
	}
}

// repair ends the waits for segments that another driver runs or has run, and lets the next round add the others to the queue. keys
// are waits that are not in the queue, and held are leases of their segments.
func (p *Pool) repair(keys []server.Key, held []server.Lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range keys {
		w := p.waiting[k]
		if w == nil || !w.inQueue {
			continue
		}
		at := slices.IndexFunc(held, func(l server.Lease) bool { return l.Key == k && l.Attempt >= w.wait.Attempt })
		switch {
		case at < 0:
			w.inQueue = false
		case held[at].Holder != p.holder || held[at].Result != nil:
			delete(p.waiting, k)
			close(w.takenOver)
		}
	}
}

// Freed reports that a server may have a free slot again.
func (p *Pool) Freed() { signal(p.rounds) }

// Granted reports that another process may have granted a lease to a waiting segment of this process.
func (p *Pool) Granted() { signal(p.granted) }

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Vacate reports that the prompt of a lease has succeeded: the server can run another segment while the outputs of this one
// are copied.
func (p *Pool) Vacate(l server.Lease) {
	p.mu.Lock()
	p.vacated = append(p.vacated, l)
	p.mu.Unlock()
	p.Freed()
}

// keys returns the waiting segments of this process.
func (p *Pool) keys() []server.Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	keys := make([]server.Key, 0, len(p.waiting))
	for k := range p.waiting {
		keys = append(keys, k)
	}
	return keys
}

// ErrNoneFree means that no server takes a segment now.
var ErrNoneFree = errors.New("no ComfyUI server is free for the segment")

// errTakenOver ends a wait. The next driver of the segment takes the lease over, or reads its result.
var errTakenOver = fault.New(fault.Unavailable, fault.CodeLeaseTakenOver, "another driver has taken the segment over")

// Place waits for a server for a segment. queued, which may be nil, is called as soon as the segment is in the queue;
// the lease of a failed attempt can then end. When ctx ends, the segment stays in the queue for a while; Leave
// removes it.
func (p *Pool) Place(ctx context.Context, w server.Wait, queued func() error) (server.Lease, error) {
	return p.place(ctx, w, queued, false)
}

// PlaceNow returns a server for a segment at once, or ErrNoneFree. The segment stays in the queue for a while.
func (p *Pool) PlaceNow(ctx context.Context, w server.Wait, queued func() error) (server.Lease, error) {
	return p.place(ctx, w, queued, true)
}

func (p *Pool) place(ctx context.Context, w server.Wait, queued func() error, now bool) (server.Lease, error) {
	w.Holder = p.holder
	me := newWaiter(w)
	p.mu.Lock()
	p.waiting[w.Key] = me
	p.mu.Unlock()
	defer p.removeWaiter(me)
	p.Freed()
	select {
	case <-ctx.Done():
		return server.Lease{}, context.Cause(ctx)
	case err := <-me.queued:
		if err == nil && queued != nil {
			err = queued()
			p.Freed()
		}
		if err != nil {
			return server.Lease{}, err
		}
	}
	var tried <-chan struct{}
	if now {
		tried = me.considered
	}
	select {
	case l := <-me.lease:
		return l, nil
	case <-ctx.Done():
		return server.Lease{}, context.Cause(ctx)
	case <-me.takenOver:
		return server.Lease{}, errTakenOver
	case <-tried:
		p.removeWaiter(me)
		select {
		case l := <-me.lease: // granted in the meantime
			return l, nil
		default:
			return server.Lease{}, ErrNoneFree
		}
	}
}

// removeWaiter removes a waiter, which then gets no lease.
func (p *Pool) removeWaiter(me *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting[me.wait.Key] == me {
		delete(p.waiting, me.wait.Key)
	}
}

// Fetching reports how far a weight is that is fetched for a waiting segment. The next round adds the segment to the queue again, in which
// it keeps its position.
func (p *Pool) Fetching(k server.Key, status string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.waiting[k]; w != nil && w.wait.Fetching != status {
		w.wait.Fetching, w.inQueue = status, false
	}
}

// EndWait removes a segment from the queue, and returns the lease that a round has granted to it in the meantime.
func (p *Pool) EndWait(ctx context.Context, w server.Wait) error {
	select { // waits for a round that may still add the segment
	case p.inRound <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-p.inRound }()
	w.Holder = p.holder
	return p.store.StopWaiting(ctx, w)
}

// placeWaiting adds the new waits of this process to the queue, frees the vacated slots, and assigns servers to waiting
// segments of all processes. It reports whether another process prevented the round.
func (p *Pool) placeWaiting(ctx context.Context) (prevented bool) {
	p.inRound <- struct{}{}
	defer func() { <-p.inRound }()
	r, waiters := p.collectRound()
	if len(waiters) == 0 && len(r.Vacated) == 0 {
		return false
	}
	made, mine, err := p.store.Place(ctx, r, func(all []*server.Server, waiting []*server.Wait,
		served map[string]time.Duration,
	) ([]server.Placement, []server.Unplaced) {
		pool := server.Pool{Servers: all, Missing: p.missing, Load: p.load, Served: served, Now: time.Now()}
		placed, unplaced := pool.Decide(waiting)
		for i := range unplaced {
			unplaced[i].Reason = cmp.Or(p.bringing(unplaced[i].Wait), p.starting(unplaced[i].Wait), unplaced[i].Reason)
		}
		return placed, unplaced
	})
	if err != nil && ctx.Err() == nil {
		p.opts.Log.Warn("segment placement failed", "error", err)
	}
	p.endRound(r, waiters, err)
	p.deliver(made)
	if mine {
		p.try(waiters)
	}
	return err == nil && !mine
}

// collectRound returns the new waits and the vacated leases of this process, and its waiters.
func (p *Pool) collectRound() (server.Round, []*waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := server.Round{Holder: p.holder, Vacated: p.vacated}
	p.vacated = nil
	waiters := make([]*waiter, 0, len(p.waiting))
	for _, w := range p.waiting {
		waiters = append(waiters, w)
		if !w.inQueue {
			w.added = w.wait.Fetching
			r.Waits = append(r.Waits, w.wait)
		}
	}
	return r, waiters
}

// endRound reports to the new waiters of a round whether their segments are in the queue.
func (p *Pool) endRound(r server.Round, waiters []*waiter, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.vacated = append(r.Vacated, p.vacated...)
	}
	for _, w := range waiters {
		if !w.inQueue {
			w.inQueue = err == nil && w.added == w.wait.Fetching
			select {
			case w.queued <- err:
			default: // the waiter already has an earlier error
			}
		}
	}
}

// try reports to waiters that a round found no server for them.
func (p *Pool) try(waiters []*waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range waiters {
		if !w.refused {
			w.refused = true
			close(w.considered)
		}
	}
}

// collect takes the leases that another process granted to waiting segments of this process.
func (p *Pool) collect(ctx context.Context, keys []server.Key) {
	leases, err := p.store.OfSegments(ctx, keys)
	if err != nil && ctx.Err() == nil {
		p.opts.Log.Warn("lease read failed", "error", err)
	}
	p.deliver(leases)
}

// deliver passes leases to the segments of this process that wait for them.
func (p *Pool) deliver(leases []server.Lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range leases {
		w, ok := p.waiting[l.Key]
		if !ok || l.Holder != p.holder || l.Attempt < w.wait.Attempt || l.Result != nil {
			continue
		}
		l.Fresh = true
		select {
		case w.lease <- l:
		default:
		}
	}
}

// missing returns the class or choice that a segment needs and a server lacks.
func (p *Pool) missing(s *server.Server, needs []server.Need) string {
	return Missing(p.document(s.Digest), needs)
}

// Missing returns the class or choice that a server with these class definitions lacks for a segment, or "". Without
// definitions, the server lacks everything.
func Missing(doc *remote.Document, needs []server.Need) string {
	if doc == nil {
		return "known classes"
	}
	for _, n := range needs {
		constants := make(node.Args, len(n.Choices))
		for name, choice := range n.Choices {
			constants[name] = choice
		}
		if missing := doc.Missing(n.Class, constants); missing != "" {
			return missing
		}
		if !doc.Classes[n.Class].Fits(n.Inputs, n.Outputs) {
			return "class " + n.Class + " as it was when the job was planned"
		}
	}
	return ""
}

// load returns how long loading a model takes on a server: as measured on this server, or else on the slowest server
// with a measurement.
func (p *Pool) load(id server.ID, model string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if took, ok := p.loads[id][model]; ok {
		return took
	}
	var slowest time.Duration
	for _, models := range p.loads {
		slowest = max(slowest, models[model])
	}
	return slowest
}

// WhyWaiting returns why a segment waits and its position in the queue. It returns "" if the segment no longer waits.
func (p *Pool) WhyWaiting(ctx context.Context, k server.Key) (string, error) {
	reason, ahead, err := p.store.WhyWaiting(ctx, k)
	if err != nil || reason == "" || ahead == 0 {
		return reason, err
	}
	return fmt.Sprintf("%s; %d segments are before it", reason, ahead), nil
}

// CanRun reports whether some server, which may return, or a machine of a pool could run a segment.
func (p *Pool) CanRun(w server.Wait) bool {
	pool := server.Pool{Servers: p.all(), Missing: p.missing}
	return pool.CanRun(&w)
}
