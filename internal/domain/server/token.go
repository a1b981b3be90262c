package server

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/label"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Token is a registration token: a machine that has it may register itself as a server and renew that, and do nothing
// else. The secret is shown once, when the token is made; only its hash is kept.
type Token struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Prefix    string     `json:"prefix"`                  // the shown beginning of the secret
	Hosts     []string   `json:"hosts"`                   // that it may register; none = the machine that asks
	Price     int64      `json:"second_micros,omitempty"` // of the servers that it registers
	CreatedAt time.Time  `json:"created_at"`
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
	LastUsed  *time.Time `json:"last_used_at,omitempty"` // within a minute
}

// Stream returns the name of the token's stream of events.
func (t Token) Stream() string { return "server_token-" + t.ID }

// MaxByTokens is the most servers that tokens have registered at a time, so that one in wrong hands fills no table.
const MaxByTokens = 1000

// TokenHash is the SHA-256 of a token. A plain hash is enough: a token is random and too long to guess.
type TokenHash [sha256.Size]byte

// HashToken returns the hash under which a token is kept.
func HashToken(secret string) TokenHash { return sha256.Sum256([]byte(secret)) }

const (
	tokenLead    = "millrace-server-"
	tokenEntropy = 25 // bytes: 200 bits, 40 base32 digits without padding
	tokenShown   = 6  // of those 40
)

// NewTokenSecret makes a token and returns it with its shown beginning.
func NewTokenSecret() (secret, prefix string) {
	var b [tokenEntropy]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	secret = tokenLead + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))
	return secret, secret[:len(tokenLead)+tokenShown]
}

// CheckTokenName reports a name that no token can have. It has the form of a label.
func CheckTokenName(name string) error {
	if _, err := label.Parse([]string{name}); err != nil {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "a token is named by letters, digits and . _ : / -, at most 63")
	}
	return nil
}

// CheckTokenPrice reports a price that no server can have.
func CheckTokenPrice(micros int64) error {
	if micros < 0 || micros > maxPrice {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "a second on a server costs from 0 to %s US dollars", credit.Dollars(maxPrice))
	}
	return nil
}

// UnknownToken is the error for a token that does not exist or was revoked.
func UnknownToken() error {
	return fault.New(fault.NotFound, fault.CodeTokenNotFound, "there is no such registration token; `millrace servers tokens list` names them")
}

// Registrations with a token expire: after expiresByDefault where they do not say when, after maxExpiry at the latest.
const (
	expiresByDefault = 5 * time.Minute
	maxExpiry        = 24 * time.Hour
)

// checkToken completes a registration that a token makes: it expires, and the actor is the token.
func (r *Registration) checkToken() error {
	r.ExpiresIn = cmp.Or(r.ExpiresIn, expiresByDefault)
	if r.ExpiresIn > maxExpiry {
		return fault.New(fault.Invalid, fault.CodeInvalidServer, "a registration with a token expires within %s: renew it by registering again", maxExpiry)
	}
	if err := r.checkReach(); err != nil {
		return err
	}
	r.Price = r.Token.Price
	r.By.Actor = "token:" + r.Token.Name
	r.By.Reason = cmp.Or(r.By.Reason, "registered by its machine")
	return nil
}
