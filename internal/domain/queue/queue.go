// Package queue attempts the items of a queue that several processes share. A process leases the items that it
// claims; if it dies, other processes claim them when their leases end, so every item is attempted at least once and
// none is lost. A failed attempt is repeated after a pause, and an item without remaining pauses becomes a dead
// letter. A Worker stores the items, decides which are due, and attempts them.
package queue

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// Worker stores the items of a queue and attempts them. Its functions may be called concurrently.
type Worker[T any] struct {
	Claim    func(ctx context.Context, free int, lease time.Duration) ([]T, error) // leases at most free due items
	Attempts func(item T) int                                                      // attempts so far, this one included; 0 counts as 1
	Attempt  func(ctx context.Context, item T) Outcome
	Finish   func(ctx context.Context, item T, o Outcome) error // records an outcome; if it fails, the item is due when its lease ends
}

// Outcome is the outcome of an attempt.
type Outcome struct {
	State State
	Pause time.Duration // pause before the item is due again; an attempt may request a longer one than the schedule has
	Err   error
}

// State is the state of an item after an attempt.
type State int

// The states after an attempt.
const (
	Done     State = iota
	Waiting        // due again after a pause
	Dead           // no more attempts
	Returned       // due again: this process stopped in the middle of the attempt, which does not count
)

// ErrLost is the error of a dead letter that this process did not attempt: every process that attempted it died.
var ErrLost = errors.New("the process died at every attempt")

// Options describe a queue.
type Options struct {
	Name              string          // in log lines
	Parallel          int             // concurrent attempts
	Poll              time.Duration   // interval of claiming due items
	Idle              time.Duration   // interval between claims that find no item, until Wake or an item's pause ends; default Poll
	Timeout           time.Duration   // bound of one attempt
	Pauses            []time.Duration // before the second attempt, the third, …
	RepeatLastPause   bool            // the last pause repeats, and no item becomes a dead letter
	MaxRequestedPause time.Duration   // bounds the pause that an attempt requests
	Grace             time.Duration   // how long attempts may continue after Run's context ends
}

const (
	recordTime = 5 * time.Second       // bounds the time to record one outcome
	claimGap   = 20 * time.Millisecond // between the end of a claimed item and the next claim, so that several ends share one
)

// Runner works off a queue. It attempts items that are passed to Notify at once, and claims all others.
type Runner[T any] struct {
	worker  Worker[T]
	log     *slog.Logger
	opts    Options
	arrived chan T
	slots   chan struct{}      // one element for each running attempt
	ended   chan struct{}      // capacity 1: a token if the attempt of a claimed item has ended
	wake    chan struct{}      // capacity 1: a token if an item may be recorded soon
	pauses  chan time.Duration // of items that are due again after them
	running sync.WaitGroup
}

// NewRunner returns a Runner; Run starts it. Notify may be called before Run.
func NewRunner[T any](w Worker[T], log *slog.Logger, opts Options) *Runner[T] {
	return &Runner[T]{
		worker: w, log: log.With("queue", opts.Name), opts: opts,
		arrived: make(chan T, 1024), slots: make(chan struct{}, opts.Parallel), ended: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		pauses: make(chan time.Duration, opts.Parallel),
	}
}

// Notify starts attempts of recorded items at once, without a claim. It never blocks: if too many items wait, it returns
// the rest, which is claimed later.
func (r *Runner[T]) Notify(items []T) (rest []T) {
	for i, item := range items {
		select {
		case r.arrived <- item:
		default:
			return items[i:]
		}
	}
	return nil
}

// Wake shortens the interval of claims to Options.Poll, because an item is about to be recorded. It never blocks.
func (r *Runner[T]) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run attempts items until ctx ends. Running attempts then have the grace period to finish.
func (r *Runner[T]) Run(ctx context.Context) error {
	attempts, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(r.opts.Grace, cut) })()
	defer r.running.Wait()
	claims, pause := newAlarm(r.opts.Poll), r.opts.Poll
	defer claims.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case item := <-r.arrived:
			r.start(ctx, attempts, item, func() {})
		case <-r.ended:
			claims.ringWithin(claimGap)
		case pause := <-r.pauses:
			claims.ringAfter(pause)
		case <-r.wake:
			claims.ringWithin(r.opts.Poll)
			pause = r.opts.Poll
		case <-claims.C:
			if pause = min(2*pause, max(r.opts.Idle, r.opts.Poll)); r.claim(ctx, attempts) {
				pause = r.opts.Poll
			}
			claims.ringIn(pause)
		}
	}
}

