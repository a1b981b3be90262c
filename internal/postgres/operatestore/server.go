// Package operatestore answers questions of operators that belong to no single aggregate: about the server, the log as a
// whole, what waits and what has been silent. It promises to change nothing, and that each answer costs a bounded number
// of rows. What the answers mean is left to internal/operate.
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

// Now returns the time of the clock that events are stamped with.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var now time.Time
	err := s.pool.QueryRow(ctx, `select clock_timestamp()`).Scan(&now)
	return now.UTC(), postgres.Classify(err, "ask the database for the time")
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
	return found, postgres.Classify(err, "ask the database")
}

// ReadOnly reports whether the database takes no changes: a standby, or one that its operator has made read-only.
func (s *Store) ReadOnly(ctx context.Context) (readOnly bool, err error) {
	err = s.pool.QueryRow(ctx, `select current_setting('transaction_read_only')::bool`).Scan(&readOnly)
	return readOnly, postgres.Classify(err, "ask the database")
}
