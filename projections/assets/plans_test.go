package assets_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/projections/assets"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

// seeded has that many assets in the view, each with one of ten tags.
func seeded(t *testing.T, count int) *pgxpool.Pool {
	t.Helper()
	dsn := projectiontest.NewDatabase(t)
	pool := projectiontest.OpenPool(t, dsn)
	for _, sql := range []string{
		`insert into assets_v1 (id, account, state, created, changed, version, name, label, tags, labels, size, hash, asset)
			select gen_random_uuid(), 'acme', 'live', n, n, 1, 'seed/' || n, n, array['t' || n % 10],
				array[(array['input', 'output', 'temp', 'output'])[n % 4 + 1], 't' || n % 10], n % 1000, sha256(n::text::bytea),
				'{"account":"acme","state":"live"}' from generate_series(1, $1::int) n`,
		`insert into assets_v1_tags (account, tag, created, id) select account, tags[1], created, id from assets_v1 where created <= $1`,
		`insert into assets_v1_labels (account, label, created, id)
			select account, unnest(labels), created, id from assets_v1 where created <= $1`,
		`insert into assets_v1_counts (account, label, count)
			select account, label, count(*) from assets_v1_labels where created <= $1 group by 1, 2
			union all select account, '', count(*) from assets_v1 where created <= $1 group by 1`,
	} {
		_, err := pool.Exec(t.Context(), sql, count)
		require.NoError(t, err)
	}
	_, err := pool.Exec(t.Context(), `analyze`)
	require.NoError(t, err)
	return pool
}

// A listing whose plan looks dear without its values is planned anew each time, which takes longer than
// reading its rows: after a few calls the kept plan serves, and it reads no table whole and sorts nothing.
func TestListingsKeepTheirPlan(t *testing.T) {
	t.Parallel()
	pool := seeded(t, 20_000)
	cfg := pool.Config().Copy()
	cfg.MaxConns = 1 // prepared statements are of a connection
	one, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(one.Close)
	reader := assets.NewReader(one, registry(t), nil)
	for name, q := range map[string]assets.Query{
		"newest": {}, "by tag": {Tags: []string{"t7"}}, "by tag, a page": {Tags: []string{"t7"}, Before: 900, Limit: 5},
	} {
		var before, after int
		kept := `select coalesce(sum(generic_plans), 0) from pg_prepared_statements where statement like '%assets_v1 v%'`
		require.NoError(t, one.QueryRow(t.Context(), kept).Scan(&before))
		for range 10 {
			page, err := reader.List(t.Context(), "acme", q)
			require.NoError(t, err)
			require.NotEmpty(t, page.Assets)
			require.NotZero(t, page.Next)
		}
		require.NoError(t, one.QueryRow(t.Context(), kept).Scan(&after))
		require.GreaterOrEqual(t, after-before, 4, "%s: the first five are planned with their values", name)
	}
}
