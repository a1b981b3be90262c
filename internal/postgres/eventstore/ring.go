package eventstore

import (
	"cmp"
	"slices"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// ring keeps the newest settled events, which are all events with positions above floor.
type ring struct {
	maxEvents, maxBytes int

	floor  int64
	events []eventlog.Recorded // in order; trimmed from the front
	bytes  int
	pushed int64 // number of events that were ever pushed
}

// end returns the position up to which the log is settled.
func (r *ring) end() int64 {
	if len(r.events) == 0 {
		return r.floor
	}
	return r.events[len(r.events)-1].Position
}

// push adds events and removes the oldest beyond the bounds.
func (r *ring) push(events []eventlog.Recorded) {
	r.events = append(r.events, events...)
	for _, e := range events {
		r.bytes += len(e.Data)
	}
	r.pushed += int64(len(events))
	drop := 0
	for drop < len(r.events) && (len(r.events)-drop > r.maxEvents || r.bytes > r.maxBytes) {
		r.bytes -= len(r.events[drop].Data)
		r.floor = r.events[drop].Position
		drop++
	}
	r.events = r.events[drop:] // readers may have the dropped ones; append moves the rest when the slice grows
}

// has reports whether the ring has the event, or had it before it removed the older ones. The event's position must not be
// above end.
func (r *ring) has(rec eventlog.Recorded) bool {
	i, found := r.search(rec.Position)
	return rec.Position <= r.floor || found && r.events[i].ID == rec.ID
}

// search returns the index of the event at a position, or of the next one.
func (r *ring) search(position int64) (int, bool) {
	return slices.BinarySearchFunc(r.events, position, func(e eventlog.Recorded, p int64) int { return cmp.Compare(e.Position, p) })
}

// after returns up to limit events above position, which must not be below floor. The events are shared with other
// readers.
func (r *ring) after(position int64, limit int) []eventlog.Recorded {
	i, found := r.search(position)
	if found {
		i++
	}
	end := min(i+limit, len(r.events))
	return r.events[i:end:end]
}
