//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// load is clients that use the service until their context ends.
type load struct {
	client *client
	ledger *ledger
	group  sync.WaitGroup
}

func (l *load) Wait() { l.group.Wait() }

// startLoad starts four clients that submit jobs, one that uploads and one that calls a model.
func startLoad(ctx context.Context, c *client, book *ledger, seed uint64) *load {
	l := &load{client: c, ledger: book}
	works := []func(context.Context, string, *rand.Rand){l.job, l.job, l.job, l.job, l.upload, l.call}
	kinds := []string{"job", "job", "job", "job", "upload", "call"}
	for i, work := range works {
		random := rand.New(rand.NewPCG(seed, uint64(10+i))) // no secret
		l.group.Go(func() {
			for n := i; pause(ctx, 50*time.Millisecond+time.Duration(random.Int64N(int64(250*time.Millisecond)))); n += len(works) {
				work(ctx, fmt.Sprintf("%s-%s-%d", book.mode, kinds[i], n), random)
			}
		})
	}
	return l
}

// jobWithin is how long a client waits for its job before it submits another one.
const jobWithin = 5 * time.Second

// job submits one graph, once: what became of one that was not answered is not known, but it must not run twice. It
// waits a while for the end, so that the load stays what the machine can do.
func (l *load) job(ctx context.Context, name string, random *rand.Rand) {
	graph := cheap
	switch n := random.IntN(20); {
	case n < 3:
		graph = long
	case n < 5:
		graph = painted
	}
	id, accepted := l.client.submit(ctx, graph(name))
	l.ledger.add(&entry{kind: "jobs", name: name, id: id, accepted: accepted})
	for until := time.Now().Add(jobWithin); accepted && time.Now().Before(until) && pause(ctx, 100*time.Millisecond); {
		if state := l.client.state(ctx, id); state == "completed" || state == "failed" {
			return
		}
	}
}

func (l *load) upload(ctx context.Context, name string, random *rand.Rand) {
	content := make([]byte, 1+random.IntN(200_000))
	for i := range content {
		content[i] = byte(random.Uint32())
	}
	id, accepted := l.client.upload(ctx, name+".bin", content)
	l.ledger.add(&entry{kind: "uploads", name: name, id: id, accepted: accepted, content: content})
}

// callWithin is how long a request is sent again under its key.
const callWithin = time.Minute

// call sends a request under a key until it is answered.
func (l *load) call(ctx context.Context, name string, _ *rand.Rand) {
	e := &entry{kind: "calls", name: name}
	defer l.ledger.add(e)
	for until := time.Now().Add(callWithin); time.Now().Before(until); {
		id, again := l.client.order(ctx, name)
		if e.id, e.accepted = id, id != ""; e.accepted || !again || !pause(ctx, 200*time.Millisecond) {
			return
		}
	}
}
