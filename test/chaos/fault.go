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
	// longestStop bounds the time for which a part is stopped. It is longer than the heartbeat timeout of an
	// activity.
	longestStop = 14 * time.Second
	// longestPause bounds the time between a recovery and the next fault.
	longestPause = 3 * time.Second
	// recoverWithin bounds the time until the service runs a new job after a fault.
	recoverWithin = 2 * time.Minute
)

// breakThings breaks one part after the other until a time, and waits for the recovery each time.
func (r *run) breakThings(ctx context.Context, d *deployment, report *report, until time.Time) {
	for n := 0; time.Now().Before(until) && ctx.Err() == nil; n++ {
		if !load.Pause(ctx, time.Duration(r.random.Int64N(int64(longestPause)))) {
			return
		}
		p := d.parts[r.random.IntN(len(d.parts))]
		f := fault{mode: d.name, verb: "kill", part: p.name}
		if r.random.IntN(3) == 0 {
			f.verb = "stop"
			stands := time.Second + time.Duration(r.random.Int64N(int64(longestStop-time.Second)))
			stopFor(ctx, p, stands)
		} else {
			p.killNow()
		}
		ended := time.Now()
		queued, err := d.probe(ctx, fmt.Sprintf("%s-probe-%d", d.name, n))
		took := time.Since(ended)
		if ctx.Err() != nil {
			return
		}
		r.note(report, f, took, queued, err)
	}
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
	ctx, cancel := context.WithTimeoutCause(ctx, recoverWithin, errors.New("not recovered in time"))
	defer cancel()
	id, err := d.client.SubmitUntilAccepted(ctx, func(n int) string { return load.Cheap(fmt.Sprintf("%s-%d", prefix, n)) })
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
