//go:build unix

package localstack

import (
	"context"
	"log/slog"
)

// MaxFailures is how many restarts in a row may fail.
const MaxFailures = maxFailures

// Server is what a stack supervises.
type Server = server

// Keep supervises a server until ctx ends or it is given up, and returns the error of the latter.
func Keep(ctx context.Context, running Server, restart func(context.Context) (Server, error)) error {
	s := &Stack{opts: Options{Log: slog.New(slog.DiscardHandler)}, failed: make(chan error, 1)}
	s.keep(ctx, "server", running, restart)
	select {
	case err := <-s.failed:
		return err
	default:
		return nil
	}
}
