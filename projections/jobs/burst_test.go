package jobs_test

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/projections/jobs"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

// counter counts the statements of a pool and the rows that they return.
type counter struct {
	mu               sync.Mutex // guards the fields below
	statements, rows int64
}

func (c *counter) add(rows int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statements, c.rows = c.statements+1, c.rows+rows
}

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (c *counter) TraceQueryEnd(_ context.Context, _ *pgx.Conn, q pgx.TraceQueryEndData) {
	c.add(q.CommandTag.RowsAffected())
}

func (c *counter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (c *counter) TraceBatchQuery(_ context.Context, _ *pgx.Conn, q pgx.TraceBatchQueryData) {
	c.add(q.CommandTag.RowsAffected())
}

func (c *counter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// While jobs are submitted faster than the view folds them, a list of jobs costs as much as its page, not as what the view lacks.
func TestAListDuringABurstReadsItsPageOnly(t *testing.T) {
	t.Parallel()
	const folded, behind, page = 200, 300, 20
	cfg, err := pgxpool.ParseConfig(projectiontest.NewDatabase(t))
	require.NoError(t, err)
	count := &counter{}
	cfg.ConnConfig.Tracer = count
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	l := logOn(t, pool)
	var last int64
	for n := range folded {
		last = tell(t, l.store, submitted(n, nil))
	}
	l.foldTo(t, last)
	known := known{}
	for n := range behind {
		known = append(known, projectiontest.Append(t, l.store, submitted(folded+n, nil))...)
	}
	l.reader = jobs.NewReader(pool, registry(t), known)
	for name, list := range map[string]func() []job.Job{
		"by cursor": func() []job.Job {
			found, err := l.reader.List(t.Context(), "acme", jobs.Query{Limit: page, Positions: true})
			require.NoError(t, err)
			require.Len(t, found.Positions, page)
			require.Equal(t, int64(folded+behind-1), found.Positions[found.Jobs[0].ID])
			return found.Jobs
		},
		"by offset": func() []job.Job {
			found, total, err := l.reader.ListAt(t.Context(), "acme", jobs.Order{Limit: page})
			require.NoError(t, err)
			require.Equal(t, int64(folded+behind), total)
			return found
		},
	} {
		*count = counter{}
		found := list()
		require.Len(t, found, page, name)
		require.Equal(t, id(folded+behind-1), found[0].ID, name)
		require.LessOrEqual(t, count.statements, int64(5), name)
		require.LessOrEqual(t, count.rows, int64(3*page), name)
	}
}

// known is the memory of a process that has just read these events.
type known []eventlog.Recorded

func (k known) End() (int64, bool) { return k[len(k)-1].Position, true }

func (k known) Between(after, upTo int64) (events []eventlog.Recorded, ok bool) {
	for _, rec := range k {
		if rec.Position > after && rec.Position <= upTo {
			events = append(events, rec)
		}
	}
	return events, after >= k[0].Position-1
}
