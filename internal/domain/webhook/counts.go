package webhook

import "sync/atomic"

// Counts counts the attempts of a process by outcome. The zero value is ready to use.
type Counts struct{ delivered, retried, dead atomic.Int64 }

func (c *Counts) add(o Outcome) {
	switch o.State {
	case Delivered:
		c.delivered.Add(1)
	case Pending:
		c.retried.Add(1)
	case Dead:
		c.dead.Add(1)
	}
}

// Read returns the numbers of attempts that delivered, that will be retried, and that were the last.
func (c *Counts) Read() map[string]int64 {
	return map[string]int64{
		"delivered": c.delivered.Load(), "retried": c.retried.Load(), "dead": c.dead.Load(),
	}
}
