package jobs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
	"github.com/millrace-dev/millrace/projections"
	"github.com/millrace-dev/millrace/projections/jobs"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

// log is a log whose view is folded by hand, so that it may be any distance behind.
type log struct {
	pool   *pgxpool.Pool
	types  *eventlog.Registry
	store  *eventstore.Store
	view   projections.Projection
	reader *jobs.Reader
}

func newLog(t testing.TB) *log {
	t.Helper()
	return logOn(t, projectiontest.NewPool(t))
}

func logOn(t testing.TB, pool *pgxpool.Pool) *log {
	t.Helper()
	r := registry(t)
	return &log{pool: pool, types: r, store: eventstore.New(pool, r, nil), view: jobs.NewProjection(r), reader: jobs.NewReader(pool, r, nil)}
}

// foldTo brings the view and its checkpoint to a position.
func (l *log) foldTo(t testing.TB, upTo int64) {
	t.Helper()
	require.NoError(t, pgx.BeginFunc(t.Context(), l.pool, func(tx pgx.Tx) error {
		var from int64
		err := tx.QueryRow(t.Context(), `select coalesce(max(position), 0) from checkpoints where name = $1`, jobs.Name).Scan(&from)
		if err != nil {
			return err
		}
		events, err := eventstore.ReadLog(t.Context(), tx, from, upTo, 1_000_000)
		if err != nil {
			return err
		}
		for chunk := range slices.Chunk(events, 500) {
			if err := l.view.Apply(t.Context(), tx, chunk); err != nil {
				return err
			}
		}
		return eventstore.SaveCheckpoint(t.Context(), tx, jobs.Name, from, upTo, nil)
	}))
}

// admit gives the log the rows of the admission that the transactions of its events would have written.
func (l *log) admit(t testing.TB) {
	t.Helper()
	ended := []string{job.TypeSucceeded, job.TypeFailed, job.TypeCanceled, job.TypeExpired}
	require.NoError(t, pgx.BeginFunc(t.Context(), l.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), `delete from job_queue`); err != nil {
			return err
		}
		if _, err := tx.Exec(t.Context(), `delete from job_slots`); err != nil {
			return err
		}
		if _, err := tx.Exec(t.Context(), `insert into job_queue (job_id, account, number)
			select substr(stream, 5)::uuid, account, (data->>'number')::float from events e where type = $1
			and not exists (select from events n where n.stream = e.stream and n.type = any($2)) order by position`,
			job.TypeSubmitted, append(ended, job.TypeAdmitted)); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `insert into job_slots (job_id, account, run)
			select substr(stream, 5)::uuid, account, 1 from events e where type = $1
			and not exists (select from events n where n.stream = e.stream and n.type = any($2))`, job.TypeAdmitted, ended)
		return err
	}))
}

func (l *log) active(t testing.TB, account string) []job.ID {
	t.Helper()
	l.admit(t)
	active, err := l.reader.Active(t.Context(), account)
	require.NoError(t, err)
	return ids(active)
}

// lined are the unfinished jobs of an account as Line tells them.
type lined struct {
	waiting, running []job.ID
}

// lines walks both lines of an account in pages of limit jobs.
func (l *log) lines(t testing.TB, account string, limit int) (found lined) {
	t.Helper()
	for _, waits := range []bool{true, false} {
		q := jobs.Line{Waiting: waits, Limit: limit}
		for {
			page, err := l.reader.Line(t.Context(), account, q)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page.Jobs), limit)
			if waits {
				found.waiting = append(found.waiting, ids(page.Jobs)...)
			} else {
				found.running = append(found.running, ids(page.Jobs)...)
			}
			if q.After = page.Next; q.After == nil {
				break
			}
		}
	}
	all := append(slices.Clone(found.waiting), found.running...)
	require.ElementsMatch(t, l.active(t, account), all)
	return found
}

func ids(list []job.Job) []job.ID {
	out := make([]job.ID, len(list))
	for i, j := range list {
		out[i] = j.ID
	}
	return out
}