// alarm is a timer that can be brought forward.
type alarm struct {
	*time.Timer
	at  time.Time
	due time.Time // the earliest end of an item's pause that is known; zero = none
}

func newAlarm(d time.Duration) *alarm {
	return &alarm{Timer: time.NewTimer(d), at: time.Now().Add(d)}
}

// ringIn sets the alarm for d from now, or for the end of an item's pause before that.
func (a *alarm) ringIn(d time.Duration) {
	if left := time.Until(a.due); left <= 0 {
		a.due = time.Time{}
	} else {
		d = min(d, left)
	}
	a.at = time.Now().Add(d)
	a.Reset(d)
}

// ringWithin brings the alarm forward unless it rings within d.
func (a *alarm) ringWithin(d time.Duration) {
	if time.Until(a.at) > d {
		a.ringIn(d)
	}
}

// ringAfter has the alarm ring when the pause of an item ends.
func (a *alarm) ringAfter(pause time.Duration) {
	if end := time.Now().Add(pause); a.due.IsZero() || end.Before(a.due) {
		a.due = end
	}
	a.ringWithin(pause)
}

// claim starts attempts of due items, at most one for each free slot. It reports whether more items may be due soon.
func (r *Runner[T]) claim(ctx, attempts context.Context) bool {
	free := cap(r.slots) - len(r.slots)
	if free == 0 {
		return true
	}
	claimed, err := r.worker.Claim(ctx, free, r.opts.Timeout+recordTime)
	if err != nil && ctx.Err() == nil {
		r.log.Warn("queue read failed", "error", err)
	}
	for _, item := range claimed {
		r.start(ctx, attempts, item, func() {
			select {
			case r.ended <- struct{}{}:
			default:
			}
		})
	}
	return len(claimed) > 0 || len(r.slots) > 0
}

// start attempts an item as soon as a slot is free. An item that is not started before ctx ends is claimed again
// later.
func (r *Runner[T]) start(ctx, attempts context.Context, item T, ended func()) {
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	r.running.Go(func() {
		r.attempt(attempts, item)
		<-r.slots
		ended()
	})
}

func (r *Runner[T]) attempt(ctx context.Context, item T) {
	o, tried := Outcome{State: Dead, Err: ErrLost}, max(r.worker.Attempts(item), 1)
	if r.opts.RepeatLastPause || tried <= len(r.opts.Pauses)+1 {
		try, cancel := context.WithTimeout(ctx, r.opts.Timeout)
		o = r.schedule(r.worker.Attempt(try, item), tried)
		cancel()
	}
	if o.State != Done && ctx.Err() != nil {
		o.State = Returned
	}
	books, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	if err := r.worker.Finish(books, item, o); err != nil {
		r.log.Warn("outcome not recorded; the item is attempted again when its lease ends", "error", err)
		o = Outcome{State: Waiting, Pause: r.opts.Timeout + recordTime}
	}
	if o.State == Waiting {
		select {
		case r.pauses <- o.Pause:
		default: // claims are frequent while so many items fail
		}
	}
}

// schedule sets the pause before the next attempt, or makes the item a dead letter. It varies the pause at random by
// up to a fifth, so that items that failed together are not attempted together.
func (r *Runner[T]) schedule(o Outcome, tried int) Outcome {
	switch {
	case o.State != Waiting:
	case tried > len(r.opts.Pauses) && !r.opts.RepeatLastPause:
		o.State = Dead
	default:
		pause := r.opts.Pauses[min(tried, len(r.opts.Pauses))-1]
		o.Pause = max(pause*4/5+rand.N(pause*2/5+1), min(o.Pause, r.opts.MaxRequestedPause)) // jitter, not a secret
	}
	return o
}
