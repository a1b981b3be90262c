package account

import (
	"context"
	"strings"
)

// Authenticator checks credentials of one kind.
type Authenticator interface {
	// Authenticate returns the identity of the secret, or Unauthenticated if it is not valid.
	Authenticate(ctx context.Context, secret string) (Identity, error)
}

// KeysOrTokens accepts API keys and tokens. The form of a credential decides which check applies: a refused token is
// never tried as a key.
type KeysOrTokens struct {
	Keys   Authenticator
	Tokens Authenticator
	Shaped func(secret string) bool // reports whether a secret has the form of a token
}

// Authenticate implements Authenticator.
func (e KeysOrTokens) Authenticate(ctx context.Context, secret string) (Identity, error) {
	if !IsKey(secret) && e.Shaped(secret) {
		return e.Tokens.Authenticate(ctx, secret)
	}
	return e.Keys.Authenticate(ctx, secret)
}

// hostedKeyPrefix begins the keys of the hosted service. Its SDKs may send such a key, which is checked as a key and
// refused.
const hostedKeyPrefix = "comfyui-"

// IsKey reports whether a credential begins like an API key.
func IsKey(secret string) bool {
	return strings.HasPrefix(secret, hostedKeyPrefix) || strings.HasPrefix(secret, keyLead)
}
