package account

import (
	"context"
	"strings"
)

// Authenticator checks credentials of one kind.
type Authenticator interface {
	// Authenticate returns what the secret stands for. Neither is Unauthenticated when it does not suffice.
	Authenticate(ctx context.Context, secret string) (Identity, error)
}

// Either accepts keys and tokens. A credential is one or the other by its form and is checked as that
// alone: what is refused as a token is never tried as a key.
type Either struct {
	Keys   Authenticator
	Tokens Authenticator
	Shaped func(secret string) bool // has the form of a token
}

// Authenticate implements Authenticator.
func (e Either) Authenticate(ctx context.Context, secret string) (Identity, error) {
	if !IsKey(secret) && e.Shaped(secret) {
		return e.Tokens.Authenticate(ctx, secret)
	}
	return e.Keys.Authenticate(ctx, secret)
}

// foreignLead begins the keys of the hosted service. Its SDKs may send one here; it is a key, and not one
// of ours (router facts, section 5).
const foreignLead = "comfyui-"

// IsKey reports whether a credential is an API key by its beginning.
func IsKey(secret string) bool {
	return strings.HasPrefix(secret, foreignLead) || strings.HasPrefix(secret, keyLead)
}
