package call

import (
	"sync"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Watch notifies waiting callers of the end of their calls. Observe is called with all events that are recorded after the process
// began, so every process learns within about a millisecond of an end that any process recorded, without polling.
type Watch struct {
	registry *eventlog.Registry

	mu      sync.Mutex // guards waiting
	waiting map[ID]map[*Waiter]struct{}
}

// NewWatch returns a Watch; registry contains the event types of calls.
func NewWatch(registry *eventlog.Registry) *Watch {
	return &Watch{registry: registry, waiting: map[ID]map[*Waiter]struct{}{}}
}

// Waiter waits for the end of one call.
type Waiter struct {
	watch *Watch
	id    ID
	ended chan ended
}

// ended is the event that ended a call.
type ended struct {
	rec  eventlog.Recorded
	data any
}

// wait begins to wait for the end of a call. The caller must begin before it reads the call, so that no end is
// missed, and must stop the Waiter.
func (w *Watch) wait(id ID) *Waiter {
	waiter := &Waiter{watch: w, id: id, ended: make(chan ended, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting[id] == nil {
		w.waiting[id] = map[*Waiter]struct{}{}
	}
	w.waiting[id][waiter] = struct{}{}
	return waiter
}

func (w *Waiter) stop() {
	w.watch.mu.Lock()
	defer w.watch.mu.Unlock()
	delete(w.watch.waiting[w.id], w)
	if len(w.watch.waiting[w.id]) == 0 {
		delete(w.watch.waiting, w.id)
	}
}

// Observe passes recorded events to the callers that wait for them.
func (w *Watch) Observe(events []eventlog.Recorded) {
	for _, rec := range events {
		if !endsCall(rec.Type) {
			continue
		}
		id, ok := IDOfStream(rec.Stream)
		if !ok {
			continue
		}
		w.notify(id, rec)
	}
}

func endsCall(eventType string) bool {
	switch eventType {
	case TypeSucceeded, TypeFailed, TypeCanceled, TypeOutcomeUnknown:
		return true
	default:
		return false
	}
}

func (w *Watch) notify(id ID, rec eventlog.Recorded) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting[id]) == 0 {
		return
	}
	data, err := w.registry.Decode(rec.Type, rec.Data)
	if err != nil {
		return // an event type of a newer version; the waiter reads the call at its deadline
	}
	for waiter := range w.waiting[id] {
		select {
		case waiter.ended <- ended{rec, data}:
		default: // a notification is pending
		}
	}
}
