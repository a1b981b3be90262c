// Package session defines the sessions of people who sign in with OpenID Connect: what their groups grant, how long a
// session lasts, and the events of sign-ins, refusals and ends. It promises that only the hash of a session's secret is
// stored, and that a session is refused from the moment it ends. Package openid identifies people, a Store stores
// sessions.
package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Role is what a person may do.
type Role string

// The roles. A viewer reads what belongs to the account; a member also submits, cancels and uploads for it; an operator sees
// all accounts and makes the changes of operators.
const (
	Viewer   Role = "viewer"
	Member   Role = "member"
	Operator Role = "operator"
)

// Scopes are the rights of the role on its account.
func (r Role) Scopes() []account.Scope {
	if r == Viewer {
		return []account.Scope{account.ScopeRead}
	}
	return []account.Scope{account.ScopeRead, account.ScopeWrite}
}

// Person is somebody whom the provider has identified.
type Person struct {
	Issuer  string
	Subject string // identifies the person at the issuer, for ever
	Name    string // for people to read: the verified email address, or else a name with the subject
	Grant   Grant
}

// ID identifies a person in streams and rows. It does not reveal the subject.
func (p Person) ID() string {
	sum := sha256.Sum256([]byte(p.Issuer + "\x00" + p.Subject))
	return hex.EncodeToString(sum[:16])
}

// Session is the time from a sign-in to its end.
type Session struct {
	ID        string     `json:"id"`
	Person    string     `json:"person"`            // id
	Name      string     `json:"name"`              // of the person
	Role      Role       `json:"role"`              //
	Account   string     `json:"account,omitempty"` // id; "" = an operator without an account
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	LastUsed  *time.Time `json:"last_used_at,omitempty"` // accurate to a minute; nil = not known
	EndedAt   *time.Time `json:"ended_at,omitempty"`     // before its expiry; nil = it was not ended

	AccountName string           `json:"account_name,omitempty"` // for people to read
	Identity    account.Identity `json:"-"`                      // of the account, with the rights of the role
}

// Store stores sessions.
type Store interface {
	// Start starts a session that lasts for a time, under the hash of its secret. It ends the sessions of the person that
	// have another role or account. It is Denied if the account of the grant does not exist or is suspended.
	Start(ctx context.Context, p Person, hash account.KeyHash, lasts time.Duration, requestID string) (Session, error)
	// Refuse records that a sign-in was refused, and ends the sessions of the person. The person is the zero value if the
	// provider has identified nobody. Without always, the refusal of somebody without a role is not
	// recorded.
	Refuse(ctx context.Context, p Person, reason, requestID string, always bool) error
	// Find returns the session with the hash of a secret. It is NotFound if there is none, or if it has ended or expired,
	// and Denied if its account is suspended.
	Find(ctx context.Context, hash account.KeyHash) (Session, error)
	// SignOut ends a session by the hash of its secret. Ending it again has no effect.
	SignOut(ctx context.Context, hash account.KeyHash, requestID string) error
}

// secretLead begins every secret of a session.
const secretLead = "millsess-"

const secretEntropy = 25 // bytes: 200 bits, 40 base32 digits without padding

// NewSecret makes the secret of a session.
func NewSecret() string {
	var b [secretEntropy]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return secretLead + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))
}

// Shaped reports whether a secret has the form of a session's. It is neither a key nor a token.
func Shaped(secret string) bool { return strings.HasPrefix(secret, secretLead) }

// Sessions checks secrets of sessions.
type Sessions struct{ Store Store }

// Find returns the session of a secret; Unauthenticated if it has ended, expired or never existed.
func (s Sessions) Find(ctx context.Context, secret string) (Session, error) {
	found, err := s.Store.Find(ctx, account.HashKey(secret))
	if fault.Is(err, fault.NotFound) {
		return found, fault.Wrap(err, fault.Unauthenticated, fault.CodeUnauthorized, "this session has ended; sign in again")
	}
	return found, err
}

// Authenticate implements account.Authenticator for the editor and for jobs that the session submits. The session of an
// operator without an account is Denied.
func (s Sessions) Authenticate(ctx context.Context, secret string) (account.Identity, error) {
	found, err := s.Find(ctx, secret)
	if err == nil && found.Account == "" {
		err = fault.New(fault.Denied, fault.CodeForbidden,
			"this session belongs to an operator without an account: it opens the console only")
	}
	return found.Identity, err
}
