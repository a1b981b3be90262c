// Package webhook tells accounts over HTTPS what became of their jobs and model calls. It keeps two
// promises: what an endpoint asked for is delivered to it at least once, under an id that stays the same
// over every attempt, or becomes a dead letter that can be listed and replayed; and one endpoint that
// hangs or fails delays nobody else. Where endpoints and deliveries are kept is left to implementations
// of Store and Queue, and reading the log to the view's package.
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

// ParseID returns the id that text spells. Anything else is NotFound: nothing has such an id.
func ParseID(text string) (ID, error) {
	id, err := uuid.Parse(text)
	if err != nil || id.String() != text {
		return "", ErrNoEndpoint()
	}
	return ID(text), nil
}

// ErrNoEndpoint is the refusal of an endpoint that the account does not have.
func ErrNoEndpoint() error {
	return fault.New(fault.NotFound, "webhook_not_found", "there is no such webhook")
}

// ErrNoDelivery is the refusal of a delivery that the account does not have.
func ErrNoDelivery() error {
	return fault.New(fault.NotFound, "delivery_not_found", "there is no such delivery")
}

// Kind is what a message says, in the words of its receiver.
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

// kinds maps the events that are told of to what is told.
var kinds = map[string]Kind{
	job.TypeSucceeded: JobCompleted, job.TypeFailed: JobFailed, job.TypeCanceled: JobCancelled, job.TypeExpired: JobExpired,
	call.TypeSucceeded: CallSucceeded, call.TypeFailed: CallFailed, call.TypeCanceled: CallCancelled,
	call.TypeOutcomeUnknown: CallUnknown, call.TypeReconciled: CallReconciled,
}

// KindOf returns what an event of that type tells receivers; ok is false for most events.
func KindOf(eventType string) (kind Kind, ok bool) {
	kind, ok = kinds[eventType]
	return kind, ok
}

// Kinds lists what can be selected, in order.
func Kinds() []Kind {
	list := make([]Kind, 0, len(kinds))
	for _, k := range kinds {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// defaultEvents is what an endpoint hears of that selects nothing: the ends of jobs.
var defaultEvents = []string{"job.*"}

// family returns the pattern of all kinds of the same beginning.
func (k Kind) family() string {
	name, _, _ := strings.Cut(string(k), ".")
	return name + ".*"
}

// checkEvents returns a selection in order and without repetitions. An empty one is the default; a word
// that selects nothing is Invalid.
func checkEvents(list []string) ([]string, error) {
	if len(list) == 0 {
		return slices.Clone(defaultEvents), nil
	}
	for _, word := range list {
		known := slices.ContainsFunc(Kinds(), func(k Kind) bool { return word == string(k) || word == k.family() })
		if !known {
			return nil, fault.New(fault.Invalid, "invalid_request", "events takes job.*, call.* and %s, not %.64q", allKinds(), word)
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

// Cause says why an endpoint is told nothing more.
type Cause string

// The causes of a disabling.
const (
	ByOwner Cause = "owner"   // asked for
	Failing Cause = "failing" // no attempt succeeded for Policy.DisableAfter
	Gone    Cause = "gone"    // it answered 410
)

// Endpoint is a registered address without what is secret of it: the address itself, which may carry a
// token, and the keys that sign.
type Endpoint struct {
	ID          ID         `json:"id"`
	Host        string     `json:"host"` // of the address, with its port where it has one
	Events      []string   `json:"events"`
	Description string     `json:"description,omitempty"`
	Disabled    Cause      `json:"disabled,omitempty"`
	DisabledAt  *time.Time `json:"disabled_at,omitempty"`
	Position    int64      `json:"position"` // of the event of its registration: it is told of later events
	CreatedAt   time.Time  `json:"created_at"`
	RotatedAt   *time.Time `json:"rotated_at,omitempty"` // when its key was last replaced
}

// Wants reports whether the endpoint is told of an event of that kind at that position of the log.
func (e Endpoint) Wants(kind Kind, position int64) bool {
	if e.Disabled != "" || position <= e.Position {
		return false
	}
	return slices.Contains(e.Events, string(kind)) || slices.Contains(e.Events, kind.family())
}
