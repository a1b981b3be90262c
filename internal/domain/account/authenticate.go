package account

import (
	"context"
	"crypto/subtle"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Anyone accepts every caller as the local account (mode none) and ignores credentials.
type Anyone struct{}

// Authenticate returns the local identity.
func (Anyone) Authenticate(context.Context, string) (Identity, error) { return Local(), nil }

// Static accepts one token as the local account (mode token).
type Static struct{ hash KeyHash }

// NewStatic returns the authenticator of that token. An empty token is Invalid.
func NewStatic(token string) (*Static, error) {
	if token == "" {
		return nil, fault.New(fault.Invalid, "", "auth mode token needs a token")
	}
	return &Static{hash: HashKey(token)}, nil
}

// Authenticate returns the local identity for the right token, otherwise Unauthenticated.
func (s *Static) Authenticate(_ context.Context, secret string) (Identity, error) {
	hash := HashKey(secret)
	if subtle.ConstantTimeCompare(hash[:], s.hash[:]) != 1 {
		return Identity{}, unauthenticated(secret)
	}
	return Local(), nil
}

// KeyFinder looks keys up.
type KeyFinder interface {
	// IdentityByKey returns the identity of the key with that hash. An unknown
	// or revoked key is NotFound.
	IdentityByKey(ctx context.Context, hash KeyHash) (Identity, error)
}

// Keys accepts the API keys of accounts (mode keys).
type Keys struct{ finder KeyFinder }

// NewKeys returns the authenticator over the stored keys.
func NewKeys(finder KeyFinder) *Keys { return &Keys{finder: finder} }

// Authenticate returns the identity of the key, or Unauthenticated for an unknown
// one. A failure of the store keeps its kind.
func (k *Keys) Authenticate(ctx context.Context, secret string) (Identity, error) {
	if secret == "" || len(secret) > maxSecret {
		return Identity{}, unauthenticated(secret)
	}
	id, err := k.finder.IdentityByKey(ctx, HashKey(secret))
	if fault.Is(err, fault.NotFound) {
		return Identity{}, unauthenticated(secret)
	}
	return id, err
}

func unauthenticated(secret string) error {
	if secret == "" {
		return fault.New(fault.Unauthenticated, fault.CodeUnauthorized, "a credential is required")
	}
	return fault.New(fault.Unauthenticated, fault.CodeUnauthorized, "the credential is not valid")
}
