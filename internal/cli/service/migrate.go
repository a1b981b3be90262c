package service

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Migrate returns the command that brings a database to this version.
func Migrate(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's schema to this version",
		Long: `Bring the schema of DATABASE_URL to this version. Every role does so when it
starts; this command is for deployments that migrate in a step of their own. A
database that a newer version has migrated is refused.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pool, err := s.Database(cmd.Context())
			if err != nil {
				return err
			}
			pool.Close()
			applied := 0
			err = postgres.Migrate(cmd.Context(), s.Config.DatabaseURL, func(format string, args ...any) {
				applied++
				fmt.Fprintf(s.Out, format+"\n", args...) //nolint:errcheck // progress only
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.Out, "the schema is current (%d applied now)\n", applied)
			return err
		},
	}
	s.DatabaseFlags(cmd)
	return cmd
}
