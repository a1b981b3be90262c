// Package machines starts, stops and lists the machines of pools by their providers: commands, webhooks, Deployments of Kubernetes, and
// workers that start processes. It promises that each machine is started once, that none is stopped while it works, and that nothing that
// a provider answers gets into events, logs or errors, except for ids. Package pool decides what is started and stopped.
package machines

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Pools stores pools; poolstore.Store implements it.
type Pools interface {
	Pool(ctx context.Context, name string) (pool.Pool, error)
	Change(ctx context.Context, name string, by server.By, decide func(pool.Pool) []any) error
	Work(ctx context.Context, name string) ([]pool.Work, error)
}

// Servers is the registry of servers; serverstore.Store implements it.
type Servers interface {
	Servers(ctx context.Context) ([]*server.Server, error)
	Waits(ctx context.Context) ([]server.Waiting, error)
	Drain(ctx context.Context, id server.ID, drained bool, by server.By) error
	Remove(ctx context.Context, id server.ID, by server.By) error
	AddToken(ctx context.Context, t server.Token, hash server.TokenHash, by server.By) (server.Token, error)
	Tokens(ctx context.Context) ([]server.Token, error)
	RevokeToken(ctx context.Context, ref string, by server.By) (server.Token, error)
	Register(ctx context.Context, r server.Registration, sealed []byte) (*server.Server, error)
}

// Keeper carries out what pools want.
type Keeper struct {
	Pools     Pools
	Servers   Servers
	Placement *placement.Pool
	Allowed   bool          // commands may be run, and credentials in files sent to Kubernetes
	Wire      webhook.Wire  // sends requests to webhooks, to which Allow has further addresses
	Allow     []string      // HOST:PORT
	Within    time.Duration // bounds a call of a provider; 0 = by what it does
	Log       *slog.Logger

	mu    sync.Mutex           // guards lists
	lists map[string]time.Time // when the machines of a pool were last listed
}

// by attributes the events of a pool's decisions.
func by(reason string) server.By { return server.By{Actor: "pool", Reason: reason} }

const (
	lookEvery  = time.Second
	listEvery  = 10 * time.Second // while the pool has machines, or had one a moment ago
	listSoon   = 2 * time.Second  // when a server does not answer: its machine may be gone
	listSeldom = 5 * time.Minute
	longest    = time.Minute     // until Next returns without an order
	longestNow = 5 * time.Second // and while commands run, whose end it does not see
)

// Next waits until a pool wants a command to run, and returns the orders, which it has recorded. Without any for a while it returns none.
// over means that the pool was removed, has no machines, and its provider lists none. inFlight are the machines whose commands run.
func (k *Keeper) Next(ctx context.Context, name string, inFlight []string) (orders pool.Orders, over bool, err error) {
	late := time.After(longest)
	if len(inFlight) > 0 {
		late = time.After(longestNow)
	}
	for {
		p, err := k.Pools.Pool(ctx, name)
		if err != nil {
			return orders, false, err
		}
		seen, err := k.see(ctx, p, inFlight)
		if over = p.Over() && (!seen.Asked || len(seen.Listed) == 0); err != nil || over && seen.Asked {
			return orders, over, err
		}
		if orders = p.Decide(name, seen, time.Now().UTC()); !orders.Empty() {
			if orders, err = k.record(ctx, name, seen, orders); err != nil || len(orders.Start)+len(orders.Stop) > 0 {
				return orders, false, err
			}
		}
		select {
		case <-ctx.Done():
			return orders, false, context.Cause(ctx)
		case <-late:
			return orders, over, nil // over if it could not be listed
		case <-time.After(lookEvery):
		}
	}
}

// record records the events of a decision, which it makes again on the latest state, and drains servers.
func (k *Keeper) record(ctx context.Context, name string, seen pool.Seen, orders pool.Orders) (pool.Orders, error) {
	if len(orders.Events) > 0 {
		err := k.Pools.Change(ctx, name, by("the needs of waiting segments"), func(p pool.Pool) []any {
			orders = p.Decide(name, seen, time.Now().UTC())
			return orders.Events
		})
		if err != nil {
			return pool.Orders{}, err
		}
		for _, e := range orders.Events {
			if lost, ok := e.(pool.LostV1); ok {
				k.Log.Warn("machine lost", "pool", name, "machine", lost.Machine, "cause", lost.Cause)
			}
		}
	}
	for _, id := range orders.Drain {
		if err := k.Servers.Drain(ctx, id, true, by("the pool does not need its machine")); err != nil {
			return pool.Orders{}, err
		}
	}
	return orders, nil
}

