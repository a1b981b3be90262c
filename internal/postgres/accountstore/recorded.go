package accountstore

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/audit"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// accountDB is a pool or a transaction.
type accountDB interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// accountReads are the reads that RecordedAccounts does not change.
type accountReads = Store

// RecordedAccounts are accounts whose changes by operators are recorded as events, in the transaction of the change.
type RecordedAccounts struct {
	*accountReads
	events *eventstore.Store
	by     eventlog.Meta
}

var _ account.Store = (*RecordedAccounts)(nil)

// Recorded returns the store that records its changes as events with the meta by.
func (s *Store) Recorded(events *eventstore.Store, by eventlog.Meta) *RecordedAccounts {
	return &RecordedAccounts{accountReads: s, events: events, by: by}
}

// Create implements account.Store.
func (s *RecordedAccounts) Create(ctx context.Context, name string, tier account.Tier) (a account.Account, err error) {
	err = s.change(ctx, func(tx pgx.Tx) error {
		if a, err = createAccount(ctx, tx, name, tier); err != nil {
			return err
		}
		return s.record(ctx, tx, a.ID, audit.TypeAccountCreated, audit.AccountCreatedV1{Name: name, Tier: string(tier)})
	})
	return a, err
}

// AddKey implements account.Store.
func (s *RecordedAccounts) AddKey(ctx context.Context, key account.Key, hash account.KeyHash) error {
	return s.change(ctx, func(tx pgx.Tx) error {
		if err := addKey(ctx, tx, key, hash); err != nil {
			return err
		}
		names := make([]string, len(key.Scopes))
		for i, scope := range key.Scopes {
			names[i] = string(scope)
		}
		return s.record(ctx, tx, key.Account, audit.TypeKeyIssued, audit.KeyIssuedV1{Key: key.ID, Scopes: names})
	})
}

// RevokeKey implements account.Store.
func (s *RecordedAccounts) RevokeKey(ctx context.Context, owner, id string) error {
	return s.change(ctx, func(tx pgx.Tx) error {
		if err := revokeKey(ctx, tx, owner, id); err != nil {
			return err
		}
		return s.record(ctx, tx, owner, audit.TypeKeyRevoked, audit.KeyRevokedV1{Key: id})
	})
}

func (s *RecordedAccounts) change(ctx context.Context, do func(pgx.Tx) error) error {
	if err := pgx.BeginFunc(ctx, s.pool, do); err != nil {
		return err
	}
	s.events.Wake()
	return nil
}

func (s *RecordedAccounts) record(ctx context.Context, tx pgx.Tx, owner, eventType string, data any) error {
	_, err := s.events.AppendTx(ctx, tx, eventlog.Append{
		Stream: account.Stream(owner), Account: owner, Expected: eventlog.AnyVersion, Meta: s.by,
		Events: []eventlog.Event{{ID: uuid.New(), Type: eventType, Data: data}},
	})
	return err
}
