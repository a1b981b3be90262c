package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// addresses is what a running `millrace dev` leaves in its data directory, so that other commands
// find its private servers.
type addresses struct {
	DatabaseURL     string `json:"database_url"`
	TemporalAddress string `json:"temporal_address"`
	Simulator       string `json:"simulator,omitempty"` // of providers: its models are node classes, too
}

func addressFile(dir string) string { return filepath.Join(dir, "addresses.json") }

// leaveAddresses writes the file for its owner only; the returned function takes it away.
func leaveAddresses(cfg config.Config) (func(), error) {
	raw, err := json.Marshal(addresses{cfg.DatabaseURL, cfg.TemporalAddress, cfg.Router.Simulator})
	if err != nil {
		return nil, err
	}
	file := addressFile(cfg.DataDir)
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	return func() { os.Remove(file) }, nil //nolint:errcheck // a stale file only names servers that do not answer
}

// findServers completes the configuration from a running `millrace dev` on the same data directory.
func (s *shell) findServers() error {
	if s.cfg.DatabaseURL != "" && s.cfg.TemporalAddress != "" {
		return nil
	}
	raw, err := os.ReadFile(addressFile(s.cfg.DataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var a addresses
	if err := json.Unmarshal(raw, &a); err != nil {
		return fmt.Errorf("%s: %w", addressFile(s.cfg.DataDir), err)
	}
	if s.cfg.DatabaseURL == "" {
		s.cfg.DatabaseURL = a.DatabaseURL
	}
	if s.cfg.TemporalAddress == "" {
		s.cfg.TemporalAddress = a.TemporalAddress
	}
	if s.cfg.Router.Simulator == "" {
		s.cfg.Router.Simulator = a.Simulator
	}
	return nil
}

// databaseFlags are those of commands that work on the database.
func (s *shell) databaseFlags(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVar(&s.cfg.DatabaseURL, "database-url", s.cfg.DatabaseURL, "PostgreSQL to use (DATABASE_URL); default: that of a running millrace dev")
	f.StringVar(&s.cfg.DataDir, "data", s.cfg.DataDir, "data directory of that millrace dev (MILLRACE_DATA)")
}

// database opens the database that a command works on.
func (s *shell) database(ctx context.Context) (*pgxpool.Pool, error) {
	if err := s.findServers(); err != nil {
		return nil, err
	}
	if s.cfg.DatabaseURL == "" {
		return nil, fmt.Errorf("no database: set DATABASE_URL, or start `millrace dev` with its data in %s (--data)", s.cfg.DataDir)
	}
	return postgres.Open(ctx, s.cfg.DatabaseURL, postgres.PoolOptions{MaxConns: 4})
}

func (s *shell) migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's schema to this version",
		Long: `Bring the schema of DATABASE_URL to this version. Every role does so when it
starts; this command is for deployments that migrate in a step of their own. A
database that a newer version has migrated is refused.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pool, err := s.database(cmd.Context())
			if err != nil {
				return err
			}
			pool.Close()
			applied := 0
			err = postgres.Migrate(cmd.Context(), s.cfg.DatabaseURL, func(format string, args ...any) {
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
	s.databaseFlags(cmd)
	return cmd
}
