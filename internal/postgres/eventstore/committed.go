package eventstore

import (
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Bounds of the events that wait for the tailer. Beyond them, it reads the log.
const (
	maxCommitted      = 4096
	maxCommittedBytes = 8 << 20
)

// committed passes events from the transactions of this process to its tailer, so that the tailer need not read them
// from the database. The tailer reads the log whenever an event of another process may precede them.
type committed struct {
	mu     sync.Mutex // guards the fields below
	wanted bool       // a tailer takes the events
	unread bool       // the log has, or may have, events that were not added
	events map[int64]eventlog.Recorded
	bytes  int
}

// want makes later calls of add keep events.
func (c *committed) want() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted = true
}

// add keeps committed events until the tailer takes them.
func (c *committed) add(events []eventlog.Recorded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.wanted {
		return
	}
	if c.events == nil {
		c.events = make(map[int64]eventlog.Recorded, len(events))
	}
	for _, rec := range events {
		if _, known := c.events[rec.Position]; !known {
			c.bytes += len(rec.Data)
		}
		c.events[rec.Position] = rec
	}
	if len(c.events) > maxCommitted || c.bytes > maxCommittedBytes {
		c.events, c.bytes, c.unread = nil, 0, true
	}
}

// missed notes that the log may have events that are not added.
func (c *committed) missed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unread = true
}

// take removes and returns the events that follow position last without a gap, and the events at or before last.
// whole reports whether no others are left and none were missed: the log need not be read for them.
func (c *committed) take(last int64) (next, older []eventlog.Recorded, whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		rec, ok := c.events[last+1]
		if !ok {
			break
		}
		c.remove(rec)
		next = append(next, rec)
		last++
	}
	first := last - int64(len(next))
	for position, rec := range c.events {
		if position <= first {
			c.remove(rec)
			older = append(older, rec)
		}
	}
	whole = len(c.events) == 0 && !c.unread
	c.unread = false
	return next, older, whole
}

// remove removes an event. The caller must hold mu.
func (c *committed) remove(rec eventlog.Recorded) {
	delete(c.events, rec.Position)
	c.bytes -= len(rec.Data)
}

// readEvery is how often the log is read while the events of this process alone follow one another: a server that took
// the place of another one, and lacks events, is noticed after this time.
const readEvery = 200 * time.Millisecond

// takeCommitted delivers the events that this process has committed and that follow the ring without a gap. It reports
// whether the log has no others, as far as this process knows.
func (t *Tailer) takeCommitted() (whole bool, err error) {
	if t.wake == nil {
		return false, nil
	}
	next, older, whole := t.wake.committed.take(t.ring.end())
	for _, rec := range older {
		if !t.ring.has(rec) {
			return false, errRecheck // the log has another event at a position that was delivered
		}
	}
	t.deliver(next)
	return whole, nil
}

// deliver adds settled events to the ring.
func (t *Tailer) deliver(events []eventlog.Recorded) {
	if len(events) == 0 {
		return
	}
	t.last = eventlog.MarksOf(events[len(events)-1:])[0]
	t.change(func() { t.ring.push(events) })
}
