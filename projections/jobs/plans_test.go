package jobs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
	"github.com/millrace-dev/millrace/projections/hidden"
	"github.com/millrace-dev/millrace/projections/jobs"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

// seedFinished fills log and view with n finished jobs of the account, as the projection would
// have, and some that wait.
func seedFinished(t testing.TB, l *log, n int) {
	t.Helper()
	last := tell(t, l.store, submitted(1, map[string]string{"team": "blue"}), submitted(2, nil))
	last = max(last, tell(t, l.store, given(2, "acme", job.TypeAdmitted, job.AdmittedV1{Run: 1})))
	l.foldTo(t, last)
	for _, sql := range []string{
		`create temp table seed as select gen_random_uuid() as id, i from generate_series(1, $1::int) i`,
		`insert into streams select 'job-' || id, 'acme', 6, true from seed where $1 > 0`,
		`insert into events (stream, version, id, type, account, data, meta, recorded_at)
			select 'job-' || s.id, v, gen_random_uuid(), e.type, 'acme', e.data, e.meta, now()
			from seed s cross join generate_series(1, case when $1 > 50000 then 6 else 1 end) v cross join (select * from events where version = 1
				limit 1) e where $1 > 0`,
		`insert into jobs_v1 select s.id::text, 'acme', (array['succeeded', 'failed', 'canceled'])[1 + s.i % 3], s.i, e.position, 6, now(),
			jsonb_build_object('team', 'green', 'n', s.i::text),
			replace(replace(j.job::text, j.id, s.id::text), '"queued"', '"succeeded"')::json
			from seed s join events e on e.stream = 'job-' || s.id and e.version = 1
			cross join (select * from jobs_v1 where state = 'queued' limit 1) j where $1 > 0`,
		`insert into job_public_ids select 'acme', gen_random_uuid(), gen_random_uuid() from generate_series(1, $1::int)`,
		`update checkpoints set position = (select max(position) from events) where $1 > 0`,
	} {
		_, err := l.pool.Exec(t.Context(), sql, n)
		require.NoError(t, err)
	}
	_, err := l.pool.Exec(t.Context(), `vacuum analyze`)
	require.NoError(t, err)
}

// newSeeded returns a log with n finished jobs, over one connection so that the seed is its own.
func newSeeded(t testing.TB, n int, tracer pgx.QueryTracer) *log {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(projectiontest.NewDatabase(t))
	require.NoError(t, err)
	cfg.MaxConns, cfg.ConnConfig.Tracer = 1, tracer
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	l := logOn(t, pool)
	seedFinished(t, l, n)
	return l
}

// reads are the calls that GETs make.
func reads(l *log) map[string]func(context.Context) error {
	list := func(q jobs.Query) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := l.reader.List(ctx, "acme", q)
			return err
		}
	}
	line := func(q jobs.Line) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := l.reader.Line(ctx, "acme", q)
			return err
		}
	}
	return map[string]func(context.Context) error{
		"job": func(ctx context.Context) error { _, err := l.reader.Job(ctx, "acme", id(1)); return err },
		"public": func(ctx context.Context) error {
			_, err := l.reader.ByPublicID(ctx, "acme", job.PublicID(id(1)))
			return err
		},
		"ids": func(ctx context.Context) error {
			_, err := l.reader.IDs(ctx, "acme", []job.PublicID{job.PublicID(id(1))})
			return err
		},
		"public_ids": func(ctx context.Context) error { _, err := l.reader.PublicIDs(ctx, []job.ID{id(1)}); return err },
		"active":     func(ctx context.Context) error { _, err := l.reader.Active(ctx, "acme"); return err },
		"waiting":    line(jobs.Line{Waiting: true}),
		"onwards":    line(jobs.Line{Waiting: true, After: &jobs.Place{Number: 1, Submitted: 1}, Limit: 10}),
		"running":    line(jobs.Line{}),
		"by_offset": func(ctx context.Context) error {
			_, _, err := l.reader.ListAt(ctx, "acme", jobs.Order{Limit: 10, States: []job.State{job.Running}})
			return err
		},
		"unhidden": func(ctx context.Context) error {
			_, _, err := jobs.History{Marks: hidden.NewReader(l.pool, l.types), Jobs: l.reader}.ListAt(ctx, "acme",
				jobs.Order{Limit: 10, States: []job.State{job.Running}})
			return err
		},
		"list":     list(jobs.Query{}),
		"page":     list(jobs.Query{Before: 1000, Limit: 100}),
		"state":    list(jobs.Query{States: []job.State{job.Queued}}),
		"states":   list(jobs.Query{States: []job.State{job.Queued, job.Running}}),
		"metadata": list(jobs.Query{Metadata: map[string]string{"team": "blue"}}),
	}
}

