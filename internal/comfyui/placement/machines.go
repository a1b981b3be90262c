package placement

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/server"
)

// machines are the machines that a pool may start. For the rules of placement they are one server that is away, with the classes that the
// machines of the pool last had: graphs are accepted and planned with them while no machine runs.
type machines struct {
	server *server.Server
	name   string
	starts bool // the pool may start machines
}

// readPools returns the machines of the pools, the cheapest first.
func (p *Pool) readPools(ctx context.Context) ([]machines, error) {
	if p.opts.Pools == nil {
		return nil, nil
	}
	pools, err := p.opts.Pools(ctx)
	if err != nil {
		return nil, err
	}
	var all []machines
	var away []*server.Server
	for i := range pools {
		of := &pools[i]
		if of.Removed {
			continue
		}
		s := &server.Server{
			ID: server.ID(pool.Stream(of.Name)), URL: "of pool " + of.Name, Labels: of.Spec.Labels, Slots: 1, Health: server.Absent,
			Digest: of.Classes, Price: of.SecondPrice(),
		}
		all, away = append(all, machines{s, of.Name, !of.Paused}), append(away, s)
	}
	slices.SortStableFunc(all, func(a, b machines) int { return cmp.Compare(a.server.Price, b.server.Price) })
	return all, p.loadDocuments(ctx, away)
}

// offering returns the servers and the machines of pools. The caller has locked p.mu.
func (p *Pool) offering() []*server.Server {
	all := slices.Clone(p.servers)
	for _, m := range p.machines {
		all = append(all, m.server)
	}
	return all
}

func (p *Pool) all() []*server.Server {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.offering()
}

// pool returns the cheapest pool that may start machines and whose machines could run a segment, or "".
func (p *Pool) pool(w *server.Wait) string {
	p.mu.Lock()
	machines := p.machines
	p.mu.Unlock()
	for _, m := range machines {
		rules := server.Pool{Servers: []*server.Server{m.server}, Missing: p.missing}
		if m.starts && rules.CanRun(w) {
			return m.name
		}
	}
	return ""
}

// Needs counts the waiting segments that need a machine of a pool: no server takes them, or those that do are busy for longer than a time.
func (p *Pool) Needs(waits []server.Waiting, name string, after time.Duration) (n int) {
	now := time.Now()
	strict, _ := p.pools(p.Servers(), nil)
	for i := range waits {
		w := &waits[i].Wait
		if (now.Sub(w.Since) >= after || len(strict.Able(w)) == 0) && p.pool(w) == name {
			n++
		}
	}
	return n
}

// starting returns that a segment waits for a machine, if no server can run it and a machine of a pool could.
func (p *Pool) starting(w *server.Wait) string {
	strict, _ := p.pools(p.Servers(), nil)
	if len(strict.Able(w)) > 0 {
		return ""
	}
	if name := p.pool(w); name != "" {
		return "waits for a machine of the pool " + name
	}
	return ""
}
