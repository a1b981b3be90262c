package jobstore

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Keys keeps idempotency keys that are claimed before the work they stand for begins.
type Keys struct{ pool *pgxpool.Pool }

// NewKeys returns the keys in pool's database.
func NewKeys(pool *pgxpool.Pool) *Keys { return &Keys{pool: pool} }

// holdKey is claimKey for a request that is asked for by name, and finds a key that it has claimed already its own.
const holdKey = `insert into idempotency_keys as k (account, operation, key, expires_at, holder)
	values ($1, $2, $3, now() + interval '24 hours', $4)
	on conflict (account, operation, key) do update set expires_at = excluded.expires_at, holder = excluded.holder
	where k.expires_at <= now() or k.holder = $4`

// Claim takes a key for 24 hours; holder is random, and names the request. A key that another has taken is
// Conflict, idempotency_key_reuse. A claim that was not answered is made again until it is known to hold.
func (k *Keys) Claim(ctx context.Context, account, operation, key string, holder uuid.UUID) error {
	err := postgres.RetryAmbiguous(ctx, func(ctx context.Context) error {
		tag, err := postgres.Exec(ctx, k.pool, holdKey, account, operation, key, holder)
		if err != nil {
			return err
		}
		return claimed(tag)
	})
	if postgres.IsAmbiguous(err) { // nothing is done under it: it must not count as used for a day
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
		defer cancel()
		err = errors.Join(err, k.Release(undo, account, operation, key, holder))
	}
	return postgres.Classify(err, "claim an idempotency key")
}

// undoWithin bounds giving back a key of a request that has gone, or that was left without an answer for long.
const undoWithin = 2 * time.Second

// Check is Conflict, idempotency_key_reuse, when the key is taken.
func (k *Keys) Check(ctx context.Context, account, operation, key string) error {
	var taken bool
	err := k.pool.QueryRow(ctx, `select exists (select from idempotency_keys
		where account = $1 and operation = $2 and key = $3 and expires_at > now())`, account, operation, key).Scan(&taken)
	if err == nil && taken {
		return keyReused()
	}
	return postgres.Classify(err, "look for an idempotency key")
}

// Release gives the key back that holder has claimed, and tries to while ctx lasts and the database is away.
func (k *Keys) Release(ctx context.Context, account, operation, key string, holder uuid.UUID) error {
	for delay := postgres.FirstAsk; ; delay = min(2*delay, postgres.LastAsk) {
		_, err := postgres.Exec(ctx, k.pool, `delete from idempotency_keys where account = $1 and operation = $2 and key = $3 and holder = $4`,
			account, operation, key, holder)
		err = postgres.Classify(err, "release an idempotency key")
		if !fault.Is(err, fault.Unavailable) || postgres.Pause(ctx, delay) != nil {
			return err
		}
	}
}
