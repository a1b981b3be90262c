package jobs_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/projections/hidden"
	"github.com/millrace-dev/millrace/projections/jobs"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

// counter counts what a pool sends, the statements in it and the rows that they return.
type counter struct {
	mu                      sync.Mutex // guards the fields below
	trips, statements, rows int64
}

func (c *counter) trip() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trips++
}

func (c *counter) add(rows int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statements, c.rows = c.statements+1, c.rows+rows
}

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.trip()
	return ctx
}

func (c *counter) TraceQueryEnd(_ context.Context, _ *pgx.Conn, q pgx.TraceQueryEndData) {
	c.add(q.CommandTag.RowsAffected())
}

func (c *counter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.trip()
	return ctx
}

func (c *counter) TraceBatchQuery(_ context.Context, _ *pgx.Conn, q pgx.TraceBatchQueryData) {
	c.add(q.CommandTag.RowsAffected())
}

func (c *counter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// While jobs are submitted faster than the view folds them, a list of jobs costs as much as its page, not as what the view
// lacks, and waits for the database once, one of a state twice.
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
	lists := map[string]struct {
		trips int64
		list  func() []job.Job
	}{
		"by cursor": {1, func() []job.Job {
			found, err := l.reader.List(t.Context(), "acme", jobs.Query{Limit: page})
			require.NoError(t, err)
			return found.Jobs
		}},
		"by offset": {1, func() []job.Job {
			found, total, err := l.reader.ListAt(t.Context(), "acme", jobs.Order{Limit: page})
			require.NoError(t, err)
			require.Equal(t, int64(folded+behind), total)
			return found
		}},
		"by offset, without hidden jobs": {1, func() []job.Job {
			found, total, err := jobs.History{Marks: hidden.NewReader(pool, l.types), Jobs: l.reader}.ListAt(t.Context(), "acme",
				jobs.Order{Limit: page})
			require.NoError(t, err)
			require.Equal(t, int64(folded+behind), total)
			return found
		}},
		"of a state": {2, func() []job.Job {
			found, err := l.reader.List(t.Context(), "acme", jobs.Query{Limit: page, States: []job.State{job.Queued}})
			require.NoError(t, err)
			return found.Jobs
		}},
	}
	for name, of := range lists {
		*count = counter{}
		found := of.list()
		require.Len(t, found, page, name)
		require.Equal(t, id(folded+behind-1), found[0].ID, name)
		require.LessOrEqual(t, count.trips, of.trips, name)
		require.LessOrEqual(t, count.statements, int64(5), name)
		require.LessOrEqual(t, count.rows, int64(3*page), name)
	}
}

// However far the view has come between two statements of a list, no job is counted twice or missed, and none is listed twice.
func TestTotalIsExactWhileTheViewFolds(t *testing.T) {
	t.Parallel()
	const all, page = 300, 20
	l := newLog(t)
	known := known{}
	for n := range all {
		known = append(known, projectiontest.Append(t, l.store, submitted(n, nil))...)
	}
	folded := make(chan struct{})
	go func() {
		defer close(folded)
		for _, rec := range known {
			l.foldTo(t, rec.Position)
		}
	}()
	readers := []*jobs.Reader{jobs.NewReader(l.pool, l.types, known), l.reader}
	for done, lists := false, 0; !done; lists++ {
		select {
		case <-folded:
			done = true
		default:
		}
		found, total, err := readers[lists%2].ListAt(t.Context(), "acme", jobs.Order{Limit: page})
		require.NoError(t, err)
		require.EqualValues(t, all, total)
		require.Len(t, found, page)
		for i, j := range found {
			require.Equal(t, id(all-1-i), j.ID)
		}
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

// A list soon after another one counts the newer jobs only, until a retention ends.
func TestJobsAreCountedOnceInAMoment(t *testing.T) {
	t.Parallel()
	l, known := newLog(t), known{}
	add := func(all ...projectiontest.Given) (last int64) {
		known = append(known, projectiontest.Append(t, l.store, all...)...)
		return known[len(known)-1].Position
	}
	l.foldTo(t, add(submitted(0, nil), submitted(1, nil), submitted(2, nil), submitted(3, nil), submitted(4, nil)))
	reader := jobs.NewReader(l.pool, l.types, &known)
	reader.CountFor(time.Hour)
	total := func() int64 {
		t.Helper()
		_, total, err := reader.ListAt(t.Context(), "acme", jobs.Order{Limit: 1})
		require.NoError(t, err)
		return total
	}
	require.EqualValues(t, 5, total())
	_, err := l.pool.Exec(t.Context(), `insert into `+jobs.Name+` (id, account, state, number, submitted, version, created_at, metadata, job)
		select 'row ' || n, account, state, number, submitted, version, created_at, metadata, job
		from (select * from `+jobs.Name+` limit 1) v, generate_series(1, 3) n`)
	require.NoError(t, err)
	require.EqualValues(t, 5, total(), "rows that no event explains are not counted yet")
	upTo := add(submitted(5, nil))
	require.EqualValues(t, 6, total(), "the view has not folded it")
	l.foldTo(t, upTo)
	require.EqualValues(t, 6, total())
	l.foldTo(t, add(given(0, "acme", job.TypeCanceled, job.CanceledV1{}), given(0, "acme", job.TypeRetired, job.RetiredV1{Events: 2})))
	require.EqualValues(t, 5+3, total(), "all rows are counted again")
	reader.CountFor(0)
	_, err = l.pool.Exec(t.Context(), `delete from `+jobs.Name+` where id like 'row %'`)
	require.NoError(t, err)
	require.EqualValues(t, 5, total(), "a moment later")
}
