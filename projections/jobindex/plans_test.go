package jobindex_test

import (
	"cmp"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/projections/jobindex"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

// A search among many jobs reads few rows, also for words that no job has and for times long ago.
func TestSearchesReadFewRows(t *testing.T) {
	t.Parallel()
	const most int64 = 5000 // of 20,000
	seeded := projectiontest.OpenPool(t, projectiontest.NewDatabase(t))
	for _, sql := range []string{
		`insert into jobs_v1 (id, account, state, number, submitted, version, created_at, metadata, job)
			select n::text, 'acme', 'succeeded', n, n, 1, now() - (20000 - n) * interval '1 minute', '{}', '{"account":"acme"}'
				from generate_series(1, 20000) n`,
		`insert into job_index_v1 (id, account, submitted, version, title, classes, models, servers, code, class, cause, words)
			select n::text, 'acme', n, 1, '', array['SaveImage'], '{}', '{}', '', '', '', to_tsvector('simple', 'mill number' || n || case
				when n <= 20 then ' old' else '' end) from generate_series(1, 20000) n`,
		`analyze`,
	} {
		_, err := seeded.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	cfg := seeded.Config().Copy()
	cfg.MaxConns = 1 // what a connection has read is counted when it is asked to
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	read := func() (rows int64) {
		_, err := pool.Exec(t.Context(), `select pg_stat_force_next_flush()`)
		require.NoError(t, err)
		require.NoError(t, pool.QueryRow(t.Context(), `select (select coalesce(sum(seq_tup_read + idx_tup_fetch), 0) from pg_stat_user_tables
			where relname in ('jobs_v1', 'job_index_v1'))::bigint
			+ (select idx_tup_read from pg_stat_user_indexes where indexrelname = 'job_index_v1_words')`).Scan(&rows))
		return rows
	}
	reader := jobindex.NewReader(pool)
	for name, c := range map[string]struct {
		q    jobindex.Query
		want int
		most int64 // 0 = most
	}{
		"newest":            {jobindex.Query{}, 50, 0},
		"newest of account": {jobindex.Query{Account: "acme"}, 50, 0},
		"a common word":     {jobindex.Query{Account: "acme", Text: "mill"}, 50, 2500},
		"a common word, on": {jobindex.Query{Account: "acme", Text: "mill", Before: 9000}, 50, 2500},
		"of all accounts":   {jobindex.Query{Text: "mill"}, 50, 2500},
		"long ago":          {jobindex.Query{Account: "acme", Text: "old"}, 20, 0},
		"a rare word":       {jobindex.Query{Account: "acme", Text: "number77"}, 50, 0},
		"no such word":      {jobindex.Query{Account: "acme", Text: "zebra"}, 0, 0},
		"a class":           {jobindex.Query{Account: "acme", Class: "SaveImage"}, 50, 0},
		"times long ago": {
			jobindex.Query{Account: "acme", Since: time.Now().Add(-300 * time.Hour), Until: time.Now().Add(-290 * time.Hour)},
			50, 0,
		},
		"before all": {jobindex.Query{Account: "acme", Until: time.Now().Add(-9000 * time.Hour)}, 0, 0},
		"after all":  {jobindex.Query{Account: "acme", Since: time.Now().Add(time.Hour)}, 0, 0},
	} {
		c.q.Limit = 50
		before := read()
		page, err := reader.Find(t.Context(), c.q)
		require.NoError(t, err, name)
		require.Len(t, page.Jobs, c.want, name)
		require.Less(t, read()-before, cmp.Or(c.most, most), name)
	}
}
