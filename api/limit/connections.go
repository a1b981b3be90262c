// Package limit bounds the resources of one process that accounts use at the same time: connections and the memory of
// request bodies. It promises that no account keeps the others out. Package load bounds their work, and the stores
// enforce limits across processes, such as the number of running jobs.
package limit

import (
	"sync"
)

// Connections bounds the open connections of each account on this process.
type Connections struct {
	limit int

	mu   sync.Mutex // guards open
	open map[string]int
}

// NewConnections returns a bound of limit connections per account.
func NewConnections(limit int) *Connections {
	return &Connections{limit: limit, open: map[string]int{}}
}

// Acquire counts a connection of the account and reports whether it is within the limit. The caller must release an
// acquired connection.
func (c *Connections) Acquire(account string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[account] >= c.limit {
		return false
	}
	c.open[account]++
	return true
}

// Release ends the count of a connection of the account.
func (c *Connections) Release(account string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[account]--; c.open[account] == 0 {
		delete(c.open, account)
	}
}