// see returns what a decision about a pool depends on.
func (k *Keeper) see(ctx context.Context, p pool.Pool, inFlight []string) (pool.Seen, error) {
	seen := pool.Seen{InFlight: inFlight, Servers: map[string]pool.Server{}}
	waits, err := k.Servers.Waits(ctx)
	if err != nil {
		return seen, err
	}
	seen.Needs = k.Placement.Needs(waits, p.Name, p.Spec.Wait)
	var segments int64
	var seconds float64
	for _, e := range p.Ended {
		segments, seconds = segments+e.Segments, seconds+float64(e.Work)
	}
	if len(p.Machines) > 0 {
		work, err := k.Pools.Work(ctx, p.Name)
		if err != nil {
			return seen, err
		}
		servers := k.Placement.Servers()
		for _, w := range work {
			segments, seconds = segments+w.Segments, seconds+w.Seconds
			if at := slices.IndexFunc(servers, func(s *server.Server) bool { return s.ID == w.Server }); at >= 0 {
				seen.Servers[w.Machine] = serverOf(servers[at], w, p.Spec)
			}
		}
	}
	if segments > 0 {
		seen.Work = time.Duration(seconds / float64(segments) * float64(time.Second))
	}
	every := listSeldom
	if p.Over() {
		every = listSoon
	}
	for _, m := range p.Machines {
		if every = min(every, listEvery); m.Phase == pool.Joined && !seen.Servers[m.ID].Answers {
			every = listSoon
		}
	}
	for _, e := range p.Ended { // a start that failed may have left a machine
		if time.Since(e.At) < listSeldom {
			every = min(every, listEvery)
		}
	}
	listed, asked := k.listed(ctx, p, every)
	seen.Listed, seen.Asked = slices.Sorted(maps.Keys(listed)), asked
	for _, m := range p.Machines {
		if _, known := seen.Servers[m.ID]; m.Phase == pool.Starting && !known && listed[m.Handle].IsValid() {
			if err := k.register(ctx, m.ID, listed[m.Handle]); err != nil {
				k.Log.Warn("server of a machine not registered; it will be retried", "pool", p.Name, "machine", m.ID, "error", err)
			}
		}
	}
	return seen, nil
}

func serverOf(s *server.Server, w pool.Work, spec pool.Terms) pool.Server {
	at := pool.Server{
		ID: s.ID, Answers: s.Health == server.Answers, Classes: s.Digest, Busy: busy(s), Drained: s.Drained,
		Stuck: s.State() == server.Stuck, Used: w.Used, SeenAt: s.RegisteredAt,
	}
	if s.SeenAt != nil {
		at.SeenAt = *s.SeenAt
	}
	full := s.RAMTotal > 0 && spec.Memory > 0 && (s.RAMTotal-s.RAMFree)*100/s.RAMTotal >= int64(spec.Memory)
	at.Worn = full || spec.Prompts > 0 && w.Segments >= int64(spec.Prompts)
	return at
}

func busy(s *server.Server) bool { return len(s.Leases) > 0 || s.Running+s.Pending > 0 }

// register registers the server of a machine that does not do so itself, with the token of the machine.
func (k *Keeper) register(ctx context.Context, machine string, at netip.AddrPort) error {
	all, err := k.Servers.Tokens(ctx)
	own := slices.IndexFunc(all, func(t server.Token) bool { return t.Name == machine && t.Pool != "" })
	if err != nil || own < 0 {
		return err
	}
	r := server.Registration{URL: "http://" + at.String(), Token: &all[own], From: at.Addr(), By: by("the pod of a machine has an address")}
	if err := r.Check(); err != nil {
		return err
	}
	_, err = k.Servers.Register(ctx, r, nil)
	return err
}

// listed returns the machines that exist. known is false if they were not listed now, or could not be.
func (k *Keeper) listed(ctx context.Context, p pool.Pool, every time.Duration) (listed places, known bool) {
	k.mu.Lock()
	if k.lists == nil {
		k.lists = map[string]time.Time{}
	}
	due := time.Since(k.lists[p.Name]) >= every
	if due {
		k.lists[p.Name] = time.Now()
	}
	k.mu.Unlock()
	if !due {
		return nil, false
	}
	listed, err := k.list(ctx, p)
	if err != nil && ctx.Err() == nil {
		k.Log.Warn("machines of a pool not listed; it will be retried", "pool", p.Name, "error", err)
	}
	return listed, err == nil
}

