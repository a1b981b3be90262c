package credit

import (
	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Event type names. They are stored; renaming one breaks history.
const (
	TypeGranted  = "credit.granted.v1"
	TypeHeld     = "credit.held.v1"
	TypeSettled  = "credit.settled.v1"
	TypeReleased = "credit.released.v1"
)

// GrantedV1 records that an account was granted credit. The first grant makes the account metered. A negative amount
// is a correction. The event's meta contains the actor and the reason.
type GrantedV1 struct {
	Micros int64 `json:"micros"`
}

// HeldV1 records that an amount was reserved for a job or call.
type HeldV1 struct {
	Hold   string `json:"hold"`
	Micros int64  `json:"micros"`
}

// SettledV1 ends a reservation of Held micros, of which Micros were spent.
type SettledV1 struct {
	Hold   string `json:"hold"`
	Micros int64  `json:"micros"`
	Held   int64  `json:"held"`
}

// ReleasedV1 ends a reservation of which nothing was spent.
type ReleasedV1 struct {
	Hold   string `json:"hold"`
	Micros int64  `json:"micros"`
}

// Register adds the ledger's event types to r.
func Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[GrantedV1](TypeGranted).Says("credit was given; the first makes the account metered; a negative amount is a correction"),
		eventlog.TypeOf[HeldV1](TypeHeld).Says("an amount was reserved for a job or a call"),
		eventlog.TypeOf[SettledV1](TypeSettled).Says("a reservation ended, and a part of it was spent"),
		eventlog.TypeOf[ReleasedV1](TypeReleased).Says("a reservation ended, and nothing was spent"),
	)
}

// namespace of event ids. It must never change: an event must get the same id on every attempt.
var namespace = uuid.MustParse("1f6f3c5a-6f0e-5d0a-9a53-3a1c5d7a2b90")

// EventID returns the id of an event about a reservation, the same on every attempt.
func EventID(account, hold, eventType string) uuid.UUID {
	return eventlog.DeriveID(namespace, account, hold, eventType)
}
