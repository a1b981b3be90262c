package eventstore

import (
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
	clear(r.events[:drop]) // release the data; append moves the rest when the slice grows
	r.events = r.events[drop:]
}

// after returns up to limit events above position, which must not be below floor.
func (r *ring) after(position int64, limit int) []eventlog.Recorded {
	i, found := slices.BinarySearchFunc(r.events, position, func(e eventlog.Recorded, p int64) int {
		switch {
		case e.Position < p:
			return -1
		case e.Position > p:
			return 1
		}
		return 0
	})
	if found {
		i++
	}
	return slices.Clone(r.events[i:min(i+limit, len(r.events))])
}
