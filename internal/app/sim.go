package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/sim"
)

func (s *shell) simCommand() *cobra.Command {
	addr, delay := "127.0.0.1:8190", 300*time.Millisecond
	cmd := &cobra.Command{
		Use: "sim", Short: "Simulate the partner providers, in their wire formats", Args: cobra.NoArgs,
		Long: `Serve a simulator of the partner providers of the model catalog. It needs no key, costs
nothing and answers in the providers' own formats. A word in the caller's text picks what goes
wrong: [sim:policy], [sim:invalid], [sim:error], [sim:busy], [sim:drop], [sim:broken], [sim:hang],
[sim:delay=2s] and more (docs/recipes/model.md). GET /charges tells what it would have charged.`,
		Example: `  millrace sim
  MILLRACE_SIMULATOR=http://127.0.0.1:8190 millrace serve
  BFL_API_KEY=any MILLRACE_PROVIDER_URLS=bfl=http://127.0.0.1:8190/bfl millrace dev`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := s.logger()
			if err != nil {
				return err
			}
			listener, err := listen(addr)
			if err != nil {
				return err
			}
			base := "http://" + listener.Addr().String()
			if _, err := fmt.Fprintf(s.out, "Provider simulator at %s (%s)\n", base, strings.Join(sim.Providers(), ", ")); err != nil {
				return errors.Join(err, listener.Close())
			}
			return simulate(cmd.Context(), listener, sim.Options{Delay: delay, Log: log})
		},
	}
	cmd.Flags().StringVar(&addr, "addr", addr, "listen address")
	cmd.Flags().DurationVar(&delay, "delay", delay, "how long a generation takes that asks for no other delay")
	return cmd
}

// simulate serves the simulator on a listener until ctx ends.
func simulate(ctx context.Context, l net.Listener, opts sim.Options) error {
	simulator := sim.New(opts)
	defer simulator.Close()
	server := &http.Server{Handler: simulator, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(opts.Log.Handler(), slog.LevelDebug)}
	stopped := context.AfterFunc(ctx, func() { server.Close() }) //nolint:errcheck // nothing of it is kept
	defer stopped()
	if err := server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("provider simulator: %w", err)
	}
	return nil
}

// withSimulator starts a simulator for local mode, on a loopback port of its own, unless the
// configuration names one; run serves it.
func withSimulator(cfg *config.Config, log *slog.Logger) (run func(context.Context) error, err error) {
	if cfg.Router.Simulator != "" {
		return func(context.Context) error { return nil }, nil
	}
	listener, err := listen("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	cfg.Router.Simulator = "http://" + listener.Addr().String()
	return func(ctx context.Context) error {
		return simulate(ctx, listener, sim.Options{Log: log})
	}, nil
}
