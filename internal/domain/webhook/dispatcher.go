package webhook

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Disabler ends the deliveries of an endpoint; Service is it.
type Disabler interface {
	Disable(ctx context.Context, account string, id ID, cause Cause, by By) error
}

// DispatcherDeps are what a Dispatcher stands on.
type DispatcherDeps struct {
	Queue    Queue
	Disabler Disabler
	Sealer   Sealer
	Wire     Wire
	Allow    []string // host:port that may be reached although not public or not https
	Counts   *Counts
	Log      *slog.Logger
	Grace    time.Duration // how long attempts under way go on after the end of Run's context
}

// Dispatcher makes deliveries. Any number of processes run one each: what one has claimed is left to it
// until its lease ends, so that a killed one delays its deliveries and loses none.
type Dispatcher struct {
	DispatcherDeps
	policy  Policy
	slots   chan struct{} // one element for each attempt under way
	ended   chan struct{} // capacity 1: an attempt has ended
	running sync.WaitGroup
}

// NewDispatcher returns a dispatcher; Run starts it.
func NewDispatcher(deps DispatcherDeps, policy Policy) *Dispatcher {
	return &Dispatcher{DispatcherDeps: deps, policy: policy, slots: make(chan struct{}, share.Total), ended: make(chan struct{}, 1)}
}

// Paces of the loop: how soon a new delivery is seen, how seldom the queue is asked under load, and how
// often what is past its retention is forgotten.
const (
	pollEvery  = 300 * time.Millisecond
	claimGap   = 20 * time.Millisecond
	pruneEvery = 10 * time.Minute
)

// Run makes deliveries until ctx ends; then attempts under way have the grace to come to their end.
func (d *Dispatcher) Run(ctx context.Context) error {
	sending, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(d.Grace, cut) })
	defer stop()
	poll, prune := time.NewTicker(pollEvery), time.NewTicker(pruneEvery)
	defer poll.Stop()
	defer prune.Stop()
	for {
		select {
		case <-ctx.Done():
			d.running.Wait()
			return nil
		case <-prune.C:
			d.prune(ctx)
		case <-poll.C:
			d.claim(ctx, sending)
		case <-d.ended:
			pause(ctx, claimGap)
			d.claim(ctx, sending)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// claim starts attempts at what is due, as many as there are free slots.
func (d *Dispatcher) claim(ctx, sending context.Context) {
	free := cap(d.slots) - len(d.slots)
	if free == 0 || ctx.Err() != nil {
		return
	}
	claimed, err := d.Queue.Claim(ctx, free, share, d.policy.lease())
	if err != nil {
		if ctx.Err() == nil {
			d.Log.Warn("reading the queue of webhooks failed", "error", err)
		}
		return
	}
	for _, c := range claimed {
		d.slots <- struct{}{} // there is room: only this loop fills it
		d.running.Go(func() {
			defer func() {
				<-d.slots
				select {
				case d.ended <- struct{}{}:
				default:
				}
			}()
			d.attempt(sending, c)
		})
	}
}

func (d *Dispatcher) prune(ctx context.Context) {
	for {
		more, err := d.Queue.Prune(ctx, d.policy.Retention)
		if err != nil && ctx.Err() == nil {
			d.Log.Warn("removing old deliveries failed", "error", err)
		}
		if err != nil || !more {
			return
		}
	}
}

// attempt makes one attempt and records how it ended.
func (d *Dispatcher) attempt(ctx context.Context, c Claimed) {
	a := d.try(ctx, c)
	books, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	if ctx.Err() != nil && a.Error != "" { // broken off by us: no fault of the endpoint
		if err := d.Queue.GiveBack(books, c); err != nil {
			d.Log.Warn("returning a delivery failed; its lease runs out", "webhook", c.Webhook, "delivery", c.ID, "error", err)
		}
		return
	}
	d.record(books, c, a)
}

// try sends, unless there is nothing to be sent any more.
func (d *Dispatcher) try(ctx context.Context, c Claimed) answer {
	now := time.Now().UTC()
	switch {
	case c.Disabled:
		return answer{Try: Try{At: now, Error: Off}}
	case c.Attempts > len(d.policy.Retries)+1:
		return answer{Try: Try{At: now, Error: Lost}}
	}
	p, err := openPlace(d.Sealer, c.Webhook, c.Sealed)
	var a answer
	if err == nil {
		a, err = send(ctx, d.Wire, d.Allow, p, c.Delivery, d.policy.Timeout)
	}
	if err != nil { // before anything was sent
		d.Log.Error("webhook cannot be sent", "webhook", c.Webhook, "delivery", c.ID, "error", err)
		return answer{Try: Try{At: now, Error: Unreadable}}
	}
	return a
}

func (d *Dispatcher) record(ctx context.Context, c Claimed, a answer) {
	o := d.outcome(c, a)
	failing, err := d.Queue.Finish(ctx, c, o)
	if err != nil {
		d.Log.Warn("recording a delivery failed; it is made again", "webhook", c.Webhook, "delivery", c.ID, "error", err)
		return
	}
	d.Counts.add(o)
	d.Log.Debug("webhook attempted", "webhook", c.Webhook, "delivery", c.ID, "state", o.State, "status", a.Status, "problem", a.Error)
	cause := Failing
	switch {
	case a.gone():
		cause = Gone
	case a.Error == "" || a.Error == Off || failing < d.policy.DisableAfter:
		return
	}
	err = d.Disabler.Disable(ctx, c.Account, c.Webhook, cause, By{Actor: "webhooks", Reason: string(cause)})
	if err != nil && !fault.Is(err, fault.NotFound) { // removed meanwhile
		d.Log.Warn("disabling a webhook failed; its next failure tries again", "webhook", c.Webhook, "cause", cause, "error", err)
		return
	}
	d.Log.Info("webhook disabled", "webhook", c.Webhook, "cause", cause)
}

// outcome decides what becomes of a delivery.
func (d *Dispatcher) outcome(c Claimed, a answer) Outcome {
	o := Outcome{State: Dead, Try: a.Try}
	switch {
	case a.Error == "":
		o.State = Delivered
	case a.Error == Off || a.Error == Lost || a.gone():
	default:
		if pause, ok := d.policy.next(c.Attempts, a.retryAfter); ok {
			o.State, o.Retry = Pending, pause
		}
	}
	return o
}
