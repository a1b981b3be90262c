package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/sim"
)

// Simulate serves the simulator on a listener until ctx ends.
func Simulate(ctx context.Context, l net.Listener, opts sim.Options) error {
	simulator := sim.New(opts)
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

// withSimulator starts a simulator for local mode, on a loopback port of its own, unless the configuration names one.
// run serves it.
func withSimulator(cfg *config.Config, log *slog.Logger) (run func(context.Context) error, err error) {
	if cfg.Router.Simulator != "" {
		return func(context.Context) error { return nil }, nil
	}
	listener, err := Listen("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	cfg.Router.Simulator = "http://" + listener.Addr().String()
	return func(ctx context.Context) error {
		return Simulate(ctx, listener, sim.Options{Log: log})
	}, nil
}
