package webhook

import (
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Event type names. They are stored; renaming one breaks history. No event holds an address or a key.
const (
	TypeRegistered    = "webhook.registered.v1"
	TypeChanged       = "webhook.changed.v1"
	TypeSecretRotated = "webhook.secret_rotated.v1"
	TypeEnabled       = "webhook.enabled.v1"
	TypeDisabled      = "webhook.disabled.v1"
	TypeRemoved       = "webhook.removed.v1"
	TypeTested        = "webhook.tested.v1"
	TypeReplayed      = "webhook.replayed.v1"
)

// RegisteredV1 records a new endpoint.
type RegisteredV1 struct {
	Webhook     ID       `json:"webhook"`
	Host        string   `json:"host"`
	Events      []string `json:"events"`
	Description string   `json:"description,omitempty"`
}

// ChangedV1 records changed fields of an endpoint. A nil field did not change.
type ChangedV1 struct {
	Webhook     ID       `json:"webhook"`
	Host        *string  `json:"host,omitempty"` // present if the URL was replaced, even by one with the same host
	Events      []string `json:"events,omitempty"`
	Description *string  `json:"description,omitempty"`
}

// SecretRotatedV1 records that messages are signed with a new key, and until when they are also signed with the old
// one.
type SecretRotatedV1 struct {
	Webhook  ID        `json:"webhook"`
	OldUntil time.Time `json:"old_until"`
}

// EnabledV1 records that an endpoint receives messages of later events.
type EnabledV1 struct {
	Webhook ID `json:"webhook"`
}

// DisabledV1 records that an endpoint receives no more messages, and why.
type DisabledV1 struct {
	Webhook ID    `json:"webhook"`
	Cause   Cause `json:"cause"`
}

// RemovedV1 records that an endpoint and all its deliveries were deleted.
type RemovedV1 struct {
	Webhook ID `json:"webhook"`
}

// TestedV1 records that a test message was requested.
type TestedV1 struct {
	Webhook  ID        `json:"webhook"`
	Delivery uuid.UUID `json:"delivery"`
}

// ReplayedV1 records that deliveries were put back into the queue.
type ReplayedV1 struct {
	Webhook    ID         `json:"webhook"`
	Deliveries int        `json:"deliveries"`
	Delivery   *uuid.UUID `json:"delivery,omitempty"` // set if a single delivery was replayed
}

// Register adds the event types of webhooks to r.
func Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[RegisteredV1](TypeRegistered).Says("an endpoint was registered; it receives later events"),
		eventlog.TypeOf[ChangedV1](TypeChanged).Says("an endpoint was changed"),
		eventlog.TypeOf[SecretRotatedV1](TypeSecretRotated).Says("messages are signed with a new key"),
		eventlog.TypeOf[EnabledV1](TypeEnabled).Says("a disabled endpoint was enabled; it receives later events"),
		eventlog.TypeOf[DisabledV1](TypeDisabled).Says("an endpoint was disabled"),
		eventlog.TypeOf[RemovedV1](TypeRemoved).Says("an endpoint and its deliveries were deleted"),
		eventlog.TypeOf[TestedV1](TypeTested).Says("a test message was requested"),
		eventlog.TypeOf[ReplayedV1](TypeReplayed).Says("deliveries were put back into the queue"),
	)
}

const streamPrefix = "webhooks-"

// Stream returns the name of the stream of an account's endpoints.
func Stream(account string) string { return streamPrefix + account }

// AccountOfStream returns the account that the stream belongs to.
func AccountOfStream(stream string) (string, bool) {
	if len(stream) <= len(streamPrefix) || stream[:len(streamPrefix)] != streamPrefix {
		return "", false
	}
	return stream[len(streamPrefix):], true
}
