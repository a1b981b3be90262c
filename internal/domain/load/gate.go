// Package load decides what a process does now, what waits and what it refuses while more arrives than it can do. It
// promises that accounts are served in turn, that a caller who would wait for too long is refused at once, and that work
// nobody waits for gives way to requests, for a bounded time.
package load

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Options are the rules of a Gate. The zero value lets all work begin at once.
type Options struct {
	What  string // names the work in refusals, such as "submissions"
	Slots int    // pieces of work at the same time; 0 = any number
	Share int    // slots that one account may use, so that it leaves some to others while its work takes long; 0 = all

	// With Many, callers are refused: Few of them may wait in any case, because a slow machine serves them too, and
	// up to Many if they can expect a slot within Wait.
	Few, Many int
	Wait      time.Duration
	Longest   time.Duration // that any caller waits before it is refused; 0 = no bound

	// While no piece of Take has succeeded for Stall, callers do not wait for slots: the work that takes them stands still.
	Stall time.Duration // 0 = they always wait

	// The gate is busy while Busy pieces of work or more are under way, and until there were fewer for Calm: requests
	// that are committed together are answered together, so in the middle of a burst there are few again and again.
	Busy int // 0 = it is never busy
	Calm time.Duration

	Yield Yield // for a gate of intents
}

// Gate bounds one kind of work of a process: requests, whose callers wait in Begin, or intents, which Notify delivers. A
// nil Gate lets all requests begin at once and is never busy.
type Gate struct {
	opts Options
	more chan struct{} // capacity 1: a token when intents wait

	mu       sync.Mutex // guards all below
	underWay int
	used     map[string]int // slots by account
	waiting  turns
	since    time.Time // when the first waiting intent came
	took     float64   // seconds of a piece of work, on average of the last ones
	busyAt   time.Time // when the number of pieces under way last fell below Busy
	success  time.Time // when a piece of Take last succeeded
}

// New returns a Gate with these rules.
func New(opts Options) *Gate {
	return &Gate{opts: opts, more: make(chan struct{}, 1), used: map[string]int{}, waiting: turns{pieces: map[string][]*piece{}}}
}

// averaged is the weight of the latest piece of work in the average.
const averaged = 0.1

// Begin waits for a slot; the caller must call end once. If that would take too long, it fails with Exhausted,
// rate_limited, and as its Retry-After the time in which those who wait now are served. An account with no waiting caller
// is not refused then: it is served in turn, however many requests of other accounts wait. Begin fails in the same way when the
// caller has waited for Longest, and with the error of ctx if ctx ends first.
func (g *Gate) Begin(ctx context.Context, account string) (end func(), err error) {
	if g == nil {
		return func() {}, nil
	}
	p, err := g.enter(account)
	if err != nil {
		return nil, err
	}
	var late <-chan time.Time
	if g.opts.Longest > 0 {
		late = time.After(g.opts.Longest)
	}
	select {
	case <-p.granted:
	case <-ctx.Done():
		if g.leave(p) {
			return nil, ctx.Err()
		}
	case <-late:
		if err := g.giveUp(p); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	return func() { g.end(account, began) }, nil
}

// Take takes a slot for work that cannot wait, even if none is free. Callers of Begin wait until it ends. The caller must call
// end once.
func (g *Gate) Take(account string) (end func(succeeded bool)) {
	if g == nil {
		return func(bool) {}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.grant(&piece{account: account, granted: make(chan struct{})})
	began := time.Now()
	return func(succeeded bool) {
		if succeeded {
			g.succeed()
		}
		g.end(account, began)
	}
}

func (g *Gate) succeed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.success = time.Now()
}

// stands reports whether the work of Take stands still.
func (g *Gate) stands() bool { return g.opts.Stall > 0 && time.Since(g.success) > g.opts.Stall }

func (g *Gate) end(account string, began time.Time) {
	g.note(time.Since(began))
	g.release(account)
}

// giveUp refuses a caller that has waited for Longest, unless it has a slot or the work stands still.
func (g *Gate) giveUp(p *piece) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !g.waiting.remove(p):
		return nil
	case g.stands():
		g.grant(p)
		return nil
	}
	return g.refusal()
}

// enter grants a free slot, or queues the caller.
func (g *Gate) enter(account string) (*piece, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := &piece{account: account, granted: make(chan struct{})}
	if g.mayBegin(account) {
		g.grant(p)
		return p, nil
	}
	waiting := g.waiting.count
	if g.opts.Many > 0 && waiting >= g.opts.Few && len(g.waiting.pieces[account]) > 0 {
		if waiting >= g.opts.Many || g.expected() > g.opts.Wait {
			return nil, g.refusal()
		}
	}
	g.waiting.add(p)
	return p, nil
}

// refusal is the error for a caller that would wait for too long.
func (g *Gate) refusal() error {
	return fault.New(fault.Exhausted, fault.CodeRateLimited, "more %s arrive than can be served; try again later", g.opts.What).
		WithRetryAfter(time.Duration(math.Ceil(max(1, g.expected().Seconds()))) * time.Second)
}

// mayBegin reports whether a slot is free for the account.
func (g *Gate) mayBegin(account string) bool {
	return g.stands() || (g.opts.Slots == 0 || g.underWay < g.opts.Slots) && (g.opts.Share == 0 || g.used[account] < g.opts.Share)
}

func (g *Gate) grant(p *piece) {
	g.underWay++
	g.used[p.account]++
	close(p.granted)
}

// leave takes a caller out of the queue. It returns false if the caller has a slot already.
func (g *Gate) leave(p *piece) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting.remove(p)
}

// release frees a slot of the account and grants it to the next account that may have it.
func (g *Gate) release(account string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.underWay >= g.opts.Busy {
		g.busyAt = time.Now()
	}
	g.underWay--
	if g.used[account]--; g.used[account] == 0 {
		delete(g.used, account)
	}
	if p := g.waiting.next(g.mayBegin); p != nil {
		g.grant(p)
	}
}

// note adds a piece of work to the average. One that stood still for long does not tell how long others will take.
func (g *Gate) note(took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opts.Longest > 0 {
		took = min(took, g.opts.Longest)
	}
	g.took += averaged * (took.Seconds() - g.took)
}

// expected returns how long a caller would wait behind those who wait now, and behind the work that took more slots than there are.
func (g *Gate) expected() time.Duration {
	return time.Duration(float64(g.waiting.count+1+max(0, g.underWay-g.opts.Slots)) * g.took / float64(g.opts.Slots) * float64(time.Second))
}

// Waiting returns the number of callers or intents that wait.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting.count
}

// Busy reports whether many pieces of work are under way, or were a moment ago.
func (g *Gate) Busy() bool { return g.calmIn() > 0 }

// calmIn returns how long the gate stays busy at least; 0 = it is not busy.
func (g *Gate) calmIn() time.Duration {
	if g == nil || g.opts.Busy == 0 {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.underWay >= g.opts.Busy {
		return g.opts.Calm
	}
	return max(0, g.opts.Calm-time.Since(g.busyAt))
}
