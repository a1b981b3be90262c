package placement

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
)

// waiter is a segment of this process that waits.
type waiter struct {
	wait   server.Wait
	queued chan error        // of one: the segment has its place in the queue, or could not be given one
	given  chan server.Lease // of one
	tried  chan struct{}     // closed when a round found no server for it

	inQueue bool // guarded by Pool.mu, as is the closing of tried
	refused bool
}

func newWaiter(w server.Wait) *waiter {
	return &waiter{wait: w, queued: make(chan error, 1), given: make(chan server.Lease, 1), tried: make(chan struct{})}
}

const (
	// roundEvery is the time between two rounds of placement while something waits.
	roundEvery = 300 * time.Millisecond
	// roundAgain is when a round is tried again that another process prevented: that one may have read what waits before
	// this process added to it.
	roundAgain = 10 * time.Millisecond
	// keepEvery is the time between two signs of life of the waits of this process.
	keepEvery = 5 * time.Second
)

// Serve places segments while some of this process wait, until ctx ends.
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
		if prevented := p.round(ctx); prevented {
			again = time.After(roundAgain)
		}
		if keys = p.keys(); len(keys) > 0 && time.Since(kept) >= keepEvery {
			kept = time.Now()
			p.keep(ctx, keys)
		}
	}
}

// keep takes the leases that another process made without being heard, and keeps the waits of this process alive.
func (p *Pool) keep(ctx context.Context, keys []server.Key) {
	p.collect(ctx, keys)
	if err := p.store.KeepWaiting(ctx, keys); err != nil && ctx.Err() == nil {
		p.opts.Log.Warn("segment waits not renewed", "error", err)
	}
}

// Freed reports that a server may have a free slot again.
func (p *Pool) Freed() { signal(p.rounds) }

// Granted reports that another process may have given a server to a segment that waits in this process.
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

// keys returns the segments that wait in this process.
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
var ErrNoneFree = errors.New("no server takes the segment now")

// Place waits for a server for a segment. queued, which may be nil, is called as soon as the segment has its place in the
// queue: then the lease of an attempt that failed can end. When ctx ends the segment keeps its place for a while; Leave
// gives it up.
func (p *Pool) Place(ctx context.Context, w server.Wait, queued func() error) (server.Lease, error) {
	return p.place(ctx, w, queued, false)
}

// PlaceNow is Place for a segment that does not wait: it returns ErrNoneFree if no server takes it at once. The segment
// keeps its place in the queue for a while.
func (p *Pool) PlaceNow(ctx context.Context, w server.Wait, queued func() error) (server.Lease, error) {
	return p.place(ctx, w, queued, true)
}

func (p *Pool) place(ctx context.Context, w server.Wait, queued func() error, now bool) (server.Lease, error) {
	w.Holder = p.holder
	me := newWaiter(w)
	p.mu.Lock()
	p.waiting[w.Key] = me
	p.mu.Unlock()
	defer p.forget(me)
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
		tried = me.tried
	}
	select {
	case l := <-me.given:
		return l, nil
	case <-ctx.Done():
		return server.Lease{}, context.Cause(ctx)
	case <-tried:
		p.forget(me)
		select {
		case l := <-me.given: // meanwhile
			return l, nil
		default:
			return server.Lease{}, ErrNoneFree
		}
	}
}

// forget removes a waiter: it is given no lease any more.
func (p *Pool) forget(me *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting[me.wait.Key] == me {
		delete(p.waiting, me.wait.Key)
	}
}

// Leave gives up a place in the queue, and the server that a round gave for it meanwhile.
func (p *Pool) Leave(ctx context.Context, w server.Wait) error {
	p.inRound.Lock() // a round that still adds the wait
	defer p.inRound.Unlock()
	w.Holder = p.holder
	return p.store.StopWaiting(ctx, w)
}

// round adds the new waits of this process to the queue, frees the places that it vacates, and gives servers to what
// waits, in any process. It reports whether another process prevented it.
func (p *Pool) round(ctx context.Context) (prevented bool) {
	p.inRound.Lock()
	defer p.inRound.Unlock()
	r, waiters := p.nextRound()
	if len(waiters) == 0 && len(r.Vacated) == 0 {
		return false
	}
	made, mine, err := p.store.Place(ctx, r, func(all []*server.Server, waiting []*server.Wait, served map[string]time.Duration) ([]server.Placement, []server.Unplaced) {
		pool := server.Pool{Servers: all, Missing: p.missing, Load: p.load, Served: served, Now: time.Now()}
		return pool.Decide(waiting)
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

// nextRound returns the new waits and the vacated leases of this process, and its waiters.
func (p *Pool) nextRound() (server.Round, []*waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := server.Round{Holder: p.holder, Vacated: p.vacated}
	p.vacated = nil
	waiters := make([]*waiter, 0, len(p.waiting))
	for _, w := range p.waiting {
		waiters = append(waiters, w)
		if !w.inQueue {
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
			w.inQueue = err == nil
			select {
			case w.queued <- err:
			default: // it knows of an earlier failure
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
			close(w.tried)
		}
	}
}

// collect takes the leases that were made for what waits in this process, by another one.
func (p *Pool) collect(ctx context.Context, keys []server.Key) {
	held, err := p.store.OfSegments(ctx, keys)
	if err != nil && ctx.Err() == nil {
		p.opts.Log.Warn("leases could not be read", "error", err)
	}
	p.deliver(held)
}

// deliver gives leases to the segments that wait for them in this process.
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
		case w.given <- l:
		default:
		}
	}
}

// missing returns what a server has not that a segment needs.
func (p *Pool) missing(s *server.Server, needs []server.Need) string {
	return Missing(p.document(s.Digest), needs)
}

// Missing returns what a server with these class definitions lacks for a segment, "" for nothing. Without definitions, it
// lacks all.
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

// load returns how long loading a model takes on a server: as measured there, or else as on the slowest server where it was
// measured.
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

// WhyWaiting returns why a segment waits and its place in the queue, "" when it does not wait any more.
func (p *Pool) WhyWaiting(ctx context.Context, k server.Key) (string, error) {
	reason, ahead, err := p.store.WhyWaiting(ctx, k)
	if err != nil || reason == "" || ahead == 0 {
		return reason, err
	}
	return fmt.Sprintf("%s; %d are before it", reason, ahead), nil
}

// MoreMemory reports whether some server that answers, or may return, could run a segment and has a device of more than
// so many bytes.
func (p *Pool) MoreMemory(w server.Wait, bytes int64) bool {
	w.Memory = max(bytes, 0)
	pool := server.Pool{Servers: p.Servers(), Missing: p.missing, Load: p.load, Now: time.Now()}
	return pool.CanRun(&w)
}
