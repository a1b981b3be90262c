package service

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/worker/namespace"
)

// Migrate returns the command that migrates a database to this version.
func Migrate(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Migrate the database's schema to this version",
		Long: `Migrate the schema of DATABASE_URL to this version. Every role does so when it
starts; this command is for deployments that migrate in a separate step. A
database that a newer version has migrated is refused.

With TEMPORAL_ADDRESS, the command also prepares the namespace: it registers the
search attributes of workflows, and sets the retention of histories to that of jobs
(MILLRACE_JOB_RETENTION). If it lacks the permission for this, it prints a line with
the remedy and succeeds, because the service works without it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pool, err := s.DirectDatabase(cmd.Context()) // also completes the configuration
			if err != nil {
				return err
			}
			pool.Close()
			applied := 0
			err = postgres.MigrateFor(cmd.Context(), s.Config.SessionURL(), s.Config.DirectURL != "", func(format string, args ...any) {
				applied++
				fmt.Fprintf(s.Out, format+"\n", args...) //nolint:errcheck // progress only
			})
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(s.Out, "the schema is current (%d applied now)\n", applied); err != nil {
				return err
			}
			return prepareNamespace(cmd.Context(), s)
		},
	}
	s.DatabaseFlags(cmd)
	s.TemporalFlags(cmd)
	return cmd
}

// namespaceTimeout bounds the preparation of the namespace, which must not delay the command: its purpose is the
// schema.
const namespaceTimeout = 15 * time.Second

// prepareNamespace prepares the namespace of Temporal if one is configured.
func prepareNamespace(ctx context.Context, s *shell.Shell) error {
	if s.Config.TemporalAddress == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, namespaceTimeout)
	defer cancel()
	var changed []string
	c, err := s.Temporal()
	if err == nil {
		defer c.Close()
		changed, err = namespace.Namespace{Client: c, Name: s.Config.TemporalNamespace, Retention: s.Config.JobRetention}.Prepare(ctx)
	}
	for _, line := range changed {
		if _, err := fmt.Fprintf(s.Out, "namespace %s: %s\n", s.Config.TemporalNamespace, line); err != nil {
			return err
		}
	}
	if err != nil {
		_, err = fmt.Fprintf(s.Err, "namespace %s preparation failed: %s\n", s.Config.TemporalNamespace, operate.ErrorLine(err))
	}
	return err
}
