// Package audit holds the events of what operators did to parts that have no aggregate of their own:
// accounts made, keys issued and revoked, halted streams resumed. It keeps one promise: who did it and
// why is in the event's meta. Doing it is left to the stores.
package audit

import (
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Event type names. They are stored; renaming one breaks history.
const (
	TypeAccountCreated = "account.created.v1"
	TypeKeyIssued      = "account.key_issued.v1"
	TypeKeyRevoked     = "account.key_revoked.v1"
	TypeStreamResumed  = "view.stream_resumed.v1"
	TypeViewRebuilt    = "view.rebuilt.v1"
	TypeRowDropped     = "reconcile.row_dropped.v1"
	TypeTermination    = "reconcile.termination_ordered.v1"
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

// ViewRebuiltV1 records that a view was folded anew and took the place of the one before.
type ViewRebuiltV1 struct {
	Position int64 `json:"position"` // up to which it was folded then
}

// RowDroppedV1 records that a slot or a place in the queue was dropped, because no open stream was behind it.
type RowDroppedV1 struct {
	Job     job.ID `json:"job"`
	Account string `json:"account"`
	Run     int    `json:"run,omitempty"` // of a slot
}

// TerminationV1 records, before it is done, that a workflow is terminated whose job or call the log does not have.
type TerminationV1 struct {
	Workflow string `json:"workflow"`
}

// ReconcileStream is the stream of what was done to make the two stores agree.
const ReconcileStream = "reconcile"

// ViewStream returns the name of the stream of a view's operations.
func ViewStream(view string) string { return "view-" + view }

// Register adds the event types to r.
func Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[AccountCreatedV1](TypeAccountCreated).Says("an account was made"),
		eventlog.TypeOf[KeyIssuedV1](TypeKeyIssued).Says("a key was made"),
		eventlog.TypeOf[KeyRevokedV1](TypeKeyRevoked).Says("a key was ended"),
		eventlog.TypeOf[StreamResumedV1](TypeStreamResumed).Says("a halted stream was resumed"),
		eventlog.TypeOf[ViewRebuiltV1](TypeViewRebuilt).Says("a view was folded anew and took the place of the one before"),
		eventlog.TypeOf[RowDroppedV1](TypeRowDropped).Says("a slot or a place in the queue without an open stream was dropped"),
		eventlog.TypeOf[TerminationV1](TypeTermination).Says("a workflow is terminated whose job or call the log does not have"),
	)
}
