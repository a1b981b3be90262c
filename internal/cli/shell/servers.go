package shell

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/domain/eventtypes"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/localstack"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/histories"
	"github.com/millrace-dev/millrace/internal/operate/jobs"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/livestore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/worker/dial"
)

// findServers completes the configuration from a running `millrace dev` on the same data directory.
func (s *Shell) findServers() error {
	if s.Config.DatabaseURL != "" && s.Config.TemporalAddress != "" {
		return nil
	}
	raw, err := os.ReadFile(localstack.AddressFile(s.Config.DataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var a localstack.Addresses
	if err := json.Unmarshal(raw, &a); err != nil {
		return fmt.Errorf("%s: %w", localstack.AddressFile(s.Config.DataDir), err)
	}
	s.Config.DatabaseURL = cmp.Or(s.Config.DatabaseURL, a.DatabaseURL)
	if s.Config.TemporalAddress == "" { // a private server has neither TLS nor credentials
		s.Config.TemporalAddress, s.Config.Temporal = a.TemporalAddress, s.Config.Temporal.Private()
	}
	s.Config.Router.Simulator = cmp.Or(s.Config.Router.Simulator, a.Simulator)
	return nil
}

// DatabaseFlags adds the flags of commands that use the database.
func (s *Shell) DatabaseFlags(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVar(&s.Config.DatabaseURL, "database-url", s.Config.DatabaseURL,
		"PostgreSQL to use (DATABASE_URL); default: the database of a running millrace dev")
	f.StringVar(&s.Config.DirectURL, "database-direct-url", s.Config.DirectURL,
		"URL of PostgreSQL itself, if --database-url is that of a pooler (DATABASE_DIRECT_URL)")
	f.StringVar(&s.Config.DataDir, "data", s.Config.DataDir, "data directory of that millrace dev (MILLRACE_DATA)")
}

// Database opens the database of a command.
func (s *Shell) Database(ctx context.Context) (*postgres.Pool, error) {
	return s.open(ctx, true)
}

// DirectDatabase opens the database without going through a pooler.
func (s *Shell) DirectDatabase(ctx context.Context) (*postgres.Pool, error) {
	return s.open(ctx, false)
}

func (s *Shell) open(ctx context.Context, pooled bool) (*postgres.Pool, error) {
	if err := s.findServers(); err != nil {
		return nil, err
	}
	if s.Config.DatabaseURL == "" {
		return nil, fmt.Errorf("no database: set DATABASE_URL, or start `millrace dev` with its data in %s (--data)", s.Config.DataDir)
	}
	if !pooled {
		return postgres.Open(ctx, s.Config.SessionURL(), postgres.PoolOptions{MaxConns: 4})
	}
	return postgres.Open(ctx, s.Config.DatabaseURL, postgres.PoolOptions{MaxConns: 4, Direct: s.Config.DirectURL})
}

// RunningRules returns the settings of the deployment's workers. ok is false without a database or without workers.
func (s *Shell) RunningRules(ctx context.Context) (rules livestore.Rules, ok bool, err error) {
	if err := s.findServers(); err != nil || s.Config.DatabaseURL == "" {
		return rules, false, err
	}
	pool, err := s.Database(ctx)
	if err != nil {
		return rules, false, err
	}
	defer pool.Close()
	return livestore.NewWorkers(pool).Rules(ctx)
}

// EngineFlags adds the flags with the address and the credentials of Temporal.
func (s *Shell) EngineFlags(cmd *cobra.Command) {
	c, f := &s.Config, cmd.Flags()
	f.StringVar(&c.TemporalAddress, "temporal-address", c.TemporalAddress, "Temporal frontend, HOST:PORT (TEMPORAL_ADDRESS)")
	f.StringVar(&c.TemporalNamespace, "temporal-namespace", c.TemporalNamespace, "Temporal namespace (TEMPORAL_NAMESPACE)")
	t := &c.Temporal
	f.BoolVar(&t.TLS, "temporal-tls", t.TLS, "use TLS; the flags below imply it (TEMPORAL_TLS)")
	f.StringVar(&t.CA, "temporal-tls-ca", t.CA, "file of the CAs of Temporal's certificate; default: those of the system "+
		"(TEMPORAL_TLS_SERVER_CA_CERT_PATH)")
	f.StringVar(&t.Cert, "temporal-tls-cert", t.Cert, "file of the client certificate (TEMPORAL_TLS_CLIENT_CERT_PATH)")
	f.StringVar(&t.Key, "temporal-tls-key", t.Key, "file of its key (TEMPORAL_TLS_CLIENT_KEY_PATH)")
	f.StringVar(&t.ServerName, "temporal-tls-server-name", t.ServerName,
		"name in Temporal's certificate; default: the host of the address (TEMPORAL_TLS_SERVER_NAME)")
	f.StringVar(&t.APIKey, "temporal-api-key", t.APIKey, "API key; better in TEMPORAL_API_KEY, where ps does not show it")
	f.StringVar(&t.APIKeyFile, "temporal-api-key-file", t.APIKeyFile, "file of the API key (TEMPORAL_API_KEY_FILE)")
}

// Temporal connects to the Temporal of a command.
func (s *Shell) Temporal() (client.Client, error) {
	if err := s.findServers(); err != nil {
		return nil, err
	}
	if s.Config.TemporalAddress == "" {
		return nil, fmt.Errorf("no Temporal: set TEMPORAL_ADDRESS, or start `millrace dev` with its data in %s (--data)", s.Config.DataDir)
	}
	options, err := app.TemporalOptions(s.Config, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	c, err := client.Dial(options)
	if err != nil {
		return nil, dial.Unreachable(s.Config.TemporalAddress, err)
	}
	return c, nil
}

// Replayer returns a replayer that decrypts the payloads of histories with the configured keys.
func (s *Shell) Replayer() (histories.Replayer, error) {
	log, err := s.Logger()
	if err != nil {
		return histories.Replayer{}, err
	}
	keys, err := app.TemporalKeys(s.Config)
	return histories.NewReplayer(log, keys.Converter()), err
}

// Work is the work of a command on the database.
type Work func(ctx context.Context, pool *postgres.Pool, args []string) error

// OnDatabase calls work with the selected database, and closes the database.
func (s *Shell) OnDatabase(work Work) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		pool, err := s.Database(cmd.Context())
		if err != nil {
			return err
		}
		defer pool.Close()
		return work(cmd.Context(), pool, args)
	}
}

// OnJobs opens the services that commands on jobs need. Intents are delivered by the relays of running processes.
func (s *Shell) OnJobs(ctx context.Context, work func(*jobs.Service) error) error {
	return s.Opened(ctx, func(in *app.Instance) error {
		return work(in.Operations())
	})
}

// Opened calls work with the parts of a process that has no role and runs no jobs.
func (s *Shell) Opened(ctx context.Context, work func(*app.Instance) error) error {
	pool, err := s.Database(ctx) // also finds the servers of a running millrace dev
	if err != nil {
		return err
	}
	pool.Close()
	if _, err := os.Stat(s.Config.DataDir); s.Config.SecretKey == "" && errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(operate.ErrNoDataDir, fault.NotFound, "", "%s is not on this machine: run this where the service runs, or give --data",
			s.Config.DataDir)
	}
	in, err := app.Open(ctx, s.Config, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return err
	}
	defer in.Close()
	return work(in)
}

// EventStore returns the log of a command that records events.
func EventStore(pool *postgres.Pool) (*eventstore.Store, error) {
	types, err := eventtypes.Registry()
	if err != nil {
		return nil, err
	}
	return eventstore.New(pool, types, eventstore.NewCommandWake(pool)), nil
}

// Histories returns a reader of job histories for a machine that may not have the data directory.
func (s *Shell) Histories(pool *postgres.Pool) jobs.Histories {
	return jobs.Histories{Pool: pool, Blobs: func(ctx context.Context) (blob.Store, error) { return app.ExistingBlobs(ctx, s.Config, pool) }}
}
