package serverstore

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

const tokenColumns = `id::text, name, prefix, created_at, revoked_at, last_used_at, price, hosts, pool, labels`

func scanToken(row pgx.CollectableRow) (server.Token, error) {
	var t server.Token
	err := row.Scan(&t.ID, &t.Name, &t.Prefix, &t.CreatedAt, &t.RevokedAt, &t.LastUsed, &t.Price, &t.Hosts, &t.Pool, &t.Labels)
	return t, err
}

// AddToken stores a registration token with the name, the public prefix, the hosts and the price of t under the hash
// of its secret. A name in use, even by a revoked token, is Conflict.
func (st *Store) AddToken(ctx context.Context, t server.Token, hash server.TokenHash, by server.By) (server.Token, error) {
	t.ID, t.CreatedAt = uuid.NewString(), time.Now().UTC().Truncate(time.Microsecond)
	_, err := st.events.Write(ctx, eventstore.Decision{
		What: "add a registration token",
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			c.Queue(`insert into comfyui_tokens (id, name, prefix, hash, created_at, price, hosts, pool, labels)
				values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
				t.ID, t.Name, t.Prefix, hash[:], t.CreatedAt, t.Price, append([]string{}, t.Hosts...), t.Pool, append([]string{}, t.Labels...))
			return record(c, t, by, server.TypeTokenCreated, server.TokenCreatedV1{ID: t.ID, Name: t.Name, Hosts: t.Hosts, Price: t.Price})
		},
	})
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.ConstraintName == "comfyui_tokens_name_key" {
		err = fault.Wrap(err, fault.Conflict, fault.CodeTokenExists, "a registration token named %q exists already", t.Name)
	}
	return t, err
}

// Tokens returns all registration tokens, oldest first, including revoked ones.
func (st *Store) Tokens(ctx context.Context) ([]server.Token, error) {
	return postgres.Collect(ctx, st.pool, "list registration tokens", scanToken,
		`select `+tokenColumns+` from comfyui_tokens order by created_at, id`)
}

// RevokeToken revokes a token by its id or name: from now on it can neither register nor renew. Revoking it again
// records nothing.
func (st *Store) RevokeToken(ctx context.Context, ref string, by server.By) (t server.Token, err error) {
	_, err = st.events.Write(ctx, eventstore.Decision{
		What: "revoke a registration token",
		Read: func(q *pgx.Batch) {
			q.Queue(`select `+tokenColumns+` from comfyui_tokens where id::text = $1 or name = $1
					order by id::text = $1 desc limit 1 for update`, ref).
				Query(func(rows pgx.Rows) (err error) {
					if t, err = pgx.CollectExactlyOneRow(rows, scanToken); errors.Is(err, pgx.ErrNoRows) {
						return server.UnknownToken()
					}
					return err
				})
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if t.RevokedAt != nil {
				return eventstore.ErrNothing
			}
			postgres.ScanInto(c.Queue(`update comfyui_tokens set revoked_at = now() where id = $1 returning revoked_at`, t.ID), &t.RevokedAt)
			return record(c, t, by, server.TypeTokenRevoked, server.TokenRevokedV1{ID: t.ID})
		},
	})
	return t, err
}

// TokenByHash returns the token of a secret. An unknown or revoked token is NotFound. At most once a minute it
// records the use; the token is valid even if that fails.
func (st *Store) TokenByHash(ctx context.Context, hash server.TokenHash) (server.Token, error) {
	t, ok, err := postgres.One(ctx, st.pool, "check a registration token", scanToken,
		`select `+tokenColumns+` from comfyui_tokens where hash = $1 and revoked_at is null`, hash[:])
	switch {
	case err != nil:
		return t, err
	case !ok:
		return t, server.UnknownToken()
	}
	if t.LastUsed == nil || time.Since(*t.LastUsed) > time.Minute {
		if _, err := st.pool.Exec(ctx, `update comfyui_tokens set last_used_at = now() where id = $1`, t.ID); err != nil {
			slog.WarnContext(ctx, "last use of a registration token not recorded", "token", t.Name, "error", err)
		}
	}
	return t, nil
}

// tokenID returns the id of a token for its column.
func tokenID(t *server.Token) *string {
	if t == nil {
		return nil
	}
	return &t.ID
}
