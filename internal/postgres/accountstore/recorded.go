package accountstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/audit"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

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
	err = s.write(ctx, eventstore.Decision{
		What: "create an account",
		Decide: func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
			if a, err = createAccount(ctx, tx, name, tier); err != nil {
				return err
			}
			return s.record(c, a.ID, audit.TypeAccountCreated, audit.AccountCreatedV1{Name: name, Tier: string(tier)})
		},
	})
	return a, err
}

// AddKey implements account.Store.
func (s *RecordedAccounts) AddKey(ctx context.Context, key account.Key, hash account.KeyHash) error {
	names := make([]string, len(key.Scopes))
	for i, scope := range key.Scopes {
		names[i] = string(scope)
	}
	return s.write(ctx, eventstore.Decision{
		What: "add a key",
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			c.Queue(insertKey, key.ID, key.Account, hash[:], key.Prefix, key.Scopes)
			return s.record(c, key.Account, audit.TypeKeyIssued, audit.KeyIssuedV1{Key: key.ID, Scopes: names})
		},
	})
}

// RevokeKey implements account.Store.
func (s *RecordedAccounts) RevokeKey(ctx context.Context, owner, id string) error {
	if err := checkKeyID(id); err != nil {
		return err
	}
	var revoked int64
	return s.write(ctx, eventstore.Decision{
		What: "revoke a key",
		Read: func(q *pgx.Batch) { postgres.CountInto(q.Queue(revokeKey, owner, id), &revoked) },
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if revoked == 0 {
				return errNoKey(nil)
			}
			return s.record(c, owner, audit.TypeKeyRevoked, audit.KeyRevokedV1{Key: id})
		},
	})
}

func (s *RecordedAccounts) write(ctx context.Context, d eventstore.Decision) error {
	_, err := s.events.Write(ctx, d)
	return err
}

func (s *RecordedAccounts) record(c *eventstore.Changes, owner, eventType string, data any) error {
	return c.Append(eventlog.AppendTo(account.Stream(owner), owner, s.by, eventlog.NewEvent(eventType, data)))
}
