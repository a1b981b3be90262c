package webhook

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/queue"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// DispatcherDeps are the dependencies of a Dispatcher.
type DispatcherDeps struct {
	Queue    Queue
	Disabler *Service
	Sealer   Sealer
	Wire     Wire
	Allow    []string // host:port pairs allowed although they are not public or not https
	Counts   *Counts
	Log      *slog.Logger
	Grace    time.Duration // how long running attempts may continue after Run's context ends
}

// Dispatcher makes deliveries. Any number of processes may run one.
type Dispatcher struct {
	DispatcherDeps
	policy Policy
	runner *queue.Runner[*Claimed]
}

// NewDispatcher returns a dispatcher; Run starts it.
func NewDispatcher(deps DispatcherDeps, policy Policy) *Dispatcher {
	d := &Dispatcher{DispatcherDeps: deps, policy: policy}
	d.runner = queue.NewRunner(queue.Worker[*Claimed]{
		Claim: func(ctx context.Context, free int, lease time.Duration) ([]*Claimed, error) {
			return d.Queue.Claim(ctx, free, attemptLimits, lease)
		},
		Attempts: func(c *Claimed) int { return c.Attempts }, Attempt: d.attempt, Finish: d.finish,
	}, d.Log, queue.Options{
		Name: "webhooks", Parallel: attemptLimits.Total, Poll: pollEvery, Idle: idleEvery, Timeout: policy.Timeout, Pauses: policy.Retries,
		MaxRequestedPause: maxRetryAfter, Grace: d.Grace,
	})
	return d
}

// Wake makes the dispatcher read deliveries soon, because a new event may have made deliveries.
func (d *Dispatcher) Wake() { d.runner.Wake() }

// Intervals of reading new deliveries and of removing deliveries past their retention.
const (
	pollEvery  = 300 * time.Millisecond
	idleEvery  = 15 * time.Second // while nothing is due, and nothing happens
	pruneEvery = 10 * time.Minute
)

// Run makes deliveries until ctx ends. Running attempts then have the grace period to finish.
func (d *Dispatcher) Run(ctx context.Context) error {
	var pruning sync.WaitGroup
	pruning.Go(func() { d.prune(ctx) })
	defer pruning.Wait()
	return d.runner.Run(ctx)
}

// prune removes deliveries past their retention until ctx ends.
func (d *Dispatcher) prune(ctx context.Context) {
	for range pause.Every(ctx, pruneEvery) {
		more, err := true, error(nil)
		for more && err == nil {
			more, err = d.Queue.Prune(ctx, d.policy.Retention)
		}
		if err != nil && ctx.Err() == nil {
			d.Log.Warn("webhook delivery cleanup failed", "error", err)
		}
	}
}

// attempt sends the message unless the endpoint was disabled.
func (d *Dispatcher) attempt(ctx context.Context, c *Claimed) queue.Outcome {
	if c.Disabled {
		c.Try = Try{At: time.Now().UTC(), Error: Off}
		return queue.Outcome{State: queue.Dead}
	}
	p, err := openSecrets(d.Sealer, c.Webhook, c.Sealed)
	if err == nil {
		c.response, err = send(ctx, d.Wire, d.Allow, p, c.Delivery)
	}
	if err != nil { // the error is from before the request was sent
		d.Log.Error("webhook cannot be sent", "webhook", c.Webhook, "delivery", c.ID, "error", err)
		c.Try = Try{At: time.Now().UTC(), Error: Unreadable}
	}
	switch {
	case c.Try.Error == "":
		return queue.Outcome{}
	case c.isGone():
		return queue.Outcome{State: queue.Dead}
	}
	return queue.Outcome{State: queue.Waiting, Pause: c.retryAfter}
}

// states maps the states of queue items to those of deliveries.
var states = map[queue.State]State{queue.Done: Delivered, queue.Waiting: Pending, queue.Dead: Dead}

// finish records an attempt. An endpoint that answered 410, or has failed for too long, is disabled.
func (d *Dispatcher) finish(ctx context.Context, c *Claimed, o queue.Outcome) error {
	if o.State == queue.Returned {
		return d.Queue.GiveBack(ctx, c)
	}
	if errors.Is(o.Err, queue.ErrLost) {
		c.Try = Try{At: time.Now().UTC(), Error: Lost}
	}
	outcome := Outcome{State: states[o.State], Retry: o.Pause, Try: c.Try}
	failing, err := d.Queue.Finish(ctx, c, outcome)
	if err != nil {
		return err
	}
	d.Counts.add(outcome)
	d.Log.Debug("webhook attempted", "webhook", c.Webhook, "delivery", c.ID, "state", outcome.State, "status", c.Status, "problem",
		c.Try.Error)
	switch {
	case c.isGone():
		d.disable(ctx, c, Gone)
	case c.Try.Error != "" && c.Try.Error != Off && failing >= d.policy.DisableAfter:
		d.disable(ctx, c, Failing)
	}
	return nil
}

func (d *Dispatcher) disable(ctx context.Context, c *Claimed, cause Cause) {
	err := d.Disabler.Disable(ctx, c.Account, c.Webhook, cause, eventlog.By{Actor: "webhooks", Reason: string(cause)})
	if err != nil && !fault.Is(err, fault.NotFound) { // the endpoint was removed meanwhile
		d.Log.Warn("webhook not disabled; its next failure tries again", "webhook", c.Webhook, "cause", cause, "error", err)
		return
	}
	d.Log.Info("webhook disabled", "webhook", c.Webhook, "cause", cause)
}
