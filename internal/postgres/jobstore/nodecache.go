package jobstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// NodeCache stores the results of nodes of earlier jobs. It implements nodecache.Store.
type NodeCache struct{ pool *pgxpool.Pool }

var _ nodecache.Store = (*NodeCache)(nil)

// NewNodeCache returns the cache on pool.
func NewNodeCache(pool *pgxpool.Pool) *NodeCache { return &NodeCache{pool: pool} }

// findCached skips entries with a file that was deleted or is in the second half of its life, because a job that
// reuses it would soon lose it. Uses are recorded at most once a minute.
const findCached = `with hits as (
	select c.key, c.entry, c.used_at from node_cache c
	where c.account = $1 and c.key = any($2) and c.made_at > now() - make_interval(secs => $3) and not exists (
		select from unnest(c.assets) a where not exists (
			select from files f where f.asset_id = a and f.account = c.account and f.named and not f.rejected
				and (f.expires_at is null or f.expires_at - now() > now() - f.created_at))))
, noted as (update node_cache c set used_at = now() from hits
	where c.account = $1 and c.key = hits.key and hits.used_at < now() - interval '1 minute')
select key, entry from hits`

// Find implements nodecache.Store.
func (n *NodeCache) Find(ctx context.Context, account string, keys []nodecache.Key, age time.Duration) ([]nodecache.Entry, error) {
	return postgres.Collect(ctx, n.pool, "look into the node cache", func(row pgx.CollectableRow) (e nodecache.Entry, err error) {
		var key, text []byte
		if err := row.Scan(&key, &text); err != nil {
			return e, err
		}
		err = json.Unmarshal(text, &e)
		copy(e.Key[:], key)
		return e, err
	}, findCached, account, raw(keys), age.Seconds())
}

func raw(keys []nodecache.Key) [][]byte {
	out := make([][]byte, len(keys))
	for i := range keys {
		out[i] = keys[i][:]
	}
	return out
}

// Save implements nodecache.Store. It does not wait for the disk: results that a crash loses are computed again.
func (n *NodeCache) Save(ctx context.Context, account string, entries []nodecache.Entry) error {
	var batch pgx.Batch
	batch.Queue(`select set_config('synchronous_commit', 'off', true)`)
	for _, e := range entries {
		text, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("encode node cache entry %s: %w", e.Key, err)
		}
		batch.Queue(`insert into node_cache (account, key, entry, assets, bytes) values ($1, $2, $3, $4, $5)
			on conflict (account, key) do update set entry = excluded.entry, assets = excluded.assets, bytes = excluded.bytes,
				made_at = now(), used_at = now()`, account, e.Key[:], string(text), assetsOf(e), e.Bytes+int64(len(text)))
	}
	return postgres.Classify(n.pool.SendBatch(ctx, &batch).Close(), "keep results of nodes")
}

func assetsOf(e nodecache.Entry) []uuid.UUID {
	ids := make([]uuid.UUID, 0, len(e.Files))
	for _, f := range e.Files {
		if id, err := uuid.Parse(f.Asset); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// Evict implements nodecache.Store: it removes entries past age, then the least recently used ones, until the rest
// has at most most bytes.
func (n *NodeCache) Evict(ctx context.Context, most int64, age time.Duration, limit int) (values []string, gone int, err error) {
	texts, err := postgres.Collect(ctx, n.pool, "shorten the node cache", pgx.RowTo[string], `with ranked as (
			select account, key, made_at, sum(bytes) filter (where made_at > now() - make_interval(secs => $2))
				over (order by used_at desc, account, key) as total from node_cache)
		, doomed as (select account, key from ranked where total > $1 or made_at <= now() - make_interval(secs => $2) limit $3)
		delete from node_cache c using doomed d where c.account = d.account and c.key = d.key returning c.entry`,
		most, age.Seconds(), limit)
	for _, text := range texts {
		var e nodecache.Entry
		if json.Unmarshal([]byte(text), &e) == nil { // an unreadable entry has no values to remove
			values = append(values, e.Values...)
		}
	}
	return values, len(texts), err
}
