package datastore

import "sync"

// mostClosed bounds the runs of one generation. Their timeouts are due ten seconds after they closed.
const mostClosed = 8192

// closed remembers the ids of closed runs. It forgets runs that newer ones push out.
type closed struct {
	mutex      sync.Mutex // guards both
	young, old map[string]struct{}
}

func (c *closed) add(run string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.young) >= mostClosed || c.young == nil {
		c.young, c.old = map[string]struct{}{}, c.young
	}
	c.young[run] = struct{}{}
}

func (c *closed) has(run string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	_, young := c.young[run]
	_, old := c.old[run]
	return young || old
}

func (c *closed) empty() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return len(c.young) == 0
}

func (c *closed) forgetAll() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.young, c.old = nil, nil
}