// TestReadsAreNeverBehindTheLog compares every read at every distance of the view behind the log
// with the same read of a view that has folded everything.
func TestReadsAreNeverBehindTheLog(t *testing.T) {
	t.Parallel()
	answer := history()
	for answer, behind := range map[int][]int{len(answer): {0, 3, 7, 11, 15, 16}, 11: {0, 4, 9}, 4: {0, 1, 4}} {
		current := newLog(t)
		last := tell(t, current.store, history()[:answer]...)
		current.foldTo(t, last)
		for _, at := range behind {
			lagging, tail := newTailedLog(t)
			tell(t, lagging.store, history()[:answer]...)
			if at > 0 {
				lagging.foldTo(t, int64(at))
			}
			requireSameReads(t, current, lagging)
			awaitEnd(t, tail, last)
			for known := range last + 1 { // the memory of the process has the log up to there
				lagging.reader = jobs.NewReader(lagging.pool, registry(t), memory{tail, known})
				requireSameReads(t, current, lagging)
			}
		}
	}
}

// memory is what a process knows of the log when its tail has read up to a position.
type memory struct {
	*eventstore.Tailer
	end int64
}

func (m memory) End() (int64, bool) { return m.end, true }

// newTailedLog returns a log, and a tail that has followed it from its beginning.
func newTailedLog(t *testing.T) (*log, *eventstore.Tailer) {
	t.Helper()
	dsn := projectiontest.NewDatabase(t)
	l := logOn(t, storetest.OpenPool(t, dsn))
	tail, err := eventstore.OpenTailer(t.Context(), l.pool, dsn, nil, eventstore.TailerOptions{Poll: time.Millisecond})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- tail.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	awaitEnd(t, tail, 0)
	return l, tail
}

func awaitEnd(t *testing.T, tail *eventstore.Tailer, position int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		end, ok := tail.End()
		return ok && end >= position
	}, time.Minute, time.Millisecond)
}

func requireSameReads(t *testing.T, want, got *log) {
	t.Helper()
	require.Equal(t, want.active(t, "acme"), got.active(t, "acme"))
	for n := 1; n <= 3; n++ {
		a, errA := want.reader.Job(t.Context(), "acme", id(n))
		b, errB := got.reader.Job(t.Context(), "acme", id(n))
		require.Equal(t, fault.KindOf(errA), fault.KindOf(errB))
		require.Equal(t, timeless(t, a), timeless(t, b))
	}
	require.Equal(t, want.lines(t, "acme", 1000), got.lines(t, "acme", 1))
	for _, q := range []jobs.Query{
		{},
		{Limit: 1},
		{Before: 5},
		{States: []job.State{job.Queued}},
		{States: []job.State{job.Succeeded, job.Failed}},
		{Metadata: map[string]string{"team": "blue"}},
		{Metadata: map[string]string{"team": "red"}},
	} {
		a, err := want.reader.List(t.Context(), "acme", q)
		require.NoError(t, err)
		b, err := got.reader.List(t.Context(), "acme", q)
		require.NoError(t, err)
		requireSameJobs(t, a.Jobs, b.Jobs)
		require.Equal(t, a.Next, b.Next)
	}
	for _, o := range []jobs.Order{
		{Limit: 20},
		{Limit: 1, Offset: 1},
		{Limit: 2, Ascending: true},
		{Limit: 20, States: []job.State{job.Queued}},
		{Limit: 2, ByDuration: true},
	} {
		a, totalA, err := want.reader.ListAt(t.Context(), "acme", o)
		require.NoError(t, err)
		b, totalB, err := got.reader.ListAt(t.Context(), "acme", o)
		require.NoError(t, err)
		if !o.ByDuration { // the times of two logs differ
			requireSameJobs(t, a, b)
		}
		require.Equal(t, totalA, totalB, "%+v", o)
	}
}

func requireSameJobs(t *testing.T, want, got []job.Job) {
	t.Helper()
	require.Equal(t, ids(want), ids(got))
	for i := range want {
		require.Equal(t, timeless(t, want[i]), timeless(t, got[i]))
	}
}

// timeless renders a job without its times, which two logs do not share.
func timeless(t *testing.T, j job.Job) string {
	t.Helper()
	var zero job.Job
	j.SubmittedAt, j.UpdatedAt = zero.SubmittedAt, zero.UpdatedAt
	j.AdmittedAt, j.StartedAt, j.EndedAt = nil, nil, nil
	raw, err := json.Marshal(j)
	require.NoError(t, err)
	return string(raw)
}

