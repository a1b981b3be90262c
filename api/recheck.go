package api

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
)

// recheckTime bounds one look at a credential.
const recheckTime = 5 * time.Second

// stillGood reports whether what opened a socket or a stream would open it again: a key that was
// revoked ends them within Options.Recheck. While keys cannot be looked up, nobody is cut off.
func (s *server) stillGood(ctx context.Context, secret, account string) bool {
	ctx, cancel := context.WithTimeout(ctx, recheckTime)
	defer cancel()
	who, err := s.Auth.Authenticate(ctx, secret)
	if err != nil {
		return !fault.Is(err, fault.Unauthenticated) && !fault.Is(err, fault.Denied)
	}
	return who.Account == account
}

// envelopeOfRevoked is the data of the event that ends a stream whose key was revoked (v2 facts, section 5).
func envelopeOfRevoked() v2Envelope {
	return v2Envelope{Error: v2Error{Code: "unauthorized", Message: "the key is no longer good"}}
}
