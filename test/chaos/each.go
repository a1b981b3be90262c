//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/test/load"
)

// killEach kills every part the given number of times while the service runs a single job, and reports how long it
// took until a new job completed and until the interrupted job continued. It measures the cost of a fault alone;
// breakThings measures it under load.
func (r *run) killEach(ctx context.Context, d *deployment, report *report, times int) error {
	for _, p := range d.parts {
		for n := range times {
			if err := r.killOnce(ctx, d, p, report, fmt.Sprintf("%s-%s-%d", d.name, p.name, n)); err != nil {
				return fmt.Errorf("%s: kill %s: %w", d.name, p.name, err)
			}
		}
	}
	return nil
}

// killOnce kills a part in the middle of a job. A fault without recovery is recorded and not returned as an error.
func (r *run) killOnce(ctx context.Context, d *deployment, p part, report *report, prefix string) error {
	interrupted, err := d.untilRunning(ctx, prefix)
	if err != nil {
		return err
	}
	if !load.Pause(ctx, time.Duration(r.random.Int64N(int64(longNode)))) { // at any moment of a node
		return ctx.Err()
	}
	began := time.Now()
	p.killNow()
	goesOn := make(chan error, 1)
	var after time.Duration
	go func() {
		waiting, cancel := context.WithTimeoutCause(ctx, recoverWithin, errors.New("not recovered in time"))
		defer cancel()
		err := d.client.UntilGoesOn(waiting, interrupted)
		after = time.Since(began)
		goesOn <- err
	}()
	queued, err := d.probe(ctx, prefix+"-probe")
	r.note(report, fault{mode: d.name, verb: "kill", part: p.name + ", new job"}, time.Since(began), queued, err)
	err = <-goesOn
	r.note(report, fault{mode: d.name, verb: "kill", part: p.name + ", interrupted job"}, after, 0, err)
	ending, cancel := context.WithTimeoutCause(ctx, settleWithin, errors.New("the interrupted job does not end"))
	defer cancel()
	return d.client.UntilCompleted(ending, interrupted)
}

func (r *run) note(report *report, f fault, took, queued time.Duration, err error) {
	report.recovered(f, took, queued, err)
	r.log.Info("fault", "what", f.String(), "recovered_in", took.Round(10*time.Millisecond), "queued", queued, "error", err)
}

// longNode is the approximate run time of a node of the job to interrupt.
const longNode = time.Second

// untilRunning submits the job to interrupt and returns when it runs.
func (d *deployment) untilRunning(ctx context.Context, prefix string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, recoverWithin, errors.New("the job to interrupt does not run"))
	defer cancel()
	id, err := d.client.SubmitUntilAccepted(ctx, func(n int) string { return load.Long(fmt.Sprintf("%s-%d", prefix, n)) })
	for err == nil && d.client.State(ctx, id) != "in_progress" {
		if !load.Pause(ctx, 20*time.Millisecond) {
			err = context.Cause(ctx)
		}
	}
	return id, err
}
