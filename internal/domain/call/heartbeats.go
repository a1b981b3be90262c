package call

import (
	"sync"
	"time"
)

const (
	// deadAfter is how long a process may be silent before its calls are given up. It spans several heartbeats. If a
	// live process is given up, the outcome of its calls is recorded as unknown until their answers arrive.
	deadAfter = 15 * time.Second
	// watchedWithin is the longest time between two checks that still counts as silence.
	watchedWithin = 10 * time.Second
)

// Heartbeats decides which processes are alive. A process is dead if its heartbeat did not change during deadAfter of
// observation. The timestamp of a heartbeat is not compared with the clock, because no process can write heartbeats
// while the database is down, and clocks may be changed.
type Heartbeats struct {
	now func() time.Time

	mu   sync.Mutex // guards seen
	seen map[string]silence
}

// silence holds the last heartbeat of a process, when it was first seen, and when it was last checked.
type silence struct {
	heartbeat   time.Time
	since, last time.Time
}

// NewHeartbeats returns a Heartbeats without observations. now is time.Now, or the clock of a test.
func NewHeartbeats(now func() time.Time) *Heartbeats {
	return &Heartbeats{now: now, seen: map[string]silence{}}
}

// Alive reports whether a process is alive. heartbeat is its last heartbeat, just read from the database.
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

// forget drops processes that were not checked for a while.
func (h *Heartbeats) forget(now time.Time) {
	for process, s := range h.seen {
		if now.Sub(s.last) > watchedWithin {
			delete(h.seen, process)
		}
	}
}
