// Package accounts implements the operators' commands on accounts, their keys and their credit.
package accounts

import (
	"context"
	"errors"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
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
		subscriptions: accountstore.NewSubscriptions(events), storage: storage,
	}
}

// Actions are what operators do to accounts.
var Actions = action.Group[Service]{
	Use:   "accounts",
	Short: "Create, list and change accounts (--auth keys)",
	Long: `Accounts own jobs, files and API keys; an account cannot see those of another. The tier of an
account determines how many of its jobs run at the same time: free 0, standard 1, creator 3, pro 5,
unless MILLRACE_TIER_SLOTS sets other numbers. An account that was granted credit needs credit to submit.`,
	Example: `  millrace accounts create acme --tier creator
  millrace keys create --account acme
  millrace accounts set acme --tier pro --reason "upgrade, invoice 17"
  millrace accounts models acme --allow 'bfl/*' --reason "contract of May"
  millrace accounts labels acme --allow sdxl --reason "contract of May"
  millrace accounts storage acme --limit 50GiB --reason "contract of May"
  millrace accounts credit acme --amount 25 --reason "trial"
  millrace accounts ledger acme`,
	Actions: []action.For[Service]{
		Create, list, show, Change, showModels, setModels, showLabels, setLabels, showStorage, setStorage, showCredit, Grant, ledger,
	},
}

// Keys are what operators do to API keys.
var Keys = action.Group[Service]{
	Use:   "keys",
	Short: "Create, list and revoke API keys",
	Long:  `A key is shown once, when it is created; only its hash is stored.`,
	Example: `  millrace keys create --account acme
  millrace keys create --account acme --scope read
  millrace keys list --account acme
  millrace keys revoke --account acme 98212ca5-e30c-47d6-9d19-88c1435a7b52 --reason "leaked"`,
	Actions: []action.For[Service]{IssueKey, listKeys, RevokeKey},
}

// named is the parameter of actions on one account.
type named struct {
	Account string `name:"account" arg:"ACCOUNT" resolve:"account"`
}

// Resolve implements action.Resolver.
func (a Service) Resolve(ctx context.Context, _, text string) (string, error) {
	found, err := operate.Account(ctx, a.pool, text)
	return found.ID, err
}

// Accounts returns all accounts.
func (a Service) Accounts(ctx context.Context) ([]account.Account, error) {
	return a.store.Accounts(ctx)
}

// Account returns the account with that id, or NotFound.
func (a Service) Account(ctx context.Context, id string) (account.Account, error) {
	return a.store.Account(ctx, id)
}

// Keys returns the keys of an account.
func (a Service) Keys(ctx context.Context, owner string) ([]account.Key, error) {
	if _, err := a.store.Account(ctx, owner); err != nil {
		return nil, err
	}
	return a.store.Keys(ctx, owner)
}

// Storage returns the storage that an account uses, and its limit.
func (a Service) Storage(ctx context.Context, of account.Account) (account.Storage, error) {
	return a.storage.UsageOf(ctx, of)
}

// Balance returns the credit of an account.
func (a Service) Balance(ctx context.Context, owner string) (credit.Balance, error) {
	if _, err := a.store.Account(ctx, owner); err != nil {
		return credit.Balance{}, err
	}
	return a.credits.Balance(ctx, owner)
}

// by returns a store that records by as the actor and the reason of its changes.
func (a Service) by(by operate.Attribution) *accountstore.RecordedAccounts {
	return a.store.Recorded(a.events, by.Meta())
}

// change changes an account.
func (a Service) change(ctx context.Context, c account.Change, by operate.Attribution) (account.Account, error) {
	defer a.storage.Forget(c.Account)
	c.Actor, c.Reason, c.RequestID = by.Actor, by.Reason, by.RequestID
	return a.subscriptions.Change(ctx, c)
}

// errNoReason refuses a change, by a command that otherwise only shows.
var errNoReason = errors.New("a change needs a reason: --reason TEXT")
