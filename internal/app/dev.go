package app

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/localstack"
)

func (s *shell) devCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Start everything on this machine and serve",
		Long: `Start a private PostgreSQL, a private Temporal server with its Web UI, and all
roles of Millrace in this process. Everything is kept under --data and survives a
crash of any part; Ctrl-C stops all of it.

DATABASE_URL and TEMPORAL_ADDRESS replace the private servers.`,
		Example: `  millrace dev
  millrace dev --addr 127.0.0.1:9000 --data ./data
  MILLRACE_TOKEN=secret millrace dev --auth token --addr 0.0.0.0:8188`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := s.logger()
			if err != nil {
				return err
			}
			if v, ok := s.lookup("MILLRACE_STOP_AFTER"); !ok || v == "" {
				s.cfg.StopAfter = devStopAfter
			}
			return dev(cmd.Context(), s.cfg, log, s.out)
		},
	}
	s.serverFlags(cmd)
	return cmd
}

// devStopAfter is how long local mode waits for what runs when it is stopped and nothing else is set: somebody
// sits before it, and what is cut off goes on at the next start.
const devStopAfter = 2 * time.Second

// dev runs the private servers and all roles until ctx ends or something fails for good.
func dev(ctx context.Context, cfg config.Config, log *slog.Logger, out io.Writer) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	if err := checkEditor(cfg); err != nil { // before the servers are started for nothing
		return err
	}
	probe, err := listen(cfg.Addr) // before the servers are started for nothing
	if err != nil {
		return err
	}
	if err := probe.Close(); err != nil {
		return err
	}
	stack, err := localstack.Start(ctx, localstack.Options{
		DataDir: cfg.DataDir, DatabaseURL: cfg.DatabaseURL, TemporalAddress: cfg.TemporalAddress,
		Namespace: cfg.TemporalNamespace, Log: log,
	})
	if err != nil {
		return err
	}
	defer stack.Close(context.WithoutCancel(ctx))
	cfg.DatabaseURL, cfg.TemporalAddress = stack.DatabaseURL, stack.TemporalAddress
	simulator, err := withSimulator(&cfg, log)
	if err != nil {
		return err
	}
	leave, err := leaveAddresses(cfg)
	if err != nil {
		return err
	}
	defer leave()
	asked := ctx
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return simulator(ctx) })
	group.Go(func() error {
		select {
		case err := <-stack.Failed():
			return err
		case <-ctx.Done():
			return nil
		}
	})
	group.Go(func() error {
		return serve(ctx, cfg, allRoles, log, func(base string) { banner(out, cfg, base, stack.UIURL) })
	})
	return stopped(asked, group.Wait(), log)
}

// banner tells a new user where everything is, with a request to paste.
func banner(out io.Writer, cfg config.Config, base, ui string) {
	credential := ""
	switch cfg.Auth {
	case "none":
	default:
		credential = ` -H "X-API-Key: $KEY"`
	}
	page := ""
	if cfg.Editor != "" {
		page = "  Editor       " + base + "/\n"
	}
	_, _ = fmt.Fprintf(out, `
Millrace is ready.

  API          %[1]s
%[5]s  Temporal UI  %[2]s
  Data         %[3]s

Try it:

  curl -s%[4]s %[1]s/api/prompt -H 'Content-Type: application/json' -d '{"prompt":{
    "1":{"class_type":"EmptyImage","inputs":{"width":512,"height":512,"batch_size":1,"color":3368601}},
    "2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"hello"}}}}'

A partner model, simulated (millrace models lists all):

  curl -s%[4]s %[1]s/v2/models/sim/echo -H 'Content-Type: application/json' -d '{"prompt":"hello"}'

Ctrl-C stops everything; nothing accepted is lost.
`, base, cmp.Or(ui, "-"), cfg.DataDir, credential, page) // a closed terminal is no reason to stop
}
