package main

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/bench/harness"
)

// watching selects the recordings of a burst besides its times.
type watching struct {
	profile    string // file of a CPU profile of the service; "" = none
	statements int    // number of statements to print
	inner      string // internal address of the service
}

func (w *watching) start(ctx context.Context) (*harness.Service, error) {
	if w.statements > 0 {
		return harness.StartCounted(ctx, false)
	}
	return harness.Start(ctx)
}

// env returns the settings of the service that the recording needs.
func (w *watching) env() (env []string, err error) {
	if w.profile == "" {
		return nil, nil
	}
	w.inner, err = harness.FreeAddress()
	return []string{"MILLRACE_INTERNAL_ADDR=" + w.inner}, err
}

// profiled is the length of a profile in seconds: shorter than a burst of 5,000 jobs.
const profiled = 6

// during makes the recordings while run does some units of work.
func (w *watching) during(ctx context.Context, s *harness.Service, units int, run func() error) (err error) {
	var meter *harness.Meter
	if w.statements > 0 {
		if meter, err = harness.NewMeter(ctx, s); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, meter.Close(ctx)) }()
		if err := meter.ForgetStatements(ctx); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(run)
	if w.profile != "" {
		group.Go(func() error { return harness.Profile(ctx, w.inner, profiled, w.profile) })
	}
	if err := group.Wait(); err != nil || meter == nil {
		return err
	}
	return meter.PrintStatements(context.WithoutCancel(ctx), os.Stdout, units, w.statements)
}
