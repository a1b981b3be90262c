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

// TokenAccounts finds the accounts that tokens of an issuer name, and makes those that are new.
type TokenAccounts struct {
	accounts      *Store
	subscriptions *Subscriptions
	newTier       account.Tier
}

// NewTokenAccounts returns the finder over pool's database; it appends through events. An account that is
// seen for the first time is made with the tier newTier, "" = it is refused.
func NewTokenAccounts(pool *pgxpool.Pool, events *eventstore.Store, newTier account.Tier) *TokenAccounts {
	return &TokenAccounts{accounts: New(pool), subscriptions: NewSubscriptions(pool, events), newTier: newTier}
}

// AccountOf returns the account that a token names by its id or else its name; an id is never taken for
// another's name. Where the token says a tier, the account has it from now on, unless a token that was
// issued later has said another. Absent is NotFound, suspended is Denied.
func (s *TokenAccounts) AccountOf(ctx context.Context, n account.TokenClaims) (account.Account, error) {
	if n.Text == account.LocalID { // it is nobody's: the modes without accounts work on it
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
	if strings.ContainsRune(n.Text, 0) { // PostgreSQL takes no such text, so nothing is called so
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
		return account.Account{}, fault.Wrap(err, fault.Denied, fault.CodeForbidden, "the account that the token names cannot be made")
	}
	tier := s.newTier
	if n.Tier != "" {
		tier = n.Tier
	}
	if a, err = s.accounts.Create(ctx, n.Text, tier); fault.Is(err, fault.Conflict) { // by another request in this moment
		return s.accounts.AccountByName(ctx, n.Text)
	}
	return a, err
}

// retier gives an account the tier that a token says. The time of the token's issue is claimed first, so
// that tokens of before are without effect and no two of them can take turns.
func (s *TokenAccounts) retier(ctx context.Context, a account.Account, n account.TokenClaims) (account.Account, error) {
	tag, err := s.accounts.pool.Exec(ctx, `update accounts set tier_token_at = $2
		where id = $1 and (tier_token_at is null or tier_token_at < $2)`, a.ID, n.IssuedAt.UTC().Truncate(time.Second))
	if err != nil {
		return account.Account{}, postgres.Classify(err, "read the tier in a token")
	}
	if tag.RowsAffected() == 0 {
		return a, nil
	}
	return s.subscriptions.Change(ctx, account.Change{Account: a.ID, Tier: n.Tier, Actor: "token", Reason: "the tier that the issuer's token says"})
}
