//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/millrace-dev/millrace/test/load"
)

// fault is one way to break one part.
type fault struct {
	mode, verb, part string
}

func (f fault) String() string { return f.mode + ": " + f.verb + " " + f.part }

const (
	// longestStop bounds the time for which a part is stopped, unless -stop sets it. It is longer than the heartbeat timeout of
	// an activity.
	longestStop = 14 * time.Second
	// longestPause bounds the time between a recovery and the next fault, unless -pause sets it.
	longestPause = 3 * time.Second
	// recoverWithin bounds the time until the service runs a new job after a fault.
	recoverWithin = 2 * time.Minute
)

// breakThings breaks one part after the other, for a time or for a number of faults, and waits for the recovery each time. Until each
// trouble has happened once, every second fault is a trouble, so that a short run has both kills and troubles.
func (r *run) breakThings(ctx context.Context, d *deployment, report *report, until time.Time) {
	for n := 0; ctx.Err() == nil; n++ {
		if r.kills > 0 && n == r.kills || r.kills == 0 && time.Now().After(until) {
			return
		}
		if !load.Pause(ctx, time.Duration(r.random.Int64N(int64(r.pause)))) {
			return
		}
		prefix := fmt.Sprintf("%s-probe-%d", d.name, n)
		f, err := r.breakOne(ctx, d, n, prefix)
		if err != nil {
			report.check(f.String(), err)
		}
		ended := time.Now()
		queued, err := d.probe(ctx, prefix)
		took := time.Since(ended)
		if ctx.Err() != nil {
			return
		}
		r.note(report, f, took, queued, err)
	}
}

// breakOne breaks one part. It returns when the part has been killed, continues after a stop, or is out of trouble.
func (r *run) breakOne(ctx context.Context, d *deployment, n int, prefix string) (fault, error) {
	among := r.random.IntN(len(d.troubles) + len(d.parts))
	switch next := n / 2; {
	case r.kills > 0:
		among = len(d.troubles) + r.random.IntN(len(d.parts))
	case next >= len(d.troubles):
	case n%2 == 1:
		among = next
	default:
		among = len(d.troubles) + r.random.IntN(len(d.parts))
	}
	lasts := time.Second + time.Duration(r.random.Int64N(int64(r.stop-time.Second)))
	if among < len(d.troubles) {
		trouble := d.troubles[among]
		return fault{mode: d.name, verb: "trouble", part: trouble.name}, trouble.last(ctx, d, lasts, prefix+"-meanwhile")
	}
	p := d.parts[among-len(d.troubles)]
	if r.kills == 0 && r.random.IntN(3) == 0 {
		stopFor(ctx, p, lasts)
		return fault{mode: d.name, verb: "stop", part: p.name}, nil
	}
	p.killNow()
	return fault{mode: d.name, verb: "kill", part: p.name}, nil
}

// killNow kills the part. Its supervisor restarts it.
func (p part) killNow() {
	if p.kill != nil {
		p.kill()
		return
	}
	signalAll(p.pids(), syscall.SIGKILL)
}

// stopFor stops the part and its descendants for a while.
func stopFor(ctx context.Context, p part, d time.Duration) {
	pids := withDescendants(p.pids())
	signalAll(pids, syscall.SIGSTOP)
	load.Pause(ctx, d)
	signalAll(pids, syscall.SIGCONT)
}

// probe submits a small job until one is accepted, and waits until it has completed. It returns how long the job was
// queued.
func (d *deployment) probe(ctx context.Context, prefix string) (queued time.Duration, err error) {
	return d.probeWith(ctx, load.Cheap, prefix)
}

// probeWith is probe with a graph.
func (d *deployment) probeWith(ctx context.Context, graph func(prefix string) string, prefix string) (queued time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, recoverWithin, errors.New("not recovered in time"))
	defer cancel()
	id, err := d.client.SubmitUntilAccepted(ctx, func(n int) string { return graph(fmt.Sprintf("%s-%d", prefix, n)) })
	if err != nil {
		return 0, err
	}
	slow := time.AfterFunc(slowRecovery, func() { d.explain(ctx, id) })
	err = d.client.UntilCompleted(ctx, id)
	if !slow.Stop() {
		d.explain(ctx, id)
	}
	return d.client.Queued(ctx, id), err
}
