package webhook

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Disabler disables an endpoint. Service implements it.
type Disabler interface {
	Disable(ctx context.Context, account string, id ID, cause Cause, by By) error
}

// DispatcherDeps are the dependencies of a Dispatcher.
type DispatcherDeps struct {
	Queue    Queue
	Disabler Disabler
	Sealer   Sealer
	Wire     Wire
	Allow    []string // host:port pairs allowed although they are not public or not https
	Counts   *Counts
	Log      *slog.Logger
	Grace    time.Duration // how long running attempts may continue after Run's context ends
}

// Dispatcher makes deliveries. Any number of processes may run one. A process leases the deliveries it claims;
// if it dies, its deliveries are late but not lost.
type Dispatcher struct {
	DispatcherDeps
	policy  Policy
	slots   chan struct{} // one element for each running attempt
	ended   chan struct{} // capacity 1: an attempt has ended
	running sync.WaitGroup
}

// NewDispatcher returns a dispatcher; Run starts it.
func NewDispatcher(deps DispatcherDeps, policy Policy) *Dispatcher {
	return &Dispatcher{DispatcherDeps: deps, policy: policy, slots: make(chan struct{}, share.Total), ended: make(chan struct{}, 1)}
}

// Intervals of the loop: how soon it sees a new delivery, how seldom it polls the queue under load, and how
// often it removes deliveries past their retention.
const (
	pollEvery  = 300 * time.Millisecond
	claimGap   = 20 * time.Millisecond
	pruneEvery = 10 * time.Minute
)

// Run makes deliveries until ctx ends. Running attempts then have the grace period to finish.
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

// claim starts attempts of due deliveries, at most one for each free slot.
func (d *Dispatcher) claim(ctx, sending context.Context) {
	free := cap(d.slots) - len(d.slots)
	if free == 0 || ctx.Err() != nil {
		return
	}
	claimed, err := d.Queue.Claim(ctx, free, share, d.policy.lease())
	if err != nil {
		if ctx.Err() == nil {
			d.Log.Warn("webhook queue read failed", "error", err)
		}
		return
	}
	for _, c := range claimed {
		d.slots <- struct{}{} // never blocks: only this loop fills the channel
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
			d.Log.Warn("webhook delivery cleanup failed", "error", err)
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
	if ctx.Err() != nil && a.Error != "" { // interrupted by our shutdown; the endpoint did not fail
		if err := d.Queue.GiveBack(books, c); err != nil {
			d.Log.Warn("webhook delivery not returned to the queue; its lease will expire", "webhook", c.Webhook, "delivery", c.ID, "error", err)
		}
		return
	}
	d.record(books, c, a)
}

// try sends the message unless the endpoint was removed or disabled.
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
		d.Log.Warn("webhook outcome not recorded; the delivery will be attempted again", "webhook", c.Webhook, "delivery", c.ID, "error", err)
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
		d.Log.Warn("webhook not disabled; its next failure tries again", "webhook", c.Webhook, "cause", cause, "error", err)
		return
	}
	d.Log.Info("webhook disabled", "webhook", c.Webhook, "cause", cause)
}

// outcome decides whether a delivery is done, retried or dead.
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
