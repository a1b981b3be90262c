package jobstore

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Keys stores idempotency keys that are claimed before their operation begins.
type Keys struct{ pool *pgxpool.Pool }

// NewKeys returns the keys in pool's database.
func NewKeys(pool *pgxpool.Pool) *Keys { return &Keys{pool: pool} }

// reentrantClaim is claimKey for a request with a random name. The request can claim its own key again, but not a key
// that revokeClaim took from it.
const reentrantClaim = `insert into idempotency_keys as k (account, operation, key, expires_at, holder)
	values ($1, $2, $3, now() + interval '24 hours', $4)
	on conflict (account, operation, key) do update set expires_at = excluded.expires_at, holder = excluded.holder
	where k.expires_at <= now() and k.holder is distinct from $4 or k.holder = $4 and k.expires_at <> '-infinity'`

// revokeClaim takes a key from a request whose claim has an unknown outcome. Every other request may claim the key
// afterwards, and the revoked claim is refused if it arrives late.
const revokeClaim = `insert into idempotency_keys as k (account, operation, key, expires_at, holder)
	values ($1, $2, $3, '-infinity', $4)
	on conflict (account, operation, key) do update set expires_at = excluded.expires_at
	where k.holder = $4`

// Claim claims a key for 24 hours; holder is a random name of the request. A key that another request has claimed is
// Conflict, idempotency_key_reuse. A claim without an answer is repeated until it is known to be recorded, even if
// ctx ends: an abandoned claim could be recorded after it was undone.
func (k *Keys) Claim(ctx context.Context, account, operation, key string, holder uuid.UUID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimWithin)
	defer cancel()
	err := postgres.RetryAmbiguous(ctx, func(ctx context.Context) error {
		tag, err := postgres.Exec(ctx, k.pool, reentrantClaim, account, operation, key, holder)
		if err != nil {
			return err
		}
		return claimed(tag)
	})
	if postgres.IsAmbiguous(err) { // the request does nothing, so the key must not stay used for a day
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
		defer cancel()
		err = errors.Join(err, k.Revoke(undo, account, operation, key, holder))
	}
	return postgres.Classify(err, "claim an idempotency key")
}

// claimWithin bounds a claim with its repetitions: a killed server is back within this time.
const claimWithin = 20 * time.Second

// undoWithin bounds the revocation of a claim without an answer.
const undoWithin = 2 * time.Second

// Revoke takes a key from holder, also if the claim of holder reaches the database only later. Release frees a key that
// holder has.
func (k *Keys) Revoke(ctx context.Context, account, operation, key string, holder uuid.UUID) error {
	_, err := postgres.Exec(ctx, k.pool, revokeClaim, account, operation, key, holder)
	return postgres.Classify(err, "revoke the claim of an idempotency key")
}

// answerWithin bounds the first answer of a key after its job is recorded: writing it takes milliseconds.
const answerWithin = 2 * time.Second

// Unanswered returns the id of what was made for a key whose first answer was never stored. ok is false for a key that has
// an answer. It waits up to two seconds for an answer that is being stored.
func (k *Keys) Unanswered(ctx context.Context, account, operation, key string) (made uuid.UUID, ok bool, err error) {
	wait, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	for delays := postgres.Delays(postgres.FirstRetry, postgres.LongestRetry); ; {
		var holder uuid.NullUUID
		err := k.pool.QueryRow(ctx, `select holder from idempotency_keys
			where account = $1 and operation = $2 and key = $3 and expires_at > now()`, account, operation, key).Scan(&holder)
		if errors.Is(err, pgx.ErrNoRows) {
			return uuid.Nil, false, nil
		}
		if err != nil || !holder.Valid {
			return uuid.Nil, false, postgres.Classify(err, "look for the job of an idempotency key")
		}
		if postgres.Pause(wait, delays.NextBackOff()) != nil {
			return holder.UUID, ctx.Err() == nil, ctx.Err()
		}
	}
}

// Answered records that the first answer of a key was given. From then on the key is refused.
func (k *Keys) Answered(ctx context.Context, account, operation, key string, made uuid.UUID) error {
	_, err := postgres.Exec(ctx, k.pool, `update idempotency_keys set holder = null
		where account = $1 and operation = $2 and key = $3 and holder = $4`, account, operation, key, made)
	return postgres.Classify(err, "record the answer of an idempotency key")
}

// Check fails with Conflict, idempotency_key_reuse, if the key is in use.
func (k *Keys) Check(ctx context.Context, account, operation, key string) error {
	var taken bool
	err := k.pool.QueryRow(ctx, `select exists (select from idempotency_keys
		where account = $1 and operation = $2 and key = $3 and expires_at > now())`, account, operation, key).Scan(&taken)
	if err == nil && taken {
		return keyReused()
	}
	return postgres.Classify(err, "look for an idempotency key")
}

// Release releases the key that holder claimed. While the database is down, it retries until ctx ends.
func (k *Keys) Release(ctx context.Context, account, operation, key string, holder uuid.UUID) error {
	for delays := postgres.Delays(postgres.FirstRetry, postgres.LongestRetry); ; {
		_, err := postgres.Exec(ctx, k.pool, `delete from idempotency_keys where account = $1 and operation = $2 and key = $3 and holder = $4`,
			account, operation, key, holder)
		err = postgres.Classify(err, "release an idempotency key")
		if !fault.Is(err, fault.Unavailable) || postgres.Pause(ctx, delays.NextBackOff()) != nil {
			return err
		}
	}
}
