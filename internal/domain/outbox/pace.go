package outbox

import (
	"context"
	"sync"
	"time"
)

// PaceOptions describe a Pace. All are required.
type PaceOptions struct {
	Notify  func([]Intent)      // has intents delivered at once
	Account func(Intent) string // whose turn it takes to deliver an intent; "" = it is delivered at once in any case
	Pressed func() bool         // requests of clients need the processors now
	Gap     time.Duration       // between two deliveries while requests press
}

// maxDelayed bounds the intents that a Pace holds back. Those beyond it are left to be claimed.
const maxDelayed = 1024

// Pace hands intents over at once, unless requests of clients press: then one after the other, each account in turn, because
// the work that a delivery starts can wait, and the client of a request does. An intent that it holds back for
// seconds is claimed by a relay, as any recorded intent that is not delivered.
type Pace struct {
	opts PaceOptions
	more chan struct{} // capacity 1: a token if an intent is held back

	mu      sync.Mutex // guards all below
	delayed map[string][]Intent
	turn    []string // accounts with intents, in turn
	count   int
}

// NewPace returns a Pace; Run hands over what it holds back.
func NewPace(opts PaceOptions) *Pace {
	return &Pace{opts: opts, more: make(chan struct{}, 1), delayed: map[string][]Intent{}}
}

// Notify has recorded intents delivered, now or soon. It never blocks.
func (p *Pace) Notify(intents []Intent) {
	p.opts.Notify(p.hold(intents))
}

// hold holds intents back that can wait, and returns the others.
func (p *Pace) hold(intents []Intent) (now []Intent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, in := range intents {
		account := p.opts.Account(in)
		if account == "" || p.count == 0 && !p.opts.Pressed() {
			now = append(now, in)
			continue
		}
		if p.count == maxDelayed {
			continue
		}
		if len(p.delayed[account]) == 0 {
			p.turn = append(p.turn, account)
		}
		p.delayed[account] = append(p.delayed[account], in)
		p.count++
	}
	if p.count > 0 {
		select {
		case p.more <- struct{}{}:
		default:
		}
	}
	return now
}

// Run hands over what is held back until ctx ends. What is left then is claimed by another relay.
func (p *Pace) Run(ctx context.Context) error {
	for {
		select {
		case <-p.more:
		case <-ctx.Done():
			return nil
		}
		for next := p.next(); len(next) > 0; next = p.next() {
			p.opts.Notify(next)
			select {
			case <-time.After(p.opts.Gap):
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// next returns the intents to hand over now: one, or all when requests press no longer.
func (p *Pace) next() (next []Intent) {
	pressed := p.opts.Pressed()
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.count > 0 && (len(next) == 0 || !pressed) {
		account := p.turn[0]
		next = append(next, p.delayed[account][0])
		p.turn, p.delayed[account] = p.turn[1:], p.delayed[account][1:]
		if p.count--; len(p.delayed[account]) > 0 {
			p.turn = append(p.turn, account)
		} else {
			delete(p.delayed, account)
		}
	}
	return next
}
