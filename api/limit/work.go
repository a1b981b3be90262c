package limit

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
)

// WorkOptions bound a kind of work. All are required.
type WorkOptions struct {
	What  string        // names the work in refusals, such as "submissions"
	Slots int           // pieces of work at the same time
	Few   int           // callers that may wait in any case: a slow machine serves them too
	Many  int           // callers that may wait at most
	Wait  time.Duration // how long a caller beyond Few may expect to wait
}

// Work bounds one kind of work of a process, so that what a machine cannot do is refused at once, and other kinds of work
// keep their part of it. Accounts that wait are served in turn.
type Work struct {
	opts  WorkOptions
	slots *Semaphore

	mu   sync.Mutex // guards took
	took float64    // seconds of a piece of work, on average of the last ones
}

// NewWork returns the bounds of one kind of work.
func NewWork(opts WorkOptions) *Work {
	return &Work{opts: opts, slots: NewSemaphore(opts.Slots, opts.Slots)}
}

// averaged is the weight of the latest piece of work in the average.
const averaged = 0.1

// Begin waits for a slot. If that would take too long, it fails with Exhausted, rate_limited, and as its
// Retry-After the time in which those who wait now are served. An account with no waiting caller is never refused: it is
// served in turn, however many requests of other accounts wait. The caller must call end.
func (w *Work) Begin(ctx context.Context, account string) (end func(), err error) {
	if waiting := w.slots.Waiting(); waiting >= w.opts.Few && w.slots.WaitingOf(account) > 0 {
		if wait := w.expected(waiting); waiting >= w.opts.Many || wait > w.opts.Wait {
			return nil, fault.New(fault.Exhausted, fault.CodeRateLimited, "more %s arrive than can be served; try again later", w.opts.What).
				WithRetryAfter(time.Duration(math.Ceil(max(1, wait.Seconds()))) * time.Second)
		}
	}
	release, err := w.slots.Acquire(ctx, account)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	return func() {
		release()
		w.note(time.Since(began))
	}, nil
}

func (w *Work) note(took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.took += averaged * (took.Seconds() - w.took)
}

// expected returns how long a caller would wait behind so many others.
func (w *Work) expected(waiting int) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(float64(waiting+1) * w.took / float64(w.opts.Slots) * float64(time.Second))
}
