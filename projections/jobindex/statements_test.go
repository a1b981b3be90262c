package jobindex_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/projections/jobindex"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

// statements counts the statements of a pool.
type statements struct{ atomic.Int64 }

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.Add(1)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, b pgx.TraceBatchStartData) context.Context {
	s.Add(int64(b.Batch.Len()))
	return ctx
}

func (s *statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

func TestAJobTakesNoStatementOfItsOwn(t *testing.T) {
	t.Parallel()
	cfg, err := pgxpool.ParseConfig(projectiontest.NewDatabase(t))
	require.NoError(t, err)
	count := &statements{}
	cfg.ConnConfig.Tracer = count
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	types := registry(t)
	store, view := eventstore.New(pool, types, nil), jobindex.NewProjection(types)
	apply := func(data func(n int) (string, any)) {
		var given []projectiontest.Given
		for n := range 30 {
			kind, event := data(n)
			given = append(given, of(n, "acme", kind, event))
		}
		recorded := projectiontest.Append(t, store, given...)
		require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			count.Store(0)
			return view.Apply(t.Context(), tx, recorded)
		}))
		require.LessOrEqual(t, count.Load(), int64(3), "a read, a write and the commit")
	}
	apply(func(int) (string, any) { return job.TypeSubmitted, submitted(graph, nil) })
	apply(func(int) (string, any) { return job.TypeFailed, failed("no such file") })
	var rows int
	require.NoError(t, pool.QueryRow(t.Context(), `select count(*) from job_index_v1 where code <> '' and words @@ to_tsquery('simple',
		'fox')`).Scan(&rows))
	require.Equal(t, 30, rows)
}
