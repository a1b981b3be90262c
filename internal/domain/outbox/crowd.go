package outbox

import (
	"sync"
	"time"
)

// Crowd counts requests under way and remembers when they were many. Requests that are committed together are answered
// together, so that there are few of them again and again in the middle of a burst.
type Crowd struct {
	many int           // requests under way that are a crowd
	calm time.Duration // for so long after it, the crowd counts as there

	mu    sync.Mutex // guards all below
	count int
	last  time.Time // when there were many
}

// NewCrowd returns a Crowd of many requests or more, which counts as there until it was gone for calm.
func NewCrowd(many int, calm time.Duration) *Crowd { return &Crowd{many: many, calm: calm} }

// Enter counts a request that begins. A nil Crowd counts nothing.
func (c *Crowd) Enter() { c.add(1) }

// Leave counts a request that has ended.
func (c *Crowd) Leave() { c.add(-1) }

func (c *Crowd) add(n int) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if max(c.count, c.count+n) >= c.many {
		c.last = time.Now()
	}
	c.count += n
}

// Present reports whether many requests are under way, or were a moment ago.
func (c *Crowd) Present() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count >= c.many || time.Since(c.last) < c.calm
}
