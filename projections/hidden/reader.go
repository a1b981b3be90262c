package hidden

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/hidden"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Reader reads the hidden jobs of accounts.
type Reader struct {
	pool     *pgxpool.Pool
	registry *eventlog.Registry
}

// NewReader returns a reader of the view in pool's database.
func NewReader(pool *pgxpool.Pool, registry *eventlog.Registry) *Reader {
	return &Reader{pool: pool, registry: registry}
}

// Hiding describes the jobs that a listing leaves out: those of the marks, and the rows of JobsTable if Table is set.
type Hiding struct {
	hidden.Marks
	Table bool
}

// Hiding returns the hidden jobs of an account, or nil if it never hid any. One query reads the view's row and the
// stream's version; only a row that lags behind needs a second query.
func (r *Reader) Hiding(ctx context.Context, account string) (*Hiding, error) {
	var batch pgx.Batch
	q := r.Queue(&batch, account)
	if err := r.pool.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, postgres.Classify(err, "read the hidden jobs")
	}
	return q.Hiding(ctx)
}

// Query reads the hidden jobs of an account as a part of a batch.
type Query struct {
	reader  *Reader
	account string
	version int64 // of the account's stream; 0 = the account hid no jobs
	row     Hiding
}

// Queue queues the query of Hiding. Its result is known when the batch is closed.
func (r *Reader) Queue(batch *pgx.Batch, account string) *Query {
	q := &Query{reader: r, account: account, row: Hiding{Table: true}}
	postgres.ScanInto(batch.Queue(`select s.version, coalesce(v.version, 0), coalesce(v.cleared, 0), coalesce(v.kept, '{}')
		from streams s left join `+Name+` v on v.account = $1 where s.id = $2`, account,
		hidden.Stream(account)), &q.version, &q.row.Version, &q.row.Cleared, &q.row.Kept)
	return q
}

// Hiding returns the result. A row that lags behind needs a query of its own.
func (q *Query) Hiding(ctx context.Context) (*Hiding, error) {
	if q.version == 0 {
		return nil, nil
	}
	unseen := eventlog.ReadThrough(ctx, eventstore.StreamsOf(q.reader.pool), hidden.Stream(q.account), q.row.Version, q.version)
	h, err := eventlog.Fold(q.reader.registry, unseen, q.row, foldHiding)
	if err != nil {
		return nil, err
	}
	return &h, nil
}

func foldHiding(h Hiding, rec eventlog.Recorded, data any) Hiding {
	if _, cleared := data.(hidden.ClearedV1); cleared {
		h.Table = false // jobs that were hidden one by one are cleared too; kept jobs had not ended
	}
	h.Marks = h.Fold(rec.Version, data)
	return h
}
