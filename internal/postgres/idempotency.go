package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Keys keeps idempotency keys that are claimed before the work they stand for begins.
type Keys struct{ pool *pgxpool.Pool }

// NewKeys returns the keys in pool's database.
func NewKeys(pool *pgxpool.Pool) *Keys { return &Keys{pool: pool} }

// Claim takes a key for 24 hours. One that is taken is Conflict, idempotency_key_reuse.
func (k *Keys) Claim(ctx context.Context, account, operation, key string) error {
	tag, err := k.pool.Exec(ctx, claimKey, account, operation, key)
	if err != nil {
		return classify(err, "claim an idempotency key")
	}
	return claimed(tag)
}

// Check is Conflict, idempotency_key_reuse, when the key is taken.
func (k *Keys) Check(ctx context.Context, account, operation, key string) error {
	var taken bool
	err := k.pool.QueryRow(ctx, `select exists (select from idempotency_keys
		where account = $1 and operation = $2 and key = $3 and expires_at > now())`, account, operation, key).Scan(&taken)
	if err == nil && taken {
		return keyReused()
	}
	return classify(err, "look for an idempotency key")
}

// Release gives a key back after a definite refusal.
func (k *Keys) Release(ctx context.Context, account, operation, key string) error {
	_, err := k.pool.Exec(ctx, `delete from idempotency_keys where account = $1 and operation = $2 and key = $3`, account, operation, key)
	return classify(err, "release an idempotency key")
}
