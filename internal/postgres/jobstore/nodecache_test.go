package jobstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// cacheEntry is an entry of its own key, with one value and the files given.
func cacheEntry(n byte, files ...job.OutputFile) nodecache.Entry {
	return nodecache.Entry{
		Key: nodecache.Key{n}, Class: "C", UI: []byte(`{"b":1,"a":2}`), Files: files, Values: []string{fmt.Sprintf("value-%d", n)}, Bytes: 1000,
	}
}

func found(t *testing.T, cache *jobstore.NodeCache, account string, age time.Duration, keys ...byte) (hits []byte) {
	t.Helper()
	var asked []nodecache.Key
	for _, k := range keys {
		asked = append(asked, nodecache.Key{k})
	}
	entries, err := cache.Find(t.Context(), account, asked, age)
	require.NoError(t, err)
	for _, e := range entries {
		hits = append(hits, e.Key[0])
		require.JSONEq(t, `{"b":1,"a":2}`, string(e.UI))
	}
	return hits
}

func TestEntriesOfTheNodeCacheAreTheirAccountsAndExpire(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	cache := jobstore.NewNodeCache(pool)
	require.NoError(t, cache.Save(t.Context(), "a", []nodecache.Entry{cacheEntry(1), cacheEntry(2)}))
	require.ElementsMatch(t, []byte{1, 2}, found(t, cache, "a", time.Hour, 1, 2, 3))
	require.Empty(t, found(t, cache, "b", time.Hour, 1, 2))
	aged(t, pool, 1, "made_at", 2*time.Hour)
	require.Equal(t, []byte{2}, found(t, cache, "a", time.Hour, 1, 2), "past its age")
	require.NoError(t, cache.Save(t.Context(), "a", []nodecache.Entry{cacheEntry(1)}))
	require.ElementsMatch(t, []byte{1, 2}, found(t, cache, "a", time.Hour, 1, 2), "made again")
}

func aged(t *testing.T, pool *pgxpool.Pool, key byte, column string, by time.Duration) {
	t.Helper()
	k := nodecache.Key{key}
	tag, err := pool.Exec(t.Context(), `update node_cache set `+column+` = now() - make_interval(secs => $1) where key = $2`, by.Seconds(),
		k[:])
	require.NoError(t, err)
	require.EqualValues(t, 1, tag.RowsAffected())
}

func TestTheNodeCacheEvictsWhatIsOldAndThenWhatIsLongestUnused(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	cache := jobstore.NewNodeCache(pool)
	require.NoError(t, cache.Save(t.Context(), "a", []nodecache.Entry{cacheEntry(1), cacheEntry(2), cacheEntry(3), cacheEntry(4)}))
	aged(t, pool, 1, "made_at", 2*time.Hour)
	for key, unused := range map[byte]time.Duration{2: 30 * time.Minute, 3: 20 * time.Minute, 4: 40 * time.Minute} {
		aged(t, pool, key, "used_at", unused)
	}
	require.Equal(t, []byte{4}, found(t, cache, "a", time.Hour, 4), "which is a use of it")
	values, gone, err := cache.Evict(t.Context(), 2500, time.Hour, 100)
	require.NoError(t, err)
	require.Equal(t, 2, gone)
	require.ElementsMatch(t, []string{"value-1", "value-2"}, values, "too old, and longest unused")
	require.ElementsMatch(t, []byte{3, 4}, found(t, cache, "a", time.Hour, 1, 2, 3, 4))
	_, gone, err = cache.Evict(t.Context(), 0, time.Hour, 1)
	require.NoError(t, err)
	require.Equal(t, 1, gone, "so many at once")
}

// An entry is shown as long as its files have at least as long to live as they have lived: a job that shows
// them again must not soon show nothing.
func TestCacheEntryWithExpiringFilesIsSkipped(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	cache := jobstore.NewNodeCache(pool)
	for name, c := range map[string]struct {
		lived, left     time.Duration
		named, rejected bool
		hit             bool
	}{
		"young":            {lived: time.Hour, left: 2 * time.Hour, named: true, hit: true},
		"soon over":        {lived: 2 * time.Hour, left: time.Hour, named: true},
		"renamed":          {lived: time.Hour, left: 2 * time.Hour},
		"found harmful":    {lived: time.Hour, left: 2 * time.Hour, named: true, rejected: true},
		"never over":       {lived: time.Hour, named: true, hit: true},
		"of another owner": {lived: -1, named: true},
	} {
		id, owner := uuid.New(), "a"
		if c.lived < 0 {
			owner = "b"
		}
		_, err := pool.Exec(t.Context(), `insert into files (asset_id, account, hash, size, content_type, folder, subfolder, filename, named,
			rejected, created_at, expires_at)
			values ($1, $2, decode(repeat('00', 32), 'hex'), 1, 'image/png', 'output', '', $3, $4, $5, now() - make_interval(secs => $6),
				case when $7::float8 > 0 then now() + make_interval(secs => $7::float8) end)`,
			id, owner, name, c.named, c.rejected, c.lived.Seconds(), c.left.Seconds())
		require.NoError(t, err)
		require.NoError(t, cache.Save(t.Context(), "a", []nodecache.Entry{cacheEntry(9, job.OutputFile{Asset: id.String()})}))
		require.Equal(t, c.hit, len(found(t, cache, "a", time.Hour, 9)) == 1, name)
	}
}

// A statement that PostgreSQL warns of would fill its log, once for each job.
func TestSavingResultsOfNodesCausesNoWarning(t *testing.T) {
	t.Parallel()
	cfg := storetest.OpenPool(t, storetest.NewDatabase(t)).Config()
	var warnings []string
	cfg.MaxConns = 1
	cfg.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { warnings = append(warnings, n.Message) }
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer pool.Close()
	require.NoError(t, jobstore.NewNodeCache(pool).Save(t.Context(), "acme", []nodecache.Entry{cacheEntry(1)}))
	require.Empty(t, warnings)
}
