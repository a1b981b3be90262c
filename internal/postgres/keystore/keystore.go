// Package keystore keeps idempotency keys in PostgreSQL. A key is claimed in the transaction that records what its request makes,
// so that a process that dies leaves both or neither. The key names what was made until the first answer was given, and is
// refused from then on.
package keystore

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Keys reads and marks keys.
type Keys struct{ pool *pgxpool.Pool }

// New returns the keys in pool's database.
func New(pool *pgxpool.Pool) *Keys { return &Keys{pool: pool} }

// claim claims a key, or an expired one again, for what a request makes. It returns no row if the key is in use.
const claim = `insert into idempotency_keys (account, operation, key, expires_at, holder)
	values ($1, $2, $3, now() + interval '24 hours', $4)
	on conflict (account, operation, key) do update set expires_at = excluded.expires_at, holder = excluded.holder
	where idempotency_keys.expires_at <= now()`

// QueueClaim queues the claim of a key for 24 hours. made is the id of what the transaction records. A key in use is passed to
// fail as Conflict, idempotency_key_reuse.
func QueueClaim(q *pgx.Batch, account, operation, key, made string, fail func(error)) {
	q.Queue(claim, account, operation, key, made).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != 1 {
			fail(reused())
		}
		return nil
	})
}

func reused() error {
	return fault.New(fault.Conflict, fault.CodeIdempotencyKeyReuse, "this Idempotency-Key was already used in the last 24 hours")
}

// Use claims a key for 24 hours for a request that makes nothing and is answered.
func (k *Keys) Use(ctx context.Context, account, operation, key string) error {
	_, err := postgres.Exec(ctx, k.pool, claim, account, operation, key, nil)
	return postgres.Classify(err, "use an idempotency key")
}

// answerWithin bounds the first answer of a key after what it made is recorded: writing it takes milliseconds.
const answerWithin = 2 * time.Second

// Unanswered returns the id of what was made for a key whose first answer was never stored. ok is false for a key that has
// an answer. It waits up to two seconds for an answer that is being stored.
func (k *Keys) Unanswered(ctx context.Context, account, operation, key string) (made uuid.UUID, ok bool, err error) {
	wait, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	for delays := pause.Delays(postgres.FirstRetry, postgres.LongestRetry); ; {
		if made, ok, err = k.Holder(ctx, account, operation, key); err != nil || !ok {
			return made, ok, err
		}
		if pause.For(wait, delays.NextBackOff()) != nil {
			return made, ctx.Err() == nil, ctx.Err()
		}
	}
}

// Holder is Unanswered without the wait: it returns the id of what was made for a key, unless its answer may not be repeated.
func (k *Keys) Holder(ctx context.Context, account, operation, key string) (made uuid.UUID, ok bool, err error) {
	var holder uuid.NullUUID
	_, err = postgres.Find(ctx, k.pool, "look for what an idempotency key made", []any{&holder}, holderOf, account, operation, key)
	return holder.UUID, holder.Valid, err
}

// holderOf reads what was made for a key in use.
const holderOf = `select holder from idempotency_keys where account = $1 and operation = $2 and key = $3 and expires_at > now()`

// Answered records that the first answer of a key was given. From then on the key is refused.
func (k *Keys) Answered(ctx context.Context, account, operation, key string, made uuid.UUID) error {
	_, err := postgres.Exec(ctx, k.pool, `update idempotency_keys set holder = null
		where account = $1 and operation = $2 and key = $3 and holder = $4`, account, operation, key, made)
	return postgres.Classify(err, "record the answer of an idempotency key")
}

// Check fails with Conflict, idempotency_key_reuse, if the key is in use.
func (k *Keys) Check(ctx context.Context, account, operation, key string) error {
	return k.check(ctx, `true`, account, operation, key)
}

// CheckAnswered is Check for a key whose first answer was given.
func (k *Keys) CheckAnswered(ctx context.Context, account, operation, key string) error {
	return k.check(ctx, `holder is null`, account, operation, key)
}

func (k *Keys) check(ctx context.Context, condition, account, operation, key string) error {
	var taken bool
	err := k.pool.QueryRow(ctx, `select exists (select from idempotency_keys
		where account = $1 and operation = $2 and key = $3 and expires_at > now() and `+condition+`)`, account, operation, key).Scan(&taken)
	if err == nil && taken {
		return reused()
	}
	return postgres.Classify(err, "look for an idempotency key")
}