func TestReadsAreScopedToTheAccount(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	last := tell(t, l.store, submitted(1, nil), submitted(2, nil))
	for _, folded := range []bool{false, true} {
		if folded {
			l.foldTo(t, last)
		}
		_, err := l.reader.Job(t.Context(), "other", id(1))
		require.Equal(t, fault.NotFound, fault.KindOf(err))
		require.Equal(t, fault.CodeJobNotFound, fault.CodeOf(err))
		require.Empty(t, l.active(t, "other"))
		page, err := l.reader.List(t.Context(), "other", jobs.Query{})
		require.NoError(t, err)
		require.Empty(t, page.Jobs)
		require.Len(t, l.active(t, "acme"), 2)
	}
	_, err := l.reader.Job(t.Context(), "acme", id(99))
	require.Equal(t, fault.NotFound, fault.KindOf(err))
}

func TestQueueOrder(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	numbers := map[int]float64{1: 5, 2: 5, 3: -1, 4: 7}
	var last int64
	for n := 1; n <= 4; n++ {
		g := submitted(n, nil)
		g.Data = job.SubmittedV1{Number: numbers[n]}
		last = tell(t, l.store, g)
	}
	want := []job.ID{id(3), id(1), id(2), id(4)}
	for _, upTo := range []int64{0, 2, last} {
		if upTo > 0 {
			l.foldTo(t, upTo)
		}
		require.Equal(t, want, l.active(t, "acme"))
		require.Equal(t, want, l.lines(t, "acme", 3).waiting)
	}
	tell(t, l.store, given(3, "acme", job.TypeAdmitted, job.AdmittedV1{Run: 1}))
	require.Equal(t, want[1:], l.lines(t, "acme", 3).waiting)
}

func TestListWalksEveryJobOnce(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	var want []job.ID
	for n := range 25 {
		last := tell(t, l.store, submitted(n, nil))
		want = append([]job.ID{id(n)}, want...)
		if n == 15 {
			l.foldTo(t, last)
		}
	}
	var got []job.ID
	q := jobs.Query{Limit: 4}
	for page := 0; ; page++ {
		p, err := l.reader.List(t.Context(), "acme", q)
		require.NoError(t, err)
		got = append(got, ids(p.Jobs)...)
		tell(t, l.store, submitted(100+page, nil)) // newer ones do not disturb the walk
		if q.Before = p.Next; p.Next == 0 {
			break
		}
	}
	require.Equal(t, want, got)
}

// After an outage of the projector, lists show the view as it is. A single job is exact all the same, and so are the unfinished
// jobs, which the fan-out keeps for as long as an account is watched.
func TestListsFarBehindServeTheView(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	tell(t, l.store, submitted(1, nil), submitted(2, nil), submitted(3, nil), given(2, "acme", job.TypeAdmitted, job.AdmittedV1{Run: 1}))
	l.foldTo(t, 1)
	tell(t, l.store, given(1, "acme", job.TypeCanceled, job.CanceledV1{}))
	events := make([]eventlog.Event, 5001)
	for i := range events {
		events[i] = noted(fmt.Sprint(i))
	}
	_, err := l.store.Append(t.Context(), eventlog.Append{Stream: "note-1", Account: "acme", Expected: 0, Events: events})
	require.NoError(t, err)
	page, err := l.reader.List(t.Context(), "acme", jobs.Query{})
	require.NoError(t, err)
	require.Equal(t, []job.ID{id(1)}, ids(page.Jobs), "the log is too far ahead of the view")
	j, err := l.reader.Job(t.Context(), "acme", id(2))
	require.NoError(t, err, "a single job is always exact")
	require.Equal(t, job.Running, j.State)
	require.Equal(t, []job.ID{id(2), id(3)}, l.active(t, "acme"))
	active, err := l.reader.Active(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, job.Running, active[0].State)
	l.foldTo(t, 100)
	require.Equal(t, []job.ID{id(2), id(3)}, l.active(t, "acme"))
}

func noted(text string) eventlog.Event { return eventlogtest.Noted(text) }
