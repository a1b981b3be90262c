package load

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// Yield says how a gate of intents gives way: the work that an intent starts can wait, the client of a request cannot. While
// To is not busy, intents are delivered at once.
type Yield struct {
	To      *Gate                      // the requests
	Deliver func([]outbox.Intent)      // must not block
	Account func(outbox.Intent) string // whose turn an intent takes; "" = it never waits
	Gap     time.Duration              // between two intents while To is busy; 0 = none is delivered then
	Longest time.Duration              // that an intent waits, then all are delivered; 0 = no bound
	Batch   int                        // so many waiting intents are delivered at once; 0 = never early
}

// maxWaiting bounds the intents that wait. Those beyond it are left in the outbox, where relays claim what is not
// delivered for seconds.
const maxWaiting = 1024

// Notify has recorded intents delivered, now or when Run finds that they may. It never blocks.
func (g *Gate) Notify(intents []outbox.Intent) {
	if now := g.add(intents); len(now) > 0 {
		g.opts.Yield.Deliver(now)
	}
}

// add queues the intents that can wait, and returns those to deliver now.
func (g *Gate) add(intents []outbox.Intent) (now []outbox.Intent) {
	busy := g.opts.Yield.To.Busy()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, in := range intents {
		account, waits := g.turnOf(in)
		if !waits || g.waiting.count == 0 && !busy {
			now = append(now, in)
			continue
		}
		if g.waiting.count == maxWaiting {
			continue
		}
		if g.waiting.count == 0 {
			g.since = time.Now()
		}
		g.waiting.add(&piece{account: account, intent: in})
	}
	if g.opts.Yield.Batch > 0 && g.waiting.count >= g.opts.Yield.Batch {
		now = append(now, g.take(g.waiting.count)...)
	}
	if g.waiting.count > 0 {
		select {
		case g.more <- struct{}{}:
		default:
		}
	}
	return now
}

func (g *Gate) turnOf(in outbox.Intent) (account string, waits bool) {
	account = g.opts.Yield.Account(in)
	return account, account != ""
}

// take removes n waiting intents, of all accounts in turn.
func (g *Gate) take(n int) []outbox.Intent {
	taken := make([]outbox.Intent, n)
	for i := range taken {
		taken[i] = g.waiting.next(func(string) bool { return true }).intent
	}
	return taken
}

// Run delivers waiting intents until ctx ends. Those that wait then are claimed by another relay.
func (g *Gate) Run(ctx context.Context) error {
	for {
		select {
		case <-g.more:
		case <-ctx.Done():
			return nil
		}
		for rest := g.deliver(); rest > 0; rest = g.deliver() {
			if pause.For(ctx, rest) != nil {
				return nil //nolint:nilerr // ctx has ended
			}
		}
	}
}

// deliver delivers the intents that may be delivered now, and returns when to look again; 0 = when there are more.
func (g *Gate) deliver() time.Duration {
	yield := g.opts.Yield
	busy := yield.To.calmIn()
	g.mu.Lock()
	n, left := g.waiting.count, busy
	if yield.Longest > 0 {
		left = min(left, yield.Longest-time.Since(g.since))
	}
	switch {
	case n == 0:
		left = 0
	case left > 0 && yield.Gap > 0:
		n, left = 1, yield.Gap
	case left > 0:
		n = 0
	default:
		left = yield.Gap
	}
	intents := g.take(n)
	g.mu.Unlock()
	if n > 0 {
		yield.Deliver(intents)
	}
	return left
}
