package api

import "sync"

// quota bounds how many connections of a kind an account holds open on this process.
type quota struct {
	limit int

	mu   sync.Mutex // guards held
	held map[string]int
}

func newQuota(limit int) *quota { return &quota{limit: limit, held: map[string]int{}} }

// take reserves a place and reports whether there was one; every taken one is given back.
func (q *quota) take(account string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held[account] >= q.limit {
		return false
	}
	q.held[account]++
	return true
}

func (q *quota) giveBack(account string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held[account]--; q.held[account] == 0 {
		delete(q.held, account)
	}
}
