// Package accountstore stores the data of accounts in PostgreSQL: their keys, tier and subscription, credits, gates,
// storage usage, and the files of their editor. It promises that figures on which other stores depend (credits,
// bytes) change in the transactions of those stores, so that they are always exact.
package accountstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Store stores accounts and API keys. It implements account.Store.
type Store struct{ pool *pgxpool.Pool }

var _ account.Store = (*Store)(nil)

// New returns the account store on pool.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// IdentityByKey implements account.KeyFinder, with one query by the unique hash and, at most once a minute, a second
// one that records the use.
func (s *Store) IdentityByKey(ctx context.Context, hash account.KeyHash) (account.Identity, error) {
	var id account.Identity
	var suspended, noted bool
	err := s.pool.QueryRow(ctx, `select a.id, a.tier, a.active, a.suspended, not a.router, a.router_models, a.router_denied, k.scopes,
		k.prefix, coalesce(k.last_used_at > now() - interval '1 minute', false)
		from api_keys k join accounts a on a.id = k.account
		where k.hash = $1 and k.revoked_at is null`, hash[:]).
		Scan(&id.Account, &id.Tier, &id.Active, &suspended, &id.Access.Off, &id.Access.Models, &id.Access.Denied, &id.Scopes, &id.Key, &noted)
	if errors.Is(err, pgx.ErrNoRows) {
		return account.Identity{}, fault.Wrap(err, fault.NotFound, "", "no such key")
	}
	if err != nil {
		return account.Identity{}, fault.Wrap(err, fault.Unavailable, "", "the key cannot be checked now")
	}
	if suspended {
		return account.Identity{}, account.Suspended()
	}
	if !noted {
		s.noteUse(ctx, hash)
	}
	return id, nil
}

// noteUse records that a key was used. The key is valid even if this fails: reads continue on a database that is
// read-only.
func (s *Store) noteUse(ctx context.Context, hash account.KeyHash) {
	if _, err := s.pool.Exec(ctx, `update api_keys set last_used_at = now() where hash = $1
		and (last_used_at is null or last_used_at <= now() - interval '1 minute')`, hash[:]); err != nil {
		slog.WarnContext(ctx, "last use of a key not recorded", "error", err)
	}
}

const accountColumns = `id, name, tier, active, suspended, not router, router_models, router_denied, server_labels, storage_limit,
	created_at`

// scanAccount reads a row that begins with accountColumns and goes on with those of more.
func scanAccount(row pgx.Row, more ...any) (account.Account, error) {
	var a account.Account
	columns := []any{
		&a.ID, &a.Name, &a.Tier, &a.Active, &a.Suspended, &a.Access.Off, &a.Access.Models, &a.Access.Denied, &a.Labels.Allowed,
		&a.Storage, &a.CreatedAt,
	}
	err := row.Scan(append(columns, more...)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return account.Account{}, fault.Wrap(err, fault.NotFound, fault.CodeNotFound, "no such account")
	}
	a.CreatedAt = a.CreatedAt.UTC()
	return a, postgres.Classify(err, "read an account")
}

// Create implements account.Store.
func (s *Store) Create(ctx context.Context, name string, tier account.Tier) (account.Account, error) {
	return createAccount(ctx, s.pool, name, tier)
}

func createAccount(ctx context.Context, db postgres.RowQueryer, name string, tier account.Tier) (account.Account, error) {
	if err := account.CheckName(name); err != nil {
		return account.Account{}, err
	}
	a, err := scanAccount(db.QueryRow(ctx, `insert into accounts (id, name, tier) values ($1, $2, $3)
		returning `+accountColumns, uuid.NewString(), name, tier))
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == postgres.UniqueViolation {
		return account.Account{}, fault.Wrap(err, fault.Conflict, fault.CodeAccountExists, "an account named %q exists", name)
	}
	if err != nil {
		return account.Account{}, fmt.Errorf("create account %q: %w", name, err)
	}
	return a, nil
}

// Account implements account.Store.
func (s *Store) Account(ctx context.Context, id string) (account.Account, error) {
	return scanAccount(s.pool.QueryRow(ctx, `select `+accountColumns+` from accounts where id = $1`, id))
}

// Payer returns an account, and whether it can pay for work whose price is not known yet: it is not metered, or has
// credit left.
func (s *Store) Payer(ctx context.Context, id string) (a account.Account, pays bool, err error) {
	row := s.pool.QueryRow(ctx, `select `+accountColumns+`, coalesce((select available > 0 from credit_balances where account = $1), true)
		from accounts where id = $1`, id)
	a, err = scanAccount(row, &pays)
	return a, pays, err
}

// AccountByName implements account.Store.
func (s *Store) AccountByName(ctx context.Context, name string) (account.Account, error) {
	return scanAccount(s.pool.QueryRow(ctx, `select `+accountColumns+` from accounts where name = $1`, name))
}

// Accounts implements account.Store.
func (s *Store) Accounts(ctx context.Context) ([]account.Account, error) {
	return postgres.Collect(ctx, s.pool, "list accounts", func(row pgx.CollectableRow) (account.Account, error) { return scanAccount(row) },
		`select `+accountColumns+` from accounts order by name`)
}

const insertKey = `insert into api_keys (id, account, hash, prefix, scopes) values ($1, $2, $3, $4, $5)`

// AddKey implements account.Store.
func (s *Store) AddKey(ctx context.Context, key account.Key, hash account.KeyHash) error {
	_, err := s.pool.Exec(ctx, insertKey, key.ID, key.Account, hash[:], key.Prefix, key.Scopes)
	return postgres.Classify(err, "add a key")
}

// Keys implements account.Store.
func (s *Store) Keys(ctx context.Context, owner string) ([]account.Key, error) {
	return postgres.Collect(ctx, s.pool, "list the keys of an account", func(row pgx.CollectableRow) (account.Key, error) {
		var k account.Key
		err := row.Scan(&k.ID, &k.Account, &k.Prefix, &k.Scopes, &k.CreatedAt, &k.RevokedAt, &k.LastUsed)
		return k, err
	}, `select id, account, prefix, scopes, created_at, revoked_at, last_used_at from api_keys
		where account = $1 order by created_at, id`, owner)
}

const revokeKey = `update api_keys set revoked_at = coalesce(revoked_at, now()) where account = $1 and id = $2`

// RevokeKey implements account.Store.
func (s *Store) RevokeKey(ctx context.Context, owner, id string) error {
	if err := checkKeyID(id); err != nil {
		return err
	}
	tag, err := s.pool.Exec(ctx, revokeKey, owner, id)
	if err == nil && tag.RowsAffected() == 0 {
		return errNoKey(nil)
	}
	return postgres.Classify(err, "revoke a key")
}

func checkKeyID(id string) error {
	if _, err := uuid.Parse(id); err != nil {
		return errNoKey(err)
	}
	return nil
}

func errNoKey(cause error) error {
	return fault.Wrap(cause, fault.NotFound, fault.CodeNotFound, "no such key")
}
