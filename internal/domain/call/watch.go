package call

import (
	"context"
	"sync"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Watch tells who waits for a call of its end. It is fed by the log's tail, so an end that any
// process recorded is heard in every process, a millisecond or so later, and nobody polls.
type Watch struct {
	registry *eventlog.Registry

	mu      sync.Mutex // guards waiting
	waiting map[ID]map[*Waiter]struct{}
}

// NewWatch returns a Watch; registry knows the event types of calls.
func NewWatch(registry *eventlog.Registry) *Watch {
	return &Watch{registry: registry, waiting: map[ID]map[*Waiter]struct{}{}}
}

// Waiter waits for the end of one call.
type Waiter struct {
	watch *Watch
	id    ID
	ended chan ended
	look  chan struct{} // holds a token when the end may have been recorded before the log was followed
}

// ended is the event that ended a call.
type ended struct {
	rec  eventlog.Recorded
	data any
}

// wait begins to listen for the end of a call. Begin before you look at the call: an end in between
// is heard. Stop it when done.
func (w *Watch) wait(id ID) *Waiter {
	waiter := &Waiter{watch: w, id: id, ended: make(chan ended, 1), look: make(chan struct{}, 1)}
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

func (w *Watch) lookAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, waiters := range w.waiting {
		for waiter := range waiters {
			select {
			case waiter.look <- struct{}{}:
			default:
			}
		}
	}
}

// See hands recorded events to those who wait for them.
func (w *Watch) See(events []eventlog.Recorded) {
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
		return // a type of a newer program; the waiter reads the call itself at its deadline
	}
	for waiter := range w.waiting[id] {
		select {
		case waiter.ended <- ended{rec, data}:
		default: // a notice waits already
		}
	}
}

// Follow feeds the watch from the log until ctx ends. Who waits already looks once: a call may have been accepted,
// and have ended, before the end of the log was found.
func (w *Watch) Follow(ctx context.Context, tail eventlog.Tail) error {
	position, err := tail.Settled(ctx)
	w.lookAll()
	for err == nil {
		var events []eventlog.Recorded
		if events, err = tail.Next(ctx, position, 500); err == nil {
			w.See(events)
			position = events[len(events)-1].Position
		}
	}
	return err
}
