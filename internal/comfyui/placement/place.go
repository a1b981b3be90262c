package placement

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
)

// waiter is a segment of this process that waits.
type waiter struct {
	wait  server.Wait
	given chan server.Lease // of one
}

// roundEvery is the time between two rounds of placement while something waits.
const roundEvery = 300 * time.Millisecond

// keepEvery is the time between two signs of life of the waits of this process.
const keepEvery = 5 * time.Second

// Serve places segments while some of this process wait, until ctx ends.
func (p *Pool) Serve(ctx context.Context) error {
	tick := time.NewTicker(roundEvery)
	defer tick.Stop()
	var kept time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-p.rounds:
		}
		if len(p.keys()) == 0 {
			continue
		}
		p.deliver(p.round(ctx))
		keys := p.keys()
		if len(keys) == 0 {
			continue
		}
		p.collect(ctx, keys)
		if time.Since(kept) < keepEvery {
			continue
		}
		kept = time.Now()
		if err := p.store.KeepWaiting(ctx, keys); err != nil && ctx.Err() == nil {
			p.opts.Log.Warn("segment waits not renewed", "error", err)
		}
	}
}

// Freed says that a server may have a place again.
func (p *Pool) Freed() {
	select {
	case p.rounds <- struct{}{}:
	default:
	}
}

// keys returns what waits in this process.
func (p *Pool) keys() []server.Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	keys := make([]server.Key, 0, len(p.waiting))
	for k := range p.waiting {
		keys = append(keys, k)
	}
	return keys
}

// Place waits for a server for a segment. queued, which may be nil, is called as soon as the segment has its place in the
// queue: then the lease of an attempt that failed can end. When ctx ends the segment keeps its place for a while; Leave
// gives it up.
func (p *Pool) Place(ctx context.Context, w server.Wait, queued func() error) (server.Lease, error) {
	w.Holder = p.holder
	me := &waiter{wait: w, given: make(chan server.Lease, 1)}
	if err := p.store.Wait(ctx, w); err != nil {
		return server.Lease{}, err
	}
	if queued != nil {
		if err := queued(); err != nil {
			return server.Lease{}, err
		}
	}
	p.mu.Lock()
	p.waiting[w.Key] = me
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiting, w.Key)
	}()
	p.Freed()
	select {
	case <-ctx.Done():
		return server.Lease{}, context.Cause(ctx)
	case l := <-me.given:
		return l, nil
	}
}

// Leave gives up a place in the queue.
func (p *Pool) Leave(ctx context.Context, k server.Key) error { return p.store.StopWaiting(ctx, k) }

// round gives servers to what waits, in any process, and returns the leases that it made.
func (p *Pool) round(ctx context.Context) []server.Lease {
	made, err := p.store.Place(ctx, func(all []*server.Server, waiting []*server.Wait, served map[string]time.Duration) ([]server.Placement, []server.Unplaced) {
		pool := server.Pool{Servers: all, Missing: p.lack, Load: p.load, Served: served, Now: time.Now()}
		return pool.Decide(waiting)
	})
	if err != nil && ctx.Err() == nil {
		p.opts.Log.Warn("segment placement failed", "error", err)
	}
	return made
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

// lack returns what a server lacks for a segment.
func (p *Pool) lack(s *server.Server, needs []server.Need) string {
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
		if lack := doc.Lack(n.Class, constants); lack != "" {
			return lack
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
	pool := server.Pool{Servers: p.Servers(), Missing: p.lack, Load: p.load, Now: time.Now()}
	return pool.CanRun(&w)
}
