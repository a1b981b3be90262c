// Package operated holds the facts of what operators did to parts that have no aggregate of their own:
// accounts made, keys issued and revoked, halted streams resumed. It keeps one promise: who did it and
// why is in the event's meta. Doing it is left to the stores.
package operated

import "github.com/millrace-dev/millrace/internal/eventlog"

// Event type names. They are stored; renaming one breaks history.
const (
	TypeAccountCreated = "account.created.v1"
	TypeKeyIssued      = "account.key_issued.v1"
	TypeKeyRevoked     = "account.key_revoked.v1"
	TypeStreamResumed  = "view.stream_resumed.v1"
)

// AccountCreatedV1 records that an account was made.
type AccountCreatedV1 struct {
	Name string `json:"name"`
	Tier string `json:"tier"`
}

// KeyIssuedV1 records that a key was made; its secret is known to who asked for it only.
type KeyIssuedV1 struct {
	Key    string   `json:"key"` // id
	Scopes []string `json:"scopes"`
}

// KeyRevokedV1 records that a key was ended.
type KeyRevokedV1 struct {
	Key string `json:"key"`
}

// StreamResumedV1 records that a view went on with a stream that it had halted.
type StreamResumedV1 struct {
	Stream string `json:"stream"`
}

// ViewStream returns the name of the stream of a view's operations.
func ViewStream(view string) string { return "view-" + view }

// Register adds the event types to r.
func Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[AccountCreatedV1](TypeAccountCreated),
		eventlog.TypeOf[KeyIssuedV1](TypeKeyIssued),
		eventlog.TypeOf[KeyRevokedV1](TypeKeyRevoked),
		eventlog.TypeOf[StreamResumedV1](TypeStreamResumed),
	)
}
