package session

import (
	"time"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Event type names. They are stored; renaming one breaks history.
const (
	TypeSignedIn      = "person.signed_in.v1"
	TypeSignInRefused = "person.sign_in_refused.v1"
	TypeRoleChanged   = "person.role_changed.v1"
	TypeSessionEnded  = "person.session_ended.v1"
)

// SignedInV1 records that a session began.
type SignedInV1 struct {
	Session   string    `json:"session"`
	Name      string    `json:"name"`
	Role      Role      `json:"role"`
	Account   string    `json:"account,omitempty"`
	ExpiresAt time.Time `json:"expires_at"`
}

// SignInRefusedV1 records that somebody could not sign in, and why.
type SignInRefusedV1 struct {
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason"`
}

// RoleChangedV1 records that a person signed in with another role or account than the last time.
type RoleChangedV1 struct {
	Role       Role   `json:"role"`
	Account    string `json:"account,omitempty"`
	WasRole    Role   `json:"was_role"`
	WasAccount string `json:"was_account,omitempty"`
}

// SessionEndedV1 records that a session ended before its expiry.
type SessionEndedV1 struct {
	Session string `json:"session"`
	Cause   Cause  `json:"cause"`
}

// Cause is why a session ended.
type Cause string

// The causes of ends.
const (
	SignedOut   Cause = "signed_out"
	ByOperator  Cause = "operator"
	RoleChanged Cause = "role_changed"
	Refused     Cause = "refused" // the provider no longer grants the person anything
)

// AllAccounts is the account of the events of people: a person may have another account later.
const AllAccounts = "*"

// Stream returns the name of the stream of a person's events. People whom no provider has identified share one.
func Stream(person string) string {
	if person == "" {
		return "person-unknown"
	}
	return "person-" + person
}

// Register adds the event types to r.
func Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[SignedInV1](TypeSignedIn).Says("a person signed in with OpenID Connect"),
		eventlog.TypeOf[SignInRefusedV1](TypeSignInRefused).Says("a sign-in was refused"),
		eventlog.TypeOf[RoleChangedV1](TypeRoleChanged).Says("a person has another role or account than at the last sign-in"),
		eventlog.TypeOf[SessionEndedV1](TypeSessionEnded).Says("a session ended before its expiry"),
	)
}
