package outbox

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Options tune a Relay. The zero value works.
type Options struct {
	Workers   int           // intents delivered concurrently; default 16
	PollEvery time.Duration // interval between two looks for due intents; default 1 s
	Lease     time.Duration // how long a claimed intent is not claimed again; default 15 s
	CallLimit time.Duration // time limit of one attempt; default 10 s
}

func (o *Options) setDefaults() {
	if o.Workers == 0 {
		o.Workers = 16
	}
	if o.PollEvery == 0 {
		o.PollEvery = time.Second
	}
	if o.Lease == 0 {
		o.Lease = 15 * time.Second
	}
	if o.CallLimit == 0 {
		o.CallLimit = 10 * time.Second
	}
}

// Relay delivers intents: those passed to Notify at once, all others by polling the store.
type Relay struct {
	store   Store
	starter Starter
	log     *slog.Logger
	opts    Options
	fresh   chan Intent
	done    chan int64
}

// NewRelay returns a Relay; Run starts it. Notify may be called before Run.
func NewRelay(store Store, starter Starter, log *slog.Logger, opts Options) *Relay {
	opts.setDefaults()
	return &Relay{
		store: store, starter: starter, log: log, opts: opts,
		fresh: make(chan Intent, 1024), done: make(chan int64, 1024),
	}
}

// Notify queues recorded intents for immediate delivery. It never blocks: when the queue is full,
// the remaining intents are left to the next poll of the store.
func (r *Relay) Notify(intents []Intent) {
	for _, in := range intents {
		select {
		case r.fresh <- in:
		default:
			return
		}
	}
}

// Run delivers intents until ctx ends; then it finishes the attempts under way.
func (r *Relay) Run(ctx context.Context) error {
	var workers, sweeper sync.WaitGroup
	for range r.opts.Workers {
		workers.Go(func() { r.work(ctx) })
	}
	workers.Go(func() { r.poll(ctx) })
	sweeper.Go(r.forget)
	workers.Wait()
	close(r.done)
	sweeper.Wait()
	return nil
}

func (r *Relay) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case in := <-r.fresh:
			r.deliver(context.WithoutCancel(ctx), in)
		}
	}
}

func (r *Relay) deliver(ctx context.Context, in Intent) {
	call, cancel := context.WithTimeout(ctx, r.opts.CallLimit)
	defer cancel()
	err := r.starter.Deliver(call, in)
	if err == nil {
		r.done <- in.ID
		return
	}
	r.log.Warn("intent delivery failed; it will be retried", "workflow_id", in.WorkflowID, "kind", in.Kind, "attempts", in.Attempts, "error", err)
	bookkeeping, cancelBooks := context.WithTimeout(ctx, r.opts.CallLimit)
	defer cancelBooks()
	if err := r.store.Retry(bookkeeping, in.ID, backoff(in.Attempts), err.Error()); err != nil {
		r.log.Warn("intent retry not recorded; the intent is due again when its lease expires", "workflow_id", in.WorkflowID, "error", err)
	}
}

// backoff returns the delay before the next attempt. It doubles from half a second to ten
// seconds: short enough to notice that Temporal is back, long enough not to overload it.
func backoff(attempts int) time.Duration {
	d := 500 * time.Millisecond << min(attempts, 5)
	return min(d, 10*time.Second)
}

func (r *Relay) poll(ctx context.Context) {
	tick := time.NewTicker(r.opts.PollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.claim(ctx)
		}
	}
}

func (r *Relay) claim(ctx context.Context) {
	for {
		intents, err := r.store.Claim(ctx, r.opts.Workers, r.opts.Lease)
		if err != nil {
			if ctx.Err() == nil {
				r.log.Warn("outbox read failed", "error", err)
			}
			return
		}
		for _, in := range intents {
			select {
			case r.fresh <- in:
			case <-ctx.Done():
				return
			}
		}
		if len(intents) < r.opts.Workers {
			return
		}
	}
}

// linger is how long delivered intents are gathered before one statement deletes them.
// Nobody waits for the deletion, and a batch saves a transaction per job under load.
const linger = 20 * time.Millisecond

// forget deletes delivered intents in batches. An intent whose deletion fails is delivered
// again, which is harmless.
func (r *Relay) forget() {
	for id := range r.done {
		ids := r.gather(id)
		ctx, cancel := context.WithTimeout(context.Background(), r.opts.CallLimit)
		if err := r.store.Done(ctx, ids); err != nil {
			r.log.Warn("delivered intents not deleted; they will be delivered again", "count", len(ids), "error", err)
		}
		cancel()
	}
}

func (r *Relay) gather(first int64) []int64 {
	ids := []int64{first}
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for len(ids) < 500 {
		select {
		case id, ok := <-r.done:
			if !ok {
				return ids
			}
			ids = append(ids, id)
		case <-timer.C:
			return ids
		}
	}
	return ids
}
