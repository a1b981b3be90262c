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

// Work is what a PostgreSQL has done since its statistics were reset.
type Work struct {
	Transactions int64 // in this database, rolled back or committed
	LogBytes     int64 // written to the write-ahead log, for all databases
	LogSyncs     int64 // of the write-ahead log, for all databases
}

// ioStatistics is the first version in which syncs of the log are counted with all others.
const ioStatistics = 180000

// Work returns the work of the PostgreSQL that answers.
func (s *Store) Work(ctx context.Context) (Work, error) {
	found, err := s.Server(ctx)
	if err != nil {
		return Work{}, err
	}
	syncs := `select wal_sync from pg_stat_wal`
	if found.Number >= ioStatistics {
		syncs = `select coalesce(sum(fsyncs), 0)::bigint from pg_stat_io where object = 'wal'`
	}
	var done Work
	err = s.pool.QueryRow(ctx, `select (select xact_commit + xact_rollback from pg_stat_database where datname = current_database()),
		(select wal_bytes::bigint from pg_stat_wal), (`+syncs+`)`).Scan(&done.Transactions, &done.LogBytes, &done.LogSyncs)
	return done, postgres.Classify(err, "read the statistics of the database")
}

// ReadOnly reports whether the database refuses changes: it is a standby, or its operator has made it read-only.
func (s *Store) ReadOnly(ctx context.Context) (readOnly bool, err error) {
	err = s.pool.QueryRow(ctx, `select current_setting('transaction_read_only')::bool`).Scan(&readOnly)
	return readOnly, postgres.Classify(err, "read the state of the server")
}
