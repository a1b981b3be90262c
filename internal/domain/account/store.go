package account

import (
	"context"

	"github.com/google/uuid"
)

// Store keeps accounts and keys.
type Store interface {
	KeyFinder
	// Create adds an account. A name that is taken is Conflict, one that CheckName refuses is Invalid.
	Create(ctx context.Context, name string, tier Tier) (Account, error)
	// Account returns the account of that id. Absent is NotFound.
	Account(ctx context.Context, id string) (Account, error)
	// AccountByName returns the account of that name. Absent is NotFound.
	AccountByName(ctx context.Context, name string) (Account, error)
	// Accounts lists all accounts by name.
	Accounts(ctx context.Context) ([]Account, error)
	// AddKey stores a key under the hash of its secret.
	AddKey(ctx context.Context, key Key, hash KeyHash) error
	// Keys lists the keys of an account, oldest first, revoked ones included.
	Keys(ctx context.Context, account string) ([]Key, error)
	// RevokeKey ends a key; a key that is revoked stays so. Absent is NotFound.
	RevokeKey(ctx context.Context, account, id string) error
}

// Issue makes a key for the account and returns it with its secret, which is
// shown once and kept nowhere. A key without scopes gets all of them.
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
