package call

import (
	"sync"
	"time"
)

const (
	// deadAfter is how long a process may be silent before its calls are given up. It beats several times within
	// it; a wrong guess costs a call its clear end, until its answer arrives late.
	deadAfter = 15 * time.Second
	// attentive is how far apart two looks may be between which a silence counts.
	attentive = 10 * time.Second
)

// Pulse tells from its signs of life whether a process lives. What counts is that the sign does not change while it
// is looked at, and not its time: while the database was away nobody could give one, and its clock may be set.
type Pulse struct {
	now func() time.Time

	mu   sync.Mutex // guards felt
	felt map[string]beat
}

// beat is the last sign of a process, since when it is known and when it was last looked at.
type beat struct {
	sign        time.Time
	since, last time.Time
}

// NewPulse returns a Pulse of no process. now is the time here, time.Now.
func NewPulse(now func() time.Time) *Pulse { return &Pulse{now: now, felt: map[string]beat{}} }

// Alive reports whether a process lives whose last sign is sign, as it is read at this moment.
func (p *Pulse) Alive(process string, sign time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	b, known := p.felt[process]
	if !known || !b.sign.Equal(sign) || now.Sub(b.last) > attentive {
		b = beat{sign: sign, since: now}
	}
	b.last = now
	p.forget(now)
	p.felt[process] = b
	return now.Sub(b.since) < deadAfter
}

// forget drops processes that nobody asked about for long.
func (p *Pulse) forget(now time.Time) {
	for process, b := range p.felt {
		if now.Sub(b.last) > attentive {
			delete(p.felt, process)
		}
	}
}
