package outbox

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Options tune a Relay. The zero value works.
type Options struct {
	Workers   int           // intents tried at once; default 16
	PollEvery time.Duration // how often due intents are looked for; default 1 s
	Lease     time.Duration // how long a claimed intent is left to its claimer; default 15 s
	CallLimit time.Duration // bound on one attempt; default 10 s
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

// Relay carries out intents, fresh ones through Kick and left-over ones by polling.
type Relay struct {
	store   Store
	carrier Carrier
	log     *slog.Logger
	opts    Options
	fresh   chan Intent
	done    chan int64
}

// NewRelay returns a Relay; Run starts it. Kick may be called before Run.
func NewRelay(store Store, carrier Carrier, log *slog.Logger, opts Options) *Relay {
	opts.setDefaults()
	return &Relay{
		store: store, carrier: carrier, log: log, opts: opts,
		fresh: make(chan Intent, 1024), done: make(chan int64, 1024),
	}
}

// Kick tries intents at once, without waiting. Those that find the queue full are left to
// the poll: they are in the store.
func (r *Relay) Kick(intents []Intent) {
	for _, in := range intents {
		select {
		case r.fresh <- in:
		default:
			return
		}
	}
}

// Run works until ctx ends; then it finishes the attempts under way.
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
			r.carry(context.WithoutCancel(ctx), in)
		}
	}
}

func (r *Relay) carry(ctx context.Context, in Intent) {
	call, cancel := context.WithTimeout(ctx, r.opts.CallLimit)
	defer cancel()
	err := r.carrier.Carry(call, in)
	if err == nil {
		r.done <- in.ID
		return
	}
	r.log.Warn("intent not carried out yet", "workflow_id", in.WorkflowID, "kind", in.Kind, "attempts", in.Attempts, "error", err)
	bookkeeping, cancelBooks := context.WithTimeout(ctx, r.opts.CallLimit)
	defer cancelBooks()
	if err := r.store.Retry(bookkeeping, in.ID, backoff(in.Attempts), err.Error()); err != nil {
		r.log.Warn("intent not rescheduled; its lease will run out", "workflow_id", in.WorkflowID, "error", err)
	}
}

// backoff doubles from half a second to ten: an engine that returns is noticed soon, one
// that is away for long is not hammered.
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
				r.log.Warn("outbox not readable", "error", err)
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

// linger is how long carried-out intents are gathered before one statement deletes them:
// nobody waits for the deletion, and it saves a transaction per job under load.
const linger = 20 * time.Millisecond

// forget deletes carried-out intents in batches. An intent whose deletion is lost is carried
// out again, which is harmless.
func (r *Relay) forget() {
	for id := range r.done {
		ids := r.gather(id)
		ctx, cancel := context.WithTimeout(context.Background(), r.opts.CallLimit)
		if err := r.store.Done(ctx, ids); err != nil {
			r.log.Warn("carried-out intents not forgotten yet", "count", len(ids), "error", err)
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
