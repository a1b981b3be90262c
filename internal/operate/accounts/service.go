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
	Store         *accountstore.Store
	Events        *eventstore.Store
	Credits       *accountstore.Credits
	Subscriptions *accountstore.Subscriptions
	Storage       *accountstore.Storage
}

// New returns the service over a database. Accounts without a limit of their own may keep limit bytes; 0 = any number.
func New(pool *postgres.Pool, events *eventstore.Store, limit int64) Service {
	return Service{
		Store: accountstore.New(pool), Events: events, Credits: accountstore.NewCredits(pool, events),
		Subscriptions: accountstore.NewSubscriptions(pool, events), Storage: accountstore.NewStorage(pool, limit),
	}
}

// Accounts implements admin.Accounts.
func (a Service) Accounts(ctx context.Context) ([]account.Account, error) {
	return a.Store.Accounts(ctx)
}

// Keys implements admin.Accounts.
func (a Service) Keys(ctx context.Context, owner string) ([]account.Key, error) {
	if _, err := a.Store.Account(ctx, owner); err != nil {
		return nil, err
	}
	return a.Store.Keys(ctx, owner)
}

// by returns a store that records by as the actor and reason of its changes.
func (a Service) by(by operate.Attribution) *accountstore.RecordedAccounts {
	return a.Store.Recorded(a.Events, eventlog.Meta{Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID})
}

// Account implements admin.Accounts.
func (a Service) Account(ctx context.Context, id string) (account.Account, error) {
	return a.Store.Account(ctx, id)
}

// Create implements admin.Accounts.
func (a Service) Create(ctx context.Context, name string, tier account.Tier, by operate.Attribution) (account.Account, error) {
	return a.by(by).Create(ctx, name, tier)
}

// Change implements admin.Accounts.
func (a Service) Change(ctx context.Context, c account.Change) (account.Account, error) {
	defer a.Storage.Forget(c.Account)
	return a.Subscriptions.Change(ctx, c)
}

// IssueKey implements admin.Accounts.
func (a Service) IssueKey(ctx context.Context, owner string, scopes []account.Scope, by operate.Attribution) (string, account.Key, error) {
	if _, err := a.Store.Account(ctx, owner); err != nil {
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
	if _, err := a.Store.Account(ctx, owner); err != nil {
		return credit.Balance{}, err
	}
	if err := a.Credits.Grant(ctx, owner, micros, by.Actor, by.Reason); err != nil {
		return credit.Balance{}, err
	}
	return a.Credits.Balance(ctx, owner)
}

// Kept implements admin.Accounts.
func (a Service) Kept(ctx context.Context, of account.Account) (account.Storage, error) {
	return a.Storage.KeptBy(ctx, of)
}

// Balance implements admin.Accounts.
func (a Service) Balance(ctx context.Context, owner string) (credit.Balance, error) {
	if _, err := a.Store.Account(ctx, owner); err != nil {
		return credit.Balance{}, err
	}
	return a.Credits.Balance(ctx, owner)
}
