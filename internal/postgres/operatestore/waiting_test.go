package operatestore_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// The newest of many files are found in the last pages of their table: what is read does not grow with it.
func TestTheNewestFilesAreFoundInFewRows(t *testing.T) {
	t.Parallel()
	const files, most = 60_000, 20_000
	seeded := storetest.OpenPool(t, storetest.NewDatabase(t))
	for _, sql := range []string{
		`alter table files disable trigger user`,
		`insert into files (asset_id, account, hash, size, content_type, folder, subfolder, filename, named, created_at)
			select gen_random_uuid(), 'acme', decode(lpad(to_hex(n), 64, '0'), 'hex'), 1, 'image/png', 'output', '', n || '.png', true,
				now() - (60000 - n) * interval '1 second' from generate_series(1, 60000) n`,
		`analyze files`,
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
		require.NoError(t, pool.QueryRow(t.Context(), `select coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::bigint from pg_stat_user_tables
			where relname = 'files'`).Scan(&rows))
		return rows
	}
	before := read()
	hashes, err := operatestore.New(pool).NewestHashes(t.Context(), 50)
	require.NoError(t, err)
	require.Len(t, hashes, 50)
	newest := byte(files % 256) // the last byte of the newest hash
	require.Contains(t, last(hashes), newest)
	require.Less(t, read()-before, int64(most))
}

func last(hashes [][]byte) []byte {
	var all []byte
	for _, h := range hashes {
		all = append(all, h[len(h)-1])
	}
	return all
}
