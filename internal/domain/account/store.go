package account

import (
	"context"

	"github.com/google/uuid"
)

// Store stores accounts and keys.
type Store interface {
	KeyFinder
	// Create adds an account. A name in use is Conflict. A name that CheckName refuses is Invalid.
	Create(ctx context.Context, name string, tier Tier) (Account, error)
	// Account returns the account with an id. An unknown account is NotFound.
	Account(ctx context.Context, id string) (Account, error)
	// AccountByName returns the account with a name. An unknown account is NotFound.
	AccountByName(ctx context.Context, name string) (Account, error)
	// Accounts lists all accounts by name.
	Accounts(ctx context.Context) ([]Account, error)
	// AddKey stores a key under the hash of its secret.
	AddKey(ctx context.Context, key Key, hash KeyHash) error
	// Keys lists the keys of an account, oldest first, including revoked ones.
	Keys(ctx context.Context, account string) ([]Key, error)
	// RevokeKey revokes a key. Revoking it again has no effect. An unknown key is NotFound.
	RevokeKey(ctx context.Context, account, id string) error
}

// Issue makes a key for the account and returns it with its secret, which is shown once and not stored. A key without
// scopes gets all of them.
func Issue(ctx context.Context, store Store, key Key) (secret string, issued Key, err error) {
	secret, key.Prefix = NewSecret()
	key.ID = uuid.NewString()
	if len(key.Scopes) == 0 {
		key.Scopes = []Scope{ScopeRead, ScopeWrite}
	}
	if err := store.AddKey(ctx, key, HashKey(secret)); err != nil {
		return "", Key{}, err
	}
	return secret, key, nil
}
