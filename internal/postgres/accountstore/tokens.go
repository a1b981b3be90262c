package accountstore

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// TokenAccounts finds the accounts that an issuer's tokens name, and creates new ones.
type TokenAccounts struct {
	accounts      *Store
	subscriptions *Subscriptions
	newTier       account.Tier
}

// NewTokenAccounts returns the finder on pool, which appends through events. An unknown account is created with the
// tier newTier, or refused if newTier is "".
func NewTokenAccounts(pool *pgxpool.Pool, events *eventstore.Store, newTier account.Tier) *TokenAccounts {
	return &TokenAccounts{accounts: New(pool), subscriptions: NewSubscriptions(events), newTier: newTier}
}

// AccountOf returns the account that a token names by its id or its name. An id never matches the name of another
// account. If the token contains a tier, the account gets it, unless a token that was issued later contained another
// one. An unknown account is NotFound, a suspended one Denied.
func (s *TokenAccounts) AccountOf(ctx context.Context, n account.TokenClaims) (account.Account, error) {
	if n.Text == account.LocalID { // it belongs to the modes without accounts
		return account.Account{}, fault.New(fault.NotFound, fault.CodeNotFound, "no such account")
	}
	a, err := s.find(ctx, n)
	switch {
	case err != nil:
		return account.Account{}, err
	case a.Suspended:
		return account.Account{}, account.Suspended()
	case n.Tier == "" || n.Tier == a.Tier || n.IssuedAt.IsZero():
		return a, nil
	}
	return s.retier(ctx, a, n)
}

func (s *TokenAccounts) find(ctx context.Context, n account.TokenClaims) (account.Account, error) {
	if strings.ContainsRune(n.Text, 0) { // PostgreSQL refuses such a text, so no account has this name
		return account.Account{}, fault.New(fault.NotFound, fault.CodeNotFound, "no such account")
	}
	a, err := s.accounts.Account(ctx, n.Text)
	if fault.Is(err, fault.NotFound) {
		a, err = s.accounts.AccountByName(ctx, n.Text)
	}
	if s.newTier == "" || !fault.Is(err, fault.NotFound) {
		return a, err
	}
	if err := account.CheckName(n.Text); err != nil {
		return account.Account{}, fault.Wrap(err, fault.Denied, fault.CodeForbidden, "the account that the token names cannot be created")
	}
	tier := s.newTier
	if n.Tier != "" {
		tier = n.Tier
	}
	if a, err = s.accounts.Create(ctx, n.Text, tier); fault.Is(err, fault.Conflict) { // another request created it meanwhile
		return s.accounts.AccountByName(ctx, n.Text)
	}
	return a, err
}

// retier sets the tier of an account to the one in a token. It first claims the time at which the token was issued,
// so that older tokens have no effect.
func (s *TokenAccounts) retier(ctx context.Context, a account.Account, n account.TokenClaims) (account.Account, error) {
	tag, err := s.accounts.pool.Exec(ctx, `update accounts set tier_token_at = $2
		where id = $1 and (tier_token_at is null or tier_token_at < $2)`, a.ID, n.IssuedAt.UTC().Truncate(time.Second))
	if err != nil {
		return account.Account{}, postgres.Classify(err, "read the tier in a token")
	}
	if tag.RowsAffected() == 0 {
		return a, nil
	}
	return s.subscriptions.Change(ctx, account.Change{Account: a.ID, Tier: n.Tier, Actor: "token", Reason: "the tier in the issuer's token"})
}
