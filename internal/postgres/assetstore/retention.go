package assetstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

var _ asset.References = (*Store)(nil)

// Expire ends up to limit assets whose deadline has passed, and returns their number. It leaves out the assets in except,
// and those that an unfinished job reads or made. Assets cannot be read from their deadline on; Expire frees their
// rows. If the log refuses an asset, the others are ended one by one, and the refused assets are returned.
func (s *Store) Expire(ctx context.Context, limit int, except []asset.ID) (int, []asset.ID, error) {
	tried, err := s.expire(ctx, limit, nil, except)
	if !fault.Is(err, fault.Conflict) {
		return len(tried), nil, err
	}
	total, failed := 0, []asset.ID(nil)
	for _, id := range tried {
		one, err := s.expire(ctx, 1, []asset.ID{id}, nil)
		switch {
		case fault.Is(err, fault.Conflict):
			failed = append(failed, id)
		case err != nil:
			return total, failed, err
		default:
			total += len(one)
		}
	}
	return total, failed, nil
}

// expire is one transaction of Expire. It returns the assets that it ended, or those that it tried if the log refuses one of
// them. only, if not nil, restricts the assets.
func (s *Store) expire(ctx context.Context, limit int, only, except []asset.ID) (tried []asset.ID, err error) {
	var appends []eventlog.Append
	_, err = s.events.Write(ctx, eventstore.Decision{
		What: "expire assets", Repeats: true,
		Read: func(q *pgx.Batch) {
			tried, appends = nil, nil
			gone := q.Queue(`delete from files where asset_id in (
					select asset_id from files where expires_at <= now() and not `+pinnedByJob+` and not `+ofUnfinishedJob+`
					and ($2::uuid[] is null or asset_id = any($2)) and not asset_id = any($3::uuid[])
					order by expires_at limit $1 for update skip locked)
				returning asset_id, account`, limit, assetIDs(only), append([]string{}, assetIDs(except)...))
			postgres.EachInto(gone, func(row pgx.CollectableRow) error {
				var raw [16]byte
				var account string
				err := row.Scan(&raw, &account)
				id := assetID(raw)
				tried = append(tried, id)
				appends = append(appends, ending(id, account, asset.TypeExpired, asset.ExpiredV1{}, eventlog.Meta{Actor: "retention"}))
				return err
			})
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if len(appends) == 0 {
				return eventstore.ErrNothing
			}
			return c.Append(appends...)
		},
	})
	if err != nil && !fault.Is(err, fault.Conflict) {
		return nil, err
	}
	return tried, err
}

// ofUnfinishedJob is the condition that a file belongs to an unfinished job.
const ofUnfinishedJob = `exists (select from job_slots s where s.job_id = files.job_id)`

func assetIDs(in []asset.ID) []string {
	if in == nil {
		return nil
	}
	out := make([]string, len(in))
	for i, id := range in {
		out[i] = string(id)
	}
	return out
}

// keysAtOnce bounds the keys that one statement deletes. After a flood of requests, a statement could otherwise take
// minutes and block requests that use one of its keys again.
const keysAtOnce = 10_000

// Forget deletes expired idempotency keys and resumable uploads, and pins of jobs that have ended.
func (s *Store) Forget(ctx context.Context) error {
	for gone := int64(keysAtOnce); gone == keysAtOnce; {
		tag, err := s.pool.Exec(ctx, `delete from idempotency_keys where (account, operation, key) in (select account, operation, key
			from idempotency_keys where expires_at <= now() order by expires_at limit $1 for update skip locked)`, keysAtOnce)
		if err != nil {
			return postgres.Classify(err, "forget spent keys")
		}
		gone = tag.RowsAffected()
	}
	if _, err := s.pool.Exec(ctx, `delete from uploads where expires_at <= now()`); err != nil {
		return postgres.Classify(err, "forget expired uploads")
	}
	_, err := s.pool.Exec(ctx, `delete from asset_holds h where not exists (select from job_slots s where s.job_id = h.job_id)
		and not exists (select from job_queue q where q.job_id = h.job_id)`)
	return postgres.Classify(err, "forget spent holds")
}