// TestReadsUseTheirIndexes looks at the plans, with values and without, among many finished jobs.
func TestReadsUseTheirIndexes(t *testing.T) {
	t.Parallel()
	tracer := &storetest.Statements{}
	l := newSeeded(t, 20_000, tracer)
	tell(t, l.store, submitted(3, nil)) // which the view has not folded
	_, err := l.pool.Exec(t.Context(), `insert into job_queue (job_id, account, number)
		select gen_random_uuid(), 'other-' || n, 1 from generate_series(1, 5000) n
		union all values ($1::uuid, 'acme', 1), ($2::uuid, 'acme', 1)`, id(1), id(3))
	require.NoError(t, err)
	_, err = l.pool.Exec(t.Context(), `insert into job_slots (job_id, account, run)
		select gen_random_uuid(), 'other-' || n, 1 from generate_series(1, 5000) n union all values ($1::uuid, 'acme', 1)`, id(2))
	require.NoError(t, err)
	_, err = l.pool.Exec(t.Context(), `analyze job_queue, job_slots`)
	require.NoError(t, err)
	for name, read := range reads(l) {
		tracer.Take()
		require.NoError(t, read(t.Context()))
		sent := tracer.Take()
		require.NotEmpty(t, sent)
		for _, q := range sent {
			plan := explain(t, l.pool, q)
			require.NotContains(t, plan, "Seq Scan", "%s: %s", name, q.SQL)
		}
	}
}

func explain(t *testing.T, pool *pgxpool.Pool, q storetest.Statement) string {
	t.Helper()
	rows, err := pool.Query(t.Context(), "explain (costs off) "+q.SQL, q.Args...)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	// The checkpoints have a row per view, and no account hid jobs: scanning these tables is right.
	lines = slices.DeleteFunc(lines, func(line string) bool {
		return strings.Contains(line, "Seq Scan on checkpoints") || strings.Contains(line, "Seq Scan on "+hidden.Name)
	})
	return strings.Join(lines, "\n")
}

// BenchmarkReads times each read among 100 and among 100,000 finished jobs, in turn, so that both meet
// the same machine. The target is a p99 at most 1.2 times as long.
func BenchmarkReads(b *testing.B) {
	few, many := newSeeded(b, 100, nil), newSeeded(b, 100_000, nil)
	for _, name := range []string{"job", "active", "list", "state", "metadata"} {
		b.Run(name, func(b *testing.B) {
			var among [2][]time.Duration
			for b.Loop() {
				for i, read := range []func(context.Context) error{reads(few)[name], reads(many)[name]} {
					started := time.Now()
					if err := read(b.Context()); err != nil {
						b.Fatal(err)
					}
					among[i] = append(among[i], time.Since(started))
				}
			}
			for _, q := range []int{50, 99} {
				small, large := quantile(among[0], q), quantile(among[1], q)
				b.ReportMetric(float64(large.Microseconds()), fmt.Sprintf("p%d-µs", q))
				b.ReportMetric(float64(large)/float64(small), fmt.Sprintf("p%d-ratio", q))
			}
		})
	}
}

func quantile(took []time.Duration, percent int) time.Duration {
	slices.Sort(took)
	return took[(len(took)-1)*percent/100]
}
