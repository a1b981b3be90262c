package app

import (
	"context"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/partner/router"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/web/webtoken"
)

func (in *Instance) offers() *router.Offers {
	return &router.Offers{Catalog: in.catalog, Lookup: providerKeys, Ceilings: in.cfg.Router.Ceilings}
}

// tokens returns the verifier of JSON Web Tokens, or nil if no tokens are accepted.
func (in *Instance) tokens() (edge.Authenticator, error) {
	if !in.cfg.Tokens.Accepted() {
		return nil, nil // the API takes it for "none"
	}
	if in.verifier != nil {
		return in.verifier, nil
	}
	opts := in.settings.tokens
	opts.Log = in.log
	var accounts webtoken.Accounts = accountstore.NewTokenAccounts(in.pool, in.events, in.settings.create)
	if in.settings.mode != account.ModeKeys {
		accounts = localAccount{}
	}
	verifier, err := webtoken.New(opts, accounts)
	if err != nil {
		return nil, err
	}
	in.verifier = verifier
	return verifier, nil
}

// localAccount is the only account in the modes none and token.
type localAccount struct{}

// AccountOf implements webtoken.Accounts.
func (localAccount) AccountOf(_ context.Context, n account.TokenClaims) (account.Account, error) {
	if n.Text != account.LocalID {
		return account.Account{}, fault.New(fault.NotFound, "", "the account does not exist: modes none and token have only the local account")
	}
	return account.Account{ID: account.LocalID, Tier: account.TierLocal, Active: true}, nil
}

// keysOrTokens checks the credentials of accounts: API keys and, if they are accepted, tokens.
func (in *Instance) keysOrTokens() (edge.Authenticator, error) {
	keys := account.NewKeys(accountstore.New(in.pool))
	tokens, err := in.tokens()
	if err != nil || tokens == nil {
		return keys, err
	}
	return account.KeysOrTokens{Keys: keys, Tokens: tokens, Shaped: webtoken.Shaped}, nil
}
