package call

import (
	"sync"
	"time"
)

const (
	// deadAfter is how long a process may send no heartbeat before it counts as dead, several heartbeats long. If a
	// live process counts as dead, the outcomes of its calls are recorded as unknown until their answers arrive.
	deadAfter = 15 * time.Second
	// watchedWithin is the longest interval between two checks after which a missing heartbeat still counts, unless
	// the database is known to have been reachable in between.
	watchedWithin = 10 * time.Second
	// forgetAfter is how long a process that is no longer checked is remembered.
	forgetAfter = 5 * time.Minute
)

// Heartbeats decides which processes are alive. A process is dead if its heartbeat did not change during deadAfter of
// observation. The timestamp of a heartbeat is not compared with the clock, because no process can write heartbeats
// while the database is down, and clocks may be changed.
type Heartbeats struct {
	now func() time.Time

	mu             sync.Mutex // guards what follows
	seen           map[string]lastHeartbeat
	reached        time.Time // when the database was last known to be reachable
	reachableSince time.Time // since when it has been reachable, without a gap longer than watchedWithin
}

// lastHeartbeat holds the last heartbeat of a process, when it was first seen, and when it was last checked.
type lastHeartbeat struct {
	heartbeat   time.Time
	since, last time.Time
}

// NewHeartbeats returns a Heartbeats without observations. now is time.Now, or the clock of a test.
func NewHeartbeats(now func() time.Time) *Heartbeats {
	return &Heartbeats{now: now, seen: map[string]lastHeartbeat{}}
}

// Reached records that this process has just written to the database. While it does so repeatedly, other processes
// can write their heartbeats too, so that a missing heartbeat counts even if checks are rare, as on a busy machine.
func (h *Heartbeats) Reached() {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	if now.Sub(h.reached) > watchedWithin {
		h.reachableSince = now
	}
	h.reached = now
}

// Alive reports whether a process is alive. heartbeat is its last heartbeat, just read from the database.
func (h *Heartbeats) Alive(process string, heartbeat time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	s, known := h.seen[process]
	if !known || !s.heartbeat.Equal(heartbeat) || !h.watchedSince(s.last, now) {
		s = lastHeartbeat{heartbeat: heartbeat, since: now}
	}
	s.last = now
	h.forget(now)
	h.seen[process] = s
	return now.Sub(s.since) < deadAfter
}

// watchedSince reports whether a process without a new heartbeat since last could have written one all the time.
func (h *Heartbeats) watchedSince(last, now time.Time) bool {
	if now.Sub(last) <= watchedWithin {
		return true
	}
	return !h.reachableSince.IsZero() && !h.reachableSince.After(last) && now.Sub(h.reached) <= watchedWithin
}

// forget drops processes that were not checked for a while.
func (h *Heartbeats) forget(now time.Time) {
	for process, s := range h.seen {
		if now.Sub(s.last) > forgetAfter {
			delete(h.seen, process)
		}
	}
}
