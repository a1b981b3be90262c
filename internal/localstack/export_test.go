//go:build unix

package localstack

import (
	"context"
	"log/slog"
)

// MaxFailures is the number of consecutive restarts that may fail.
const MaxFailures = maxFailures

// Server is a server that a stack supervises.
type Server = server

// Keep supervises a server until ctx ends or the server is given up, and returns the error of the latter case.
func Keep(ctx context.Context, running Server, restart func(context.Context) (Server, error)) error {
	s := &Stack{opts: Options{Log: slog.New(slog.DiscardHandler)}, failed: make(chan error, 1)}
	s.keepRunning(ctx, "server", running, restart)
	select {
	case err := <-s.failed:
		return err
	default:
		return nil
	}
}
