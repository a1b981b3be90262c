package api

import (
	"context"
	"errors"
	"log/slog"

	"github.com/millrace-dev/millrace/internal/account"
)

// Deps are the parts behind the API. Auth, Readiness and Logger are required.
type Deps struct {
	Auth      Authenticator
	Readiness Readiness
	Logger    *slog.Logger
}

// Authenticator checks credentials.
type Authenticator interface {
	// Authenticate returns what the secret stands for; "" is no credential.
	// Neither is Unauthenticated when it does not suffice.
	Authenticate(ctx context.Context, secret string) (account.Identity, error)
}

// Readiness knows the state of the parts that a submission depends on.
type Readiness interface {
	Check(ctx context.Context) []Part
}

// Part is the state of one part.
type Part struct {
	Name     string
	OK       bool
	Required bool   // without it a submission could not be accepted and kept
	Detail   string // shown to everybody: no addresses, no secrets
}

func (d Deps) validate() error {
	if d.Auth == nil || d.Readiness == nil || d.Logger == nil {
		return errors.New("the API needs an authenticator, a readiness check and a logger")
	}
	return nil
}
