// Package webhook notifies accounts over HTTPS of the progress of their jobs and model calls. It makes two
// promises. A message that an endpoint selects is delivered at least once, with the same id on every attempt,
// or becomes a dead letter that can be listed and replayed. An endpoint that hangs or fails delays no other
// endpoint. Implementations of Store and Queue keep endpoints and deliveries; the view's package reads the log.
package webhook

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
)

// ID names an endpoint: a UUID in its canonical form.
type ID string

// ParseID parses an id. A malformed id is NotFound, because no endpoint has it.
func ParseID(text string) (ID, error) {
	id, err := uuid.Parse(text)
	if err != nil || id.String() != text {
		return "", ErrNoEndpoint()
	}
	return ID(text), nil
}

// ErrNoEndpoint reports that the account has no such endpoint.
func ErrNoEndpoint() error {
	return fault.New(fault.NotFound, fault.CodeWebhookNotFound, "there is no such webhook")
}

// ErrNoDelivery reports that the account has no such delivery.
func ErrNoDelivery() error {
	return fault.New(fault.NotFound, fault.CodeDeliveryNotFound, "there is no such delivery")
}

// Kind is the type of a message, as its receiver sees it.
type Kind string

// The kinds of message. Test is sent on request only and cannot be selected.
const (
	JobCompleted   Kind = "job.completed"
	JobFailed      Kind = "job.failed"
	JobCancelled   Kind = "job.cancelled"
	JobExpired     Kind = "job.expired"
	CallSucceeded  Kind = "call.succeeded"
	CallFailed     Kind = "call.failed"
	CallCancelled  Kind = "call.cancelled"
	CallUnknown    Kind = "call.outcome_unknown"
	CallReconciled Kind = "call.reconciled"
	Test           Kind = "webhook.test"
)

// kinds maps event types to the kinds of their messages.
var kinds = map[string]Kind{
	job.TypeSucceeded: JobCompleted, job.TypeFailed: JobFailed, job.TypeCanceled: JobCancelled, job.TypeExpired: JobExpired,
	call.TypeSucceeded: CallSucceeded, call.TypeFailed: CallFailed, call.TypeCanceled: CallCancelled,
	call.TypeOutcomeUnknown: CallUnknown, call.TypeReconciled: CallReconciled,
}

// KindOf returns the kind of message for an event type. ok is false for the many types without a message.
func KindOf(eventType string) (kind Kind, ok bool) {
	kind, ok = kinds[eventType]
	return kind, ok
}

// Kinds returns the kinds that an endpoint can select, in order.
func Kinds() []Kind {
	list := make([]Kind, 0, len(kinds))
	for _, k := range kinds {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// defaultEvents is the selection of an endpoint that names none: the ends of jobs.
var defaultEvents = []string{"job.*"}

// family returns the pattern that selects all kinds with that prefix.
func (k Kind) family() string {
	name, _, _ := strings.Cut(string(k), ".")
	return name + ".*"
}

// checkEvents returns a selection sorted and without duplicates. An empty selection becomes the default. An unknown
// kind or pattern is Invalid.
func checkEvents(list []string) ([]string, error) {
	if len(list) == 0 {
		return slices.Clone(defaultEvents), nil
	}
	for _, word := range list {
		known := slices.ContainsFunc(Kinds(), func(k Kind) bool { return word == string(k) || word == k.family() })
		if !known {
			return nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "events takes job.*, call.* and %s, not %.64q", allKinds(), word)
		}
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list), nil
}

func allKinds() string {
	var words []string
	for _, k := range Kinds() {
		words = append(words, string(k))
	}
	return strings.Join(words, ", ")
}

// Cause is the reason why an endpoint was disabled.
type Cause string

// The causes of a disabling.
const (
	ByOwner Cause = "owner"   // the owner disabled it
	Failing Cause = "failing" // no attempt succeeded for Policy.DisableAfter
	Gone    Cause = "gone"    // it responded 410 Gone
)

// Endpoint is a registered endpoint without its secrets: the URL, which may contain a token, and the signing keys.
type Endpoint struct {
	ID          ID         `json:"id"`
	Host        string     `json:"host"` // of the address, with its port where it has one
	Events      []string   `json:"events"`
	Description string     `json:"description,omitempty"`
	Disabled    Cause      `json:"disabled,omitempty"`
	DisabledAt  *time.Time `json:"disabled_at,omitempty"`
	Position    int64      `json:"position"` // of its registration event; it receives later events only
	CreatedAt   time.Time  `json:"created_at"`
	RotatedAt   *time.Time `json:"rotated_at,omitempty"` // when its key was last replaced
}

// Wants reports whether the endpoint receives messages of that kind for an event at that position of the log.
func (e Endpoint) Wants(kind Kind, position int64) bool {
	if e.Disabled != "" || position <= e.Position {
		return false
	}
	return slices.Contains(e.Events, string(kind)) || slices.Contains(e.Events, kind.family())
}
