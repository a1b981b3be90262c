//go:build linux

// Package load sends jobs, uploads and model calls to a running service and judges their outcomes. A ledger outside of
// the service records what was accepted, and a provider of its own counts its requests. Nothing that was accepted may
// be lost, done twice, or fail because a part of the service was down. The package does not start the service or cause
// faults.
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
	more   []func(prefix string) string
	group  sync.WaitGroup
}

// Wait returns once every client has ended.
func (l *Load) Wait() { l.group.Wait() }

// Start starts four clients that submit jobs, one that uploads, one that calls a model, and those that call the
// deployment. Each pauses between its requests for pace to six times pace. One in ten jobs is of each of more graphs.
func Start(ctx context.Context, c *Client, book *Ledger, seed uint64, pace time.Duration, more ...func(prefix string) string) *Load {
	l := &Load{client: c, ledger: book, more: more}
	works := []func(context.Context, string, *rand.Rand){l.job, l.job, l.job, l.job, l.upload, l.call}
	kinds := []string{"job", "job", "job", "job", "upload", "call"}
	for range c.deployed {
		works, kinds = append(works, l.deployment, l.class), append(kinds, "deployment", "class")
	}
	for i, work := range works {
		random := rand.New(rand.NewPCG(seed, uint64(10+i))) // need not be secret
		l.group.Go(func() {
			for n := i; Pause(ctx, pace+time.Duration(random.Int64N(int64(5*pace)))); n += len(works) {
				work(ctx, fmt.Sprintf("%s-%s-%d", book.Mode, kinds[i], n), random)
			}
		})
	}
	return l
}

// jobWithin bounds how long a client waits for its job before it submits another one.
const jobWithin = 5 * time.Second

// job submits one graph, once. If the submission is not answered, its outcome is unknown, but it must not run twice.
// The client waits a while for the end, so that the machine can keep up with the load.
func (l *Load) job(ctx context.Context, name string, random *rand.Rand) {
	graph := Cheap
	switch n := random.IntN(20); {
	case n < 3:
		graph = Long
	case n < 5:
		graph = painted
	case n < 5+2*len(l.more):
		graph = l.more[(n-5)/2]
	}
	id, accepted := l.client.Submit(ctx, graph(name))
	l.ledger.Add(&Entry{Kind: "jobs", Name: name, ID: id, Accepted: accepted, Cut: ctx.Err() != nil})
	if accepted {
		l.awaitEnd(ctx, id)
	}
}

// awaitEnd waits a while for the end of a job.
func (l *Load) awaitEnd(ctx context.Context, id string) {
	for until := time.Now().Add(jobWithin); time.Now().Before(until) && Pause(ctx, 100*time.Millisecond); {
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
	_, id := l.client.Upload(ctx, name+".bin", content)
	l.ledger.Add(&Entry{Kind: "uploads", Name: name, ID: id, Accepted: id != "", Cut: ctx.Err() != nil, content: content})
}

// callWithin bounds how long a request is repeated under its key.
const callWithin = time.Minute

// call repeats a request under a key until it is answered.
func (l *Load) call(ctx context.Context, name string, _ *rand.Rand) {
	e := &Entry{Kind: "calls", Name: name}
	defer func() {
		e.Cut = ctx.Err() != nil
		l.ledger.Add(e)
	}()
	for until := time.Now().Add(callWithin); time.Now().Before(until); {
		id, again := l.client.Order(ctx, name)
		if e.ID, e.Accepted = id, id != ""; e.Accepted || !again || !Pause(ctx, 200*time.Millisecond) {
			return
		}
	}
}

// Pause waits; it returns false if ctx ended first.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