// Start starts a machine, unless an earlier attempt has begun to. A failure is recorded and is no error.
func (k *Keeper) Start(ctx context.Context, name, machine string) error {
	p, err := k.Pools.Pool(ctx, name)
	if err != nil {
		return err
	}
	if m := p.Machine(machine); m == nil || m.Phase != pool.Requested {
		return nil
	}
	secret, prefix := server.NewTokenSecret()
	token := server.Token{
		Name: machine, Prefix: prefix, Hosts: p.Spec.Hosts, Labels: p.Spec.Labels, Price: p.SecondPrice(), Pool: name,
	}
	began := time.Now()
	_, err = k.Servers.AddToken(ctx, token, server.HashToken(secret), by("its machine registers itself with it"))
	switch {
	case fault.CodeOf(err) == fault.CodeTokenExists:
		return k.lost(ctx, name, machine, "its start was interrupted")
	case err != nil:
		return err
	}
	handle, err := k.start(ctx, p, machine, secret)
	ctx = context.WithoutCancel(ctx) // the machine may exist
	if err != nil {
		return k.lost(ctx, name, machine, err.Error())
	}
	k.Log.Info("machine started", "pool", name, "machine", machine, "handle", handle, "duration", time.Since(began))
	return k.Pools.Change(ctx, name, by("its start has ended"), func(pool.Pool) []any {
		return []any{pool.StartedV1{Machine: machine, Handle: handle, Millis: time.Since(began).Milliseconds()}}
	})
}

// lost records that a machine never joins.
func (k *Keeper) lost(ctx context.Context, name, machine, cause string) error {
	k.Log.Warn("machine not started", "pool", name, "machine", machine, "cause", cause)
	return k.Pools.Change(ctx, name, by("its start failed"), func(p pool.Pool) []any {
		if m := p.Machine(machine); m == nil || m.Phase != pool.Requested {
			return nil
		}
		return []any{pool.LostV1{Machine: machine, Cause: cause, Failed: true}}
	})
}

// Stop stops a machine, removes its server and records the end. It does nothing while the machine works.
func (k *Keeper) Stop(ctx context.Context, name, machine string) error {
	p, err := k.Pools.Pool(ctx, name)
	if err != nil {
		return err
	}
	m := p.Machine(machine)
	if m == nil {
		return nil
	}
	work, err := k.work(ctx, name, machine)
	if err != nil {
		return err
	}
	all, err := k.Servers.Servers(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(s *server.Server) bool { return s.ID == work.Server })
	if at >= 0 && m.Phase == pool.Joined && len(all[at].Leases) > 0 {
		return nil
	}
	if err := k.end(ctx, p, *m); err != nil {
		k.Log.Warn("machine not stopped; it will be retried", "pool", name, "machine", machine, "error", err)
		return err
	}
	if at >= 0 {
		if err := k.Servers.Remove(ctx, work.Server, by("its machine was stopped")); err != nil {
			return err
		}
	}
	k.Log.Info("machine stopped", "pool", name, "machine", machine, "cause", m.Cause)
	return k.Pools.Change(ctx, name, by(cmp.Or(m.Cause, "it is not needed")), func(p pool.Pool) []any {
		if p.Machine(machine) == nil {
			return nil
		}
		return []any{pool.StoppedV1{
			Machine: machine, Seconds: int64(time.Since(m.RequestedAt).Seconds()), Work: int64(work.Seconds), Segments: work.Segments,
			Server: m.Server, Price: p.SecondPrice(),
		}}
	})
}

// work returns what the server of a machine has done.
func (k *Keeper) work(ctx context.Context, name, machine string) (pool.Work, error) {
	all, err := k.Pools.Work(ctx, name)
	if at := slices.IndexFunc(all, func(w pool.Work) bool { return w.Machine == machine }); at >= 0 {
		return all[at], err
	}
	return pool.Work{}, err
}

// end ends a machine. One that is not listed any more has ended, whatever its provider says.
func (k *Keeper) end(ctx context.Context, p pool.Pool, m pool.Machine) error {
	handle := m.Handle
	if handle == "" && p.Named() {
		handle = m.ID
	}
	if handle == "" { // its start gave no id: the list shows whether the machine exists
		return nil
	}
	err := k.call(ctx, p, "stop", func(ctx context.Context, by provider) error { return by.stop(ctx, handle) })
	if err != nil {
		listed, unknown := k.list(ctx, p)
		if _, exists := listed[handle]; exists || unknown != nil {
			return fmt.Errorf("machine %s: %w", m.ID, err)
		}
	}
	return nil
}
