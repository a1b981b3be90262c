package server

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/label"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Token is a registration token: a machine that has it may register itself as a server and renew the registration,
// and nothing else. The secret is shown once, when the token is created; only its hash is stored.
type Token struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Prefix    string     `json:"prefix"`                  // the public beginning of the secret
	Hosts     []string   `json:"hosts"`                   // hosts that it may register; empty = the machine that sends the request
	Price     int64      `json:"second_micros,omitempty"` // price of the servers that it registers
	Pool      string     `json:"pool,omitempty"`          // the token is of a machine of this pool, whose name is its own
	Labels    []string   `json:"labels,omitempty"`        // that its servers get in any case
	CreatedAt time.Time  `json:"created_at"`
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
	LastUsed  *time.Time `json:"last_used_at,omitempty"` // accurate to a minute
}

// Stream returns the name of the token's stream of events.
func (t Token) Stream() string { return "server_token-" + t.ID }

// MaxByTokens bounds the registered servers of all tokens, so that a stolen token cannot fill the table.
const MaxByTokens = 1000

// TokenHash is the SHA-256 of a token. A slow hash is not necessary, because a token is random and too long to guess.
type TokenHash [sha256.Size]byte

// HashToken returns the hash under which a token is stored.
func HashToken(secret string) TokenHash { return sha256.Sum256([]byte(secret)) }

const (
	tokenLead    = "millrace-server-"
	tokenEntropy = 25 // bytes: 200 bits, 40 base32 digits without padding
	tokenShown   = 6  // of those 40
)

// NewTokenSecret makes a token and returns it with its public beginning.
func NewTokenSecret() (secret, prefix string) {
	var b [tokenEntropy]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	secret = tokenLead + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))
	return secret, secret[:len(tokenLead)+tokenShown]
}

// CheckTokenName returns an error if a token cannot have this name. Names have the form of labels.
func CheckTokenName(name string) error {
	if _, err := label.Parse([]string{name}); err != nil {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest,
			"the name of a token must have at most 63 characters: letters, digits and . _ : / -")
	}
	return nil
}

// CheckTokenPrice returns an error if servers cannot have this price.
func CheckTokenPrice(micros int64) error {
	if micros < 0 || micros > maxPrice {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "the price of a second on a server must be from 0 to %s US dollars",
			amount.Dollars(maxPrice))
	}
	return nil
}

// UnknownToken is the error for a token that does not exist or was revoked.
func UnknownToken() error {
	return fault.New(fault.NotFound, fault.CodeTokenNotFound,
		"this registration token does not exist; `millrace servers tokens list` lists them")
}

// Registrations with a token expire: after defaultExpiry if they name no time, and after maxExpiry at the latest.
const (
	defaultExpiry = 5 * time.Minute
	maxExpiry     = 24 * time.Hour
)

// checkToken completes a registration by a token: it sets the expiry, and the token as the actor.
func (r *Registration) checkToken() (err error) {
	r.ExpiresIn = cmp.Or(r.ExpiresIn, defaultExpiry)
	if r.ExpiresIn > maxExpiry {
		return fault.New(fault.Invalid, fault.CodeInvalidServer, "a registration with a token must expire within %s: register again to renew it",
			maxExpiry)
	}
	if err := r.checkAddress(); err != nil {
		return err
	}
	r.Labels, err = ParseLabels(append(r.Labels, r.Token.Labels...))
	if err != nil {
		return err
	}
	r.Price = r.Token.Price
	r.By.Actor = "token:" + r.Token.Name
	r.By.Reason = cmp.Or(r.By.Reason, "registered by its machine")
	return nil
}