// documentBlob is the expression of the index events_document, letter for letter.
const documentBlob = `substring(data::text from '"document":\{"blob":"(blake3:[0-9a-f]{64})"\}')`

// Referenced implements asset.References: it returns the blobs of files, thumbnails, archives and versions of deployments, and
// of large submissions, to which only their events refer.
func (s *Store) Referenced(ctx context.Context, refs []blob.Ref) (map[blob.Ref]bool, error) {
	hashes, names := make([][]byte, len(refs)), make([]string, len(refs))
	for i, ref := range refs {
		hashes[i], names[i] = ref[:], ref.String()
	}
	needed := make(map[blob.Ref]bool, len(refs))
	return needed, postgres.Each(ctx, s.pool, "find references", func(row pgx.CollectableRow) error {
		var hash []byte
		err := row.Scan(&hash)
		if err == nil {
			needed[blob.Ref(hash)] = true
		}
		return err
	}, `
		select h from unnest($1::bytea[]) h where exists (select from files where hash = h)
			or exists (select from files where thumbnail = h)
			or exists (select from userdata where hash = h) or exists (select from uploads where pieces @> array[h])
			or exists (select from job_archives where archive = h) or exists (select from job_archives where document = h)
			or exists (select from deployment_versions where digest = h)
		union all
		select decode(substr(n, 8), 'hex') from unnest($2::text[]) n where exists (
			select from events where type = 'job.submitted.v1' and `+documentBlob+` = n and `+documentBlob+` is not null)`, hashes, names)
}

// BlobLocks keep removals and touches of one blob apart across all processes of a deployment. They implement
// bucket.Locks.
//
// A lock is a transaction, which occupies its connection during requests to the bucket. A slow bucket must not occupy
// the whole pool, so locks use at most a third of the connections; further locks wait.
type BlobLocks struct {
	pool *pgxpool.Pool
	free chan struct{} // one element for each connection in use
}

// NewBlobLocks returns the locks in pool's database.
func NewBlobLocks(pool *pgxpool.Pool) *BlobLocks {
	return &BlobLocks{pool: pool, free: make(chan struct{}, max(1, pool.Config().MaxConns/3))}
}

// lockOfBlobs distinguishes these advisory locks from those of names and bytes.
const lockOfBlobs = 17

// A lock that is held for longer than maxLockTime is released: the operation of its holder is canceled first. In any
// case, the server ends the transaction, and the lock with it, after idleFor without a statement.
const (
	maxLockTime = 12 * time.Second // time for some requests to a slow bucket
	idleFor     = 30 * time.Second
)

// Shared runs fn concurrently with other shared holders. fn may make a few requests, but no transfer.
func (l *BlobLocks) Shared(ctx context.Context, ref blob.Ref, fn func(context.Context) error) error {
	return l.with(ctx, `pg_advisory_xact_lock_shared`, ref, fn)
}

// Exclusive runs fn alone.
func (l *BlobLocks) Exclusive(ctx context.Context, ref blob.Ref, fn func(context.Context) error) error {
	return l.with(ctx, `pg_advisory_xact_lock`, ref, fn)
}

func (l *BlobLocks) with(ctx context.Context, lock string, ref blob.Ref, fn func(context.Context) error) error {
	select {
	case l.free <- struct{}{}:
		defer func() { <-l.free }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var failed error // the error of fn, which is not of the database
	err := postgres.Snapshot(ctx, l.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `select set_config('idle_in_transaction_session_timeout', $3, true), `+lock+`(hashtextextended($1, $2))`,
			ref.Hex(), lockOfBlobs, postgres.Millis(idleFor))
		if err != nil {
			return err
		}
		held, cancel := context.WithTimeout(ctx, maxLockTime)
		defer cancel()
		failed = fn(held)
		return failed
	})
	if failed != nil {
		return failed
	}
	return postgres.Classify(err, "lock a blob")
}
