// Package audit contains the events of operators' commands on parts without an aggregate of their own: accounts
// created, keys issued and revoked, halted streams resumed. It promises that the event's meta contains the actor and
// the reason. The stores carry out the commands.
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

// AccountCreatedV1 records that an account was created.
type AccountCreatedV1 struct {
	Name string `json:"name"`
	Tier string `json:"tier"`
}

// KeyIssuedV1 records that a key was created. It does not contain the secret.
type KeyIssuedV1 struct {
	Key    string   `json:"key"` // id
	Scopes []string `json:"scopes"`
}

// KeyRevokedV1 records that a key was revoked.
type KeyRevokedV1 struct {
	Key string `json:"key"`
}

// StreamResumedV1 records that a view resumed a stream that it had halted.
type StreamResumedV1 struct {
	Stream string `json:"stream"`
}

// ViewRebuiltV1 records that a view was rebuilt and replaced the previous one.
type ViewRebuiltV1 struct {
	Position int64 `json:"position"` // up to which the view was folded at that time
}

// RowDroppedV1 records that a slot or a queue entry was deleted, because it had no open stream.
type RowDroppedV1 struct {
	Job     job.ID `json:"job"`
	Account string `json:"account"`
	Run     int    `json:"run,omitempty"` // run of a slot
}

// TerminationV1 records that a workflow will be terminated, because the log does not have its job or call. It is
// recorded before the termination.
type TerminationV1 struct {
	Workflow string `json:"workflow"`
}

// ReconcileStream is the stream of the changes that make the log and Temporal agree.
const ReconcileStream = "reconcile"

// ViewStream returns the name of the stream of a view's operations.
func ViewStream(view string) string { return "view-" + view }

// Register adds the event types to r.
func Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[AccountCreatedV1](TypeAccountCreated).Says("an account was created"),
		eventlog.TypeOf[KeyIssuedV1](TypeKeyIssued).Says("a key was created"),
		eventlog.TypeOf[KeyRevokedV1](TypeKeyRevoked).Says("a key was revoked"),
		eventlog.TypeOf[StreamResumedV1](TypeStreamResumed).Says("a halted stream was resumed"),
		eventlog.TypeOf[ViewRebuiltV1](TypeViewRebuilt).Says("a view was rebuilt and replaced the previous one"),
		eventlog.TypeOf[RowDroppedV1](TypeRowDropped).Says("a slot or a queue entry without an open stream was deleted"),
		eventlog.TypeOf[TerminationV1](TypeTermination).Says(
			"a workflow whose job or call is not in the log, or has not begun there, is terminated"),
	)
}
