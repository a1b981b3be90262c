//go:build linux

// Package load puts jobs, uploads and model calls on a running service and judges what became of each. A ledger outside of
// the service notes what was accepted, and a provider of its own counts what it was asked for: nothing that was accepted may
// be lost, done twice, or failed because a part of the service was away. It starts and breaks nothing.
package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Load is clients that use the service until their context ends.
type Load struct {
	client *Client
	ledger *Ledger
	group  sync.WaitGroup
}

// Wait returns once every client has ended.
func (l *Load) Wait() { l.group.Wait() }

// Start starts four clients that submit jobs, one that uploads and one that calls a model. Each pauses between its requests
// for pace to six times pace.
func Start(ctx context.Context, c *Client, book *Ledger, seed uint64, pace time.Duration) *Load {
	l := &Load{client: c, ledger: book}
	works := []func(context.Context, string, *rand.Rand){l.job, l.job, l.job, l.job, l.upload, l.call}
	kinds := []string{"job", "job", "job", "job", "upload", "call"}
	for i, work := range works {
		random := rand.New(rand.NewPCG(seed, uint64(10+i))) // no secret
		l.group.Go(func() {
			for n := i; Pause(ctx, pace+time.Duration(random.Int64N(int64(5*pace)))); n += len(works) {
				work(ctx, fmt.Sprintf("%s-%s-%d", book.Mode, kinds[i], n), random)
			}
		})
	}
	return l
}

// jobWithin is how long a client waits for its job before it submits another one.
const jobWithin = 5 * time.Second

// job submits one graph, once: what became of one that was not answered is not known, but it must not run twice. It
// waits a while for the end, so that the load stays what the machine can do.
func (l *Load) job(ctx context.Context, name string, random *rand.Rand) {
	graph := Cheap
	switch n := random.IntN(20); {
	case n < 3:
		graph = Long
	case n < 5:
		graph = painted
	}
	id, accepted := l.client.Submit(ctx, graph(name))
	l.ledger.Add(&Entry{Kind: "jobs", Name: name, ID: id, Accepted: accepted, Cut: ctx.Err() != nil})
	for until := time.Now().Add(jobWithin); accepted && time.Now().Before(until) && Pause(ctx, 100*time.Millisecond); {
		if state := l.client.State(ctx, id); state == "completed" || state == "failed" {
			return
		}
	}
}

func (l *Load) upload(ctx context.Context, name string, random *rand.Rand) {
	content := make([]byte, 1+random.IntN(200_000))
	for i := range content {
		content[i] = byte(random.Uint32())
	}
	id, accepted := l.client.upload(ctx, name+".bin", content)
	l.ledger.Add(&Entry{Kind: "uploads", Name: name, ID: id, Accepted: accepted, Cut: ctx.Err() != nil, content: content})
}

// callWithin is how long a request is sent again under its key.
const callWithin = time.Minute

// call sends a request under a key until it is answered.
func (l *Load) call(ctx context.Context, name string, _ *rand.Rand) {
	e := &Entry{Kind: "calls", Name: name}
	defer func() {
		e.Cut = ctx.Err() != nil
		l.ledger.Add(e)
	}()
	for until := time.Now().Add(callWithin); time.Now().Before(until); {
		id, again := l.client.order(ctx, name)
		if e.ID, e.Accepted = id, id != ""; e.Accepted || !again || !Pause(ctx, 200*time.Millisecond) {
			return
		}
	}
}

// Pause waits; it returns false if ctx ended first.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
