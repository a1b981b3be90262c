package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// service is what the SDK runs: a worker that starts and stops.
type service interface {
	Start() error
	Stop()
}

// services are workers that start and stop together.
type services []service

// Start implements service.
func (s services) Start() error {
	for i, w := range s {
		if err := w.Start(); err != nil {
			s[:i].Stop()
			return err
		}
	}
	return nil
}

// Stop implements service.
func (s services) Stop() {
	var group sync.WaitGroup
	for _, w := range s {
		group.Go(w.Stop)
	}
	group.Wait()
}

// run starts a worker and stops it when ctx ends. A worker of the SDK starts only once, so build makes another one if
// Temporal did not answer. stopping, if not nil, is called after ctx has ended, before the worker stops.
func run(ctx context.Context, what string, build func() service, stopping func()) error {
	var inner service
	err := retryUntilAnswered(ctx, func() error {
		inner = build()
		return inner.Start()
	})
	if ctx.Err() != nil && err != nil {
		return nil //nolint:nilerr // stopped before Temporal answered
	}
	if err != nil {
		return fmt.Errorf("start the worker for %s: %w", what, err)
	}
	<-ctx.Done()
	if stopping != nil {
		stopping()
	}
	inner.Stop()
	return nil
}

// retryUntilAnswered repeats a request to Temporal or the database until it answers or ctx ends: a process that starts
// while one of them is down waits for it. It returns a refusal.
func retryUntilAnswered(ctx context.Context, ask func() error) error {
	for delays := pause.Doubling(200*time.Millisecond, 5*time.Second); ; {
		err := ask()
		if !isUnanswered(err) || pause.For(ctx, delays.NextBackOff()) != nil {
			return err
		}
	}
}

// isUnanswered reports whether an error is of a server that is down, starting or overloaded.
func isUnanswered(err error) bool {
	var unavailable *serviceerror.Unavailable
	var late *serviceerror.DeadlineExceeded
	var busy *serviceerror.ResourceExhausted
	return errors.As(err, &unavailable) || errors.As(err, &late) || errors.As(err, &busy) || fault.Is(err, fault.Unavailable)
}
