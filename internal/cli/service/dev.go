package service

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/cli/shell"
)

// Dev returns the command that starts everything on this machine.
func Dev(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Start everything on this machine and serve",
		Long: `Start a private PostgreSQL, a private Temporal server with its Web UI, and all
roles of Millrace in this process. All data is stored under --data and survives a
crash of any part; Ctrl-C stops everything.

Temporal's Web UI is served to this machine only. It shows the workflows of all accounts
and, by default, cannot change them; with --auth it requires the admin token, or the token
of --auth token.

Only warnings and errors are logged; --log info shows all that happens.

DATABASE_URL and TEMPORAL_ADDRESS replace the private servers.`,
		Example: `  millrace dev
  millrace dev --addr 127.0.0.1:9000 --data ./data
  MILLRACE_TOKEN=secret millrace dev --auth token --addr 0.0.0.0:8188`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			quiet(s, cmd)
			log, err := s.Logger()
			if err != nil {
				return err
			}
			if v, ok := s.Lookup("MILLRACE_STOP_AFTER"); !ok || v == "" {
				s.Config.StopAfter = devStopAfter
			}
			tuneMemory()
			go releaseAtRest(cmd.Context())
			return app.Dev(cmd.Context(), s.Config, log, func(at app.Addresses) { Banner(s.Out, s.Config, at) })
		},
	}
	cmd.Flags().BoolVar(&s.Config.UIWrites, "temporal-ui-writes", s.Config.UIWrites,
		"let Temporal's Web UI terminate, signal and reset workflows; by default it only shows them")
	cmd.Flags().StringVar(&s.Config.UIAddr, "temporal-ui-addr", s.Config.UIAddr,
		"address of Temporal's Web UI on this machine, HOST:PORT; default: 127.0.0.1:8233, or another port if that is taken")
	serverFlags(s, cmd)
	return cmd
}

// quiet makes warnings and errors the only log lines of local mode, whose banner is for people, unless a level is chosen.
func quiet(s *shell.Shell, cmd *cobra.Command) {
	if v, ok := s.Lookup("MILLRACE_LOG"); (!ok || v == "") && !cmd.Flags().Changed("log") {
		s.Config.Logs = "warn"
	}
}

// devStopAfter is the default time that local mode waits for running jobs when it is stopped. It is short, because a
// person waits for it, and interrupted jobs continue at the next start.
const devStopAfter = 2 * time.Second
