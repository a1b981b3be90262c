//go:build unix

package localstack

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// The back-off of restarts. A server that ran for a while is restarted at once, however often it was killed. A server
// that cannot run is given up after about eleven seconds plus the duration of the attempts.
const (
	firstWait   = 200 * time.Millisecond
	longestWait = 5 * time.Second
	maxFailures = 8

	postgresCheck = 20 * time.Millisecond // interval at which a waiting Temporal checks for PostgreSQL
	healthy       = 2 * time.Second       // a server that exits later counts as having run, which resets the number of failures
)

// server is a running child.
type server interface {
	Done() <-chan struct{}
	Err() error
}

// supervise restarts the started children whenever they exit, until Close.
func (s *Stack) supervise(ctx context.Context) {
	ctx, s.cancel = context.WithCancel(ctx)
	s.group.Go(func() { s.keepRunning(ctx, "PostgreSQL", s.cluster, s.restartPostgres) })
	if s.temporal != nil {
		s.group.Go(func() { s.keepRunning(ctx, "Temporal", s.temporal, s.restartTemporal) })
	}
}

// keepRunning restarts a server whenever it exits, until ctx ends or too many restarts have failed.
func (s *Stack) keepRunning(ctx context.Context, name string, running server, restart func(context.Context) (server, error)) {
	failures, delays := 0, pause.Doubling(firstWait, longestWait)
	for {
		began := time.Now()
		select {
		case <-ctx.Done():
			return
		case <-running.Done():
		}
		err := running.Err()
		if time.Since(began) >= healthy {
			failures = 0
			delays.Reset()
		}
		for again := false; !again; {
			if failures++; failures > maxFailures {
				s.fail(fmt.Errorf("%s does not keep running: %w", name, err))
				return
			}
			s.opts.Log.Warn("server exited; restarting it", "server", name, "error", err, "attempt", failures)
			if failures > 1 && pause.For(ctx, delays.NextBackOff()) != nil { // restart at once the first time
				return
			}
			next, restartErr := restart(ctx)
			if ctx.Err() != nil {
				return
			}
			if err, again = restartErr, restartErr == nil; again {
				running = next
			}
		}
		s.opts.Log.Info("server restarted", "server", name)
	}
}

// restartPostgres cleans up after the dead server and starts a new one in the same directory.
func (s *Stack) restartPostgres(ctx context.Context) (server, error) {
	if err := s.postgres().Stop(ctx); err != nil {
		return nil, err
	}
	if err := s.launchPostgres(ctx); err != nil {
		return nil, err
	}
	return s.postgres(), nil
}

// restartTemporal waits for PostgreSQL first. Without its database, Temporal would fail and use up its restarts.
func (s *Stack) restartTemporal(ctx context.Context) (server, error) {
	if err := s.awaitPostgres(ctx); err != nil {
		return nil, err
	}
	if err := s.launchTemporal(ctx); err != nil {
		return nil, err
	}
	return s.temporal, nil
}

// awaitPostgres returns when the private PostgreSQL should be running. If PostgreSQL is given up, awaitPostgres
// reports it and ends ctx.
func (s *Stack) awaitPostgres(ctx context.Context) error {
	for {
		select {
		case <-s.postgres().Done():
		default:
			return nil
		}
		if pause.For(ctx, postgresCheck) != nil {
			return context.Cause(ctx)
		}
	}
}

func (s *Stack) fail(err error) {
	select {
	case s.failed <- err:
	default: // the first error is enough to end the process
		s.opts.Log.Error("server restart failed too often", "error", err)
	}
}
