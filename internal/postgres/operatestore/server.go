// Package operatestore reads data for operators that belongs to no single aggregate: about the server, the whole log,
// waiting work and silent jobs. It promises to change nothing, and that each answer reads a bounded number of rows.
// Package internal/operate interprets the answers.
package operatestore

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/postgres"
)

// Store reads the database of a deployment.
type Store struct{ pool *postgres.Pool }

// New returns the store in pool's database.
func New(pool *postgres.Pool) *Store { return &Store{pool: pool} }

// Now returns the time of the clock that stamps events.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var now time.Time
	err := s.pool.QueryRow(ctx, `select clock_timestamp()`).Scan(&now)
	return now.UTC(), postgres.Classify(err, "read the time of the database")
}

// Server describes a PostgreSQL.
type Server struct {
	Version        string
	Number         int // of the version: 150018 is 15.18
	Connections    int // of clients, now
	MaxConnections int
}

// Server describes the PostgreSQL that answers.
func (s *Store) Server(ctx context.Context) (Server, error) {
	var found Server
	err := s.pool.QueryRow(ctx, `select current_setting('server_version'), current_setting('server_version_num')::int,
		(select count(*) from pg_stat_activity where backend_type = 'client backend'), current_setting('max_connections')::int`).
		Scan(&found.Version, &found.Number, &found.Connections, &found.MaxConnections)
	return found, postgres.Classify(err, "read the state of the server")
}

// ReadOnly reports whether the database refuses changes: it is a standby, or its operator has made it read-only.
func (s *Store) ReadOnly(ctx context.Context) (readOnly bool, err error) {
	err = s.pool.QueryRow(ctx, `select current_setting('transaction_read_only')::bool`).Scan(&readOnly)
	return readOnly, postgres.Classify(err, "read the state of the server")
}
