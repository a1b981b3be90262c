package call

import (
	"sync"
	"time"
)

const (
	// deadAfter is how long a process may be silent before its calls are given up: several heartbeats. A wrong guess
	// costs a call its clear end, until its answer arrives late.
	deadAfter = 15 * time.Second
	// watchedWithin is how far apart two looks may be for the time between them to count as silence.
	watchedWithin = 10 * time.Second
)

// Heartbeats tells which processes live. A process is dead when its heartbeat stays the same for as long as it is
// watched. The time of a heartbeat does not count: while the database is away nobody can give one, and clocks may be
// set.
type Heartbeats struct {
	now func() time.Time

	mu   sync.Mutex // guards seen
	seen map[string]silence
}

// silence is the last heartbeat of a process, since when it is the last, and when it was last looked at.
type silence struct {
	heartbeat   time.Time
	since, last time.Time
}

// NewHeartbeats returns a Heartbeats that has seen no process. now is time.Now, or the clock of a test.
func NewHeartbeats(now func() time.Time) *Heartbeats {
	return &Heartbeats{now: now, seen: map[string]silence{}}
}

// Alive reports whether a process lives whose last heartbeat, as it is read at this moment, is heartbeat.
func (h *Heartbeats) Alive(process string, heartbeat time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	s, known := h.seen[process]
	if !known || !s.heartbeat.Equal(heartbeat) || now.Sub(s.last) > watchedWithin {
		s = silence{heartbeat: heartbeat, since: now}
	}
	s.last = now
	h.forget(now)
	h.seen[process] = s
	return now.Sub(s.since) < deadAfter
}

// forget drops processes that nobody has asked about for a while.
func (h *Heartbeats) forget(now time.Time) {
	for process, s := range h.seen {
		if now.Sub(s.last) > watchedWithin {
			delete(h.seen, process)
		}
	}
}
