package outbox

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/queue"
	"github.com/millrace-dev/millrace/internal/fault"
)

// deliverTime bounds one attempt, and the time for which attempts continue when the relay stops.
const deliverTime = 10 * time.Second

// pauses increase from half a second to ten seconds, and then stay: short enough to notice that Temporal has
// returned, long enough not to overload it.
var pauses = []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second}

// idleEvery is how often a relay looks for due intents while none is due and nothing happens, as Wake would say. An intent
// whose process died before its delivery waits as long at most.
const idleEvery = 15 * time.Second

// Relay delivers intents: those passed to Notify at once, all others by polling the store.
type Relay struct {
	*queue.Runner[Intent]
	store Store
	log   *slog.Logger
	join  func([]Intent) []Intent
	done  chan int64
}

// NewRelay returns a Relay that looks for due intents every so often, and less and less often while there are none; Run
// starts it. Notify may be called before Run.
func NewRelay(store Store, starter Starter, log *slog.Logger, every time.Duration) *Relay {
	r := &Relay{store: store, log: log, join: joiner(starter), done: make(chan int64, 1024)}
	r.Runner = queue.NewRunner(queue.Worker[Intent]{
		Claim: func(ctx context.Context, free int, lease time.Duration) ([]Intent, error) {
			due, err := store.Claim(ctx, free, lease)
			return r.join(due), err
		},
		Attempts: func(in Intent) int { return in.Attempts },
		Attempt: func(ctx context.Context, in Intent) queue.Outcome {
			if err := starter.Deliver(ctx, in); err != nil {
				return queue.Outcome{State: queue.Waiting, Err: err}
			}
			return queue.Outcome{}
		},
		Finish: r.finish,
	}, log, queue.Options{
		Name: "outbox", Parallel: 16, Poll: every, Idle: idleEvery, Timeout: deliverTime, Pauses: pauses,
		RepeatLastPause: true, Grace: deliverTime,
	})
	return r
}

// joiner returns how a starter joins intents; one that is no Joiner delivers each by itself.
func joiner(s Starter) func([]Intent) []Intent {
	if j, ok := s.(Joiner); ok {
		return j.Join
	}
	return func(intents []Intent) []Intent { return intents }
}

// Notify has recorded intents delivered at once. It never blocks: when too many wait, the rest is left to be claimed.
func (r *Relay) Notify(intents []Intent) {
	for _, in := range r.Runner.Notify(r.join(intents)) {
		in.over(false)
	}
}

// Run delivers intents until ctx ends, and then finishes the running attempts.
func (r *Relay) Run(ctx context.Context) error {
	var sweeper sync.WaitGroup
	sweeper.Go(r.forget)
	defer sweeper.Wait()
	defer close(r.done)
	return r.Runner.Run(ctx)
}

func (r *Relay) finish(ctx context.Context, in Intent, o queue.Outcome) error {
	defer in.over(o.State == queue.Done)
	if o.State == queue.Done {
		for _, id := range in.ids() {
			r.done <- id
		}
		return nil
	}
	r.log.Warn("intent delivery failed; it will be retried", "workflow_id", in.WorkflowID, "kind", in.Kind, "attempts", in.Attempts, "error",
		o.Err)
	var failed []error
	for _, id := range in.ids() {
		failed = append(failed, r.store.Retry(ctx, id, o.Pause, fault.Sentence(o.Err)))
	}
	return errors.Join(failed...)
}

// linger is how long delivered intents are gathered before one statement deletes them. The deletion is not urgent,
// and a batch saves a transaction per job under load.
const linger = 100 * time.Millisecond

// forget deletes delivered intents in batches. An intent whose deletion fails is delivered again, which is harmless.
func (r *Relay) forget() {
	for id := range r.done {
		ids := []int64{id}
		for full := time.After(linger); full != nil && len(ids) < 500; {
			select {
			case id, ok := <-r.done:
				if !ok {
					full = nil
					break
				}
				ids = append(ids, id)
			case <-full:
				full = nil
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), deliverTime)
		if err := r.store.Done(ctx, ids); err != nil {
			r.log.Warn("delivered intents not deleted; they will be delivered again", "count", len(ids), "error", err)
		}
		cancel()
	}
}
