package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Serve serves the simulator on a listener until ctx ends.
func Serve(ctx context.Context, l net.Listener, opts Options) error {
	simulator := New(opts)
	defer simulator.Close()
	server := &http.Server{
		Handler: simulator, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(opts.Log.Handler(), slog.LevelDebug),
	}
	stopped := context.AfterFunc(ctx, func() { server.Close() }) //nolint:errcheck // the server has no state
	defer stopped()
	if err := server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("provider simulator: %w", err)
	}
	return nil
}
