// Package accounts implements the operators' commands on accounts, their keys and their credit.
package accounts

import (
	"context"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Service lists and changes accounts, keys and credit for operators.
type Service struct {
	pool          *postgres.Pool
	store         *accountstore.Store
	events        *eventstore.Store
	credits       *accountstore.Credits
	subscriptions *accountstore.Subscriptions
	storage       *accountstore.Storage
}

// New returns the service over a database. Its further arguments are the stores of an account's data.
func New(pool *postgres.Pool, events *eventstore.Store, storage *accountstore.Storage) Service {
	return Service{
		pool: pool, store: accountstore.New(pool), events: events, credits: accountstore.NewCredits(pool, events),
		subscriptions: accountstore.NewSubscriptions(pool, events), storage: storage,
	}
}

// Accounts implements admin.Accounts.
func (a Service) Accounts(ctx context.Context) ([]account.Account, error) {
	return a.store.Accounts(ctx)
}

// Keys implements admin.Accounts.
func (a Service) Keys(ctx context.Context, owner string) ([]account.Key, error) {
	if _, err := a.store.Account(ctx, owner); err != nil {
		return nil, err
	}
	return a.store.Keys(ctx, owner)
}

// by returns a store that records by as the actor and the reason of its changes.
func (a Service) by(by operate.Attribution) *accountstore.RecordedAccounts {
	return a.store.Recorded(a.events, eventlog.Meta{Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID})
}

// Account implements admin.Accounts.
func (a Service) Account(ctx context.Context, id string) (account.Account, error) {
	return a.store.Account(ctx, id)
}

// Create implements admin.Accounts.
func (a Service) Create(ctx context.Context, name string, tier account.Tier, by operate.Attribution) (account.Account, error) {
	return a.by(by).Create(ctx, name, tier)
}

// Change implements admin.Accounts.
func (a Service) Change(ctx context.Context, c account.Change) (account.Account, error) {
	defer a.storage.Forget(c.Account)
	return a.subscriptions.Change(ctx, c)
}

// IssueKey implements admin.Accounts.
func (a Service) IssueKey(ctx context.Context, owner string, scopes []account.Scope, by operate.Attribution) (string, account.Key, error) {
	if _, err := a.store.Account(ctx, owner); err != nil {
		return "", account.Key{}, err
	}
	return account.Issue(ctx, a.by(by), account.Key{Account: owner, Scopes: scopes})
}

// RevokeKey implements admin.Accounts.
func (a Service) RevokeKey(ctx context.Context, owner, key string, by operate.Attribution) error {
	return a.by(by).RevokeKey(ctx, owner, key)
}

// Grant implements admin.Accounts.
func (a Service) Grant(ctx context.Context, owner string, micros int64, by operate.Attribution) (credit.Balance, error) {
	if _, err := a.store.Account(ctx, owner); err != nil {
		return credit.Balance{}, err
	}
	if err := a.credits.Grant(ctx, owner, micros, by.Actor, by.Reason); err != nil {
		return credit.Balance{}, err
	}
	return a.credits.Balance(ctx, owner)
}

// Storage implements admin.Accounts.
func (a Service) Storage(ctx context.Context, of account.Account) (account.Storage, error) {
	return a.storage.UsageOf(ctx, of)
}

// Balance implements admin.Accounts.
func (a Service) Balance(ctx context.Context, owner string) (credit.Balance, error) {
	if _, err := a.store.Account(ctx, owner); err != nil {
		return credit.Balance{}, err
	}
	return a.credits.Balance(ctx, owner)
}

// Named returns the account with that id, or else with that name.
func (a Service) Named(ctx context.Context, text string) (account.Account, error) {
	return operate.Account(ctx, a.pool, text)
}

// AllStorage returns the stored bytes of every account, by its id.
func (a Service) AllStorage(ctx context.Context) (map[string]account.Storage, error) {
	return a.storage.All(ctx)
}

// Recount adds up the records of an account's files. It returns the sum and the stored count, which should be equal.
func (a Service) Recount(ctx context.Context, owner string) (counted, kept account.Storage, err error) {
	return a.storage.Recount(ctx, owner)
}

// Ledger returns each entry of an account's ledger, the balance that results from the entries, and the stored
// balance.
func (a Service) Ledger(ctx context.Context, owner string) (entries []Entry, folded, inForce credit.Balance, err error) {
	if inForce, err = a.credits.Balance(ctx, owner); err != nil {
		return nil, folded, inForce, err
	}
	entries, folded, err = ledgerEntries(ctx, a.events, owner)
	return entries, folded, inForce, err
}

// RebuildLedger computes the stored balance again from the events.
func (a Service) RebuildLedger(ctx context.Context, owner string) error {
	_, _, err := a.credits.Rebuild(ctx, owner)
	return err
}
