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

// Migrate returns the command that brings a database to this version.
func Migrate(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's schema to this version",
		Long: `Bring the schema of DATABASE_URL to this version. Every role does so when it
starts; this command is for deployments that migrate in a step of their own. A
database that a newer version has migrated is refused.

With TEMPORAL_ADDRESS it also prepares the namespace: it registers the search
attributes by which workflows are found, and has histories kept as long as jobs
(MILLRACE_JOB_RETENTION). What it may not do there is a line with the remedy, and no
failure: the service works without.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pool, err := s.DirectDatabase(cmd.Context()) // which completes the configuration
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
	s.EngineFlags(cmd)
	return cmd
}

// namespaceTimeout bounds the preparation of the namespace: the schema is what the command is for.
const namespaceTimeout = 15 * time.Second

// prepareNamespace prepares the namespace of Temporal, where one is configured.
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
		_, err = fmt.Fprintf(s.Err, "namespace %s is not prepared: %s\n", s.Config.TemporalNamespace, operate.ErrorLine(err))
	}
	return err
}
