// Package limit bounds what accounts use of one process at the same time: connections, places for heavy work, and the
// memory of request bodies. It promises that no account keeps the others out. Bounds over all processes, such as the
// number of running jobs, belong to the stores.
package limit

import (
	"sync"
)

// Connections bounds how many connections of a kind an account holds open on this process.
type Connections struct {
	limit int

	mu   sync.Mutex // guards open
	open map[string]int
}

// NewConnections returns a bound of limit connections for each account.
func NewConnections(limit int) *Connections {
	return &Connections{limit: limit, open: map[string]int{}}
}

// Acquire counts a connection of the account and reports whether the account may have it. Every acquired connection is
// released.
func (c *Connections) Acquire(account string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[account] >= c.limit {
		return false
	}
	c.open[account]++
	return true
}

// Release takes a connection of the account off the count.
func (c *Connections) Release(account string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[account]--; c.open[account] == 0 {
		delete(c.open, account)
	}
}
