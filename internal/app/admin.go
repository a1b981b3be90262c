package app

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/postgres"
)

// errNoDatabase is what commands on a database say without one.
var errNoDatabase = errors.New("which database? set DATABASE_URL or --database-url; `millrace dev` prints that of its private one with --log debug")

func (s *shell) migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's schema to this version",
		Long: `Bring the schema of DATABASE_URL to this version. Every role does so when it
starts; this command is for deployments that migrate in a step of their own. A
database that a newer version has migrated is refused.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.cfg.DatabaseURL == "" {
				return errNoDatabase
			}
			applied := 0
			err := postgres.Migrate(cmd.Context(), s.cfg.DatabaseURL, func(format string, args ...any) {
				applied++
				fmt.Fprintf(s.out, format+"\n", args...) //nolint:errcheck // progress only
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.out, "the schema is current (%d applied now)\n", applied)
			return err
		},
	}
	cmd.Flags().StringVar(&s.cfg.DatabaseURL, "database-url", s.cfg.DatabaseURL, "PostgreSQL to use (DATABASE_URL)")
	return cmd
}
