package queue_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/queue"
)

// table is a queue in memory. Items that are due are in a channel; outcomes come out of another.
type table struct {
	due      chan *item
	outcomes chan queue.Outcome
	attempt  func(ctx context.Context, it *item) queue.Outcome
}

type item struct{ tried int }

func newTable(attempt func(ctx context.Context, it *item) queue.Outcome) *table {
	return &table{due: make(chan *item, 1000), outcomes: make(chan queue.Outcome, 1000), attempt: attempt}
}

func (tb *table) claim(_ context.Context, free int, _ time.Duration) (claimed []*item, err error) {
	for len(claimed) < free {
		select {
		case it := <-tb.due:
			it.tried++
			claimed = append(claimed, it)
		default:
			return claimed, nil
		}
	}
	return claimed, nil
}

// finish makes an item that waits due at once.
func (tb *table) finish(_ context.Context, it *item, o queue.Outcome) error {
	tb.outcomes <- o
	if o.State == queue.Waiting {
		tb.due <- it
	}
	return nil
}

func (tb *table) runner(opts queue.Options) *queue.Runner[*item] {
	opts.Poll, opts.Timeout = time.Millisecond, time.Minute
	opts.Parallel = max(opts.Parallel, 1)
	return queue.NewRunner(queue.Worker[*item]{
		Claim: tb.claim, Attempts: func(it *item) int { return it.tried }, Attempt: tb.attempt, Finish: tb.finish,
	}, slog.New(slog.DiscardHandler), opts)
}

// start runs a queue and returns a function that stops it.
func start(t *testing.T, r *queue.Runner[*item]) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- r.Run(ctx) }()
	t.Cleanup(cancel)
	return func() {
		cancel()
		require.NoError(t, <-stopped)
	}
}

func (tb *table) next(t *testing.T) queue.Outcome {
	t.Helper()
	select {
	case o := <-tb.outcomes:
		return o
	case <-time.After(time.Minute):
		t.Fatal("no attempt ended")
		return queue.Outcome{}
	}
}

var errAway = errors.New("away")

func fails(context.Context, *item) queue.Outcome {
	return queue.Outcome{State: queue.Waiting, Err: errAway}
}

func TestAnItemIsRetriedAfterItsPausesAndThenIsADeadLetter(t *testing.T) {
	t.Parallel()
	pauses := []time.Duration{0, time.Second, time.Minute, time.Hour}
	tb := newTable(fails)
	tb.due <- &item{}
	stop := start(t, tb.runner(queue.Options{Pauses: pauses}))
	for _, pause := range pauses {
		o := tb.next(t)
		require.Equal(t, queue.Waiting, o.State)
		require.InDelta(t, float64(pause), float64(o.Pause), float64(pause)/5+1)
	}
	require.Equal(t, queue.Dead, tb.next(t).State)
	stop()
	require.Empty(t, tb.outcomes)
}

func TestLastPauseRepeatsForeverIfConfigured(t *testing.T) {
	t.Parallel()
	tb := newTable(fails)
	tb.due <- &item{}
	stop := start(t, tb.runner(queue.Options{Pauses: []time.Duration{time.Second}, RepeatLastPause: true}))
	seen := map[time.Duration]bool{}
	for range 400 {
		o := tb.next(t)
		require.Equal(t, queue.Waiting, o.State)
		require.InDelta(t, float64(time.Second), float64(o.Pause), float64(time.Second)/5+1)
		seen[o.Pause] = true
	}
	stop()
	require.Greater(t, len(seen), 10, "items that failed together are not attempted together")
	all := slices.Sorted(maps.Keys(seen))
	require.Less(t, all[0], 850*time.Millisecond, "the pauses vary by a fifth")
	require.Greater(t, all[len(all)-1], 1150*time.Millisecond, "the pauses vary by a fifth")
}

func TestAnAttemptMayAskForALongerPauseWithinABound(t *testing.T) {
	t.Parallel()
	asked := make(chan time.Duration, 2)
	asked <- 10 * time.Minute
	asked <- 48 * time.Hour
	tb := newTable(func(context.Context, *item) queue.Outcome {
		return queue.Outcome{State: queue.Waiting, Pause: <-asked, Err: errAway}
	})
	tb.due <- &item{}
	start(t, tb.runner(queue.Options{Pauses: []time.Duration{time.Second, time.Second}, MaxRequestedPause: time.Hour}))
	require.Equal(t, 10*time.Minute, tb.next(t).Pause)
	require.Equal(t, time.Hour, tb.next(t).Pause)
}

func TestItemWhoseProcessesAllDiedIsADeadLetter(t *testing.T) {
	t.Parallel()
	tb := newTable(func(context.Context, *item) queue.Outcome { panic("attempted") })
	tb.due <- &item{tried: 2} // one pause allows two attempts
	start(t, tb.runner(queue.Options{Pauses: []time.Duration{time.Second}}))
	o := tb.next(t)
	require.Equal(t, queue.Dead, o.State)
	require.ErrorIs(t, o.Err, queue.ErrLost)
}

func TestInterruptedAttemptIsReturnedToTheQueue(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	tb := newTable(func(ctx context.Context, _ *item) queue.Outcome {
		close(begun)
		<-ctx.Done()
		return queue.Outcome{State: queue.Waiting, Err: ctx.Err()}
	})
	tb.due <- &item{}
	stop := start(t, tb.runner(queue.Options{Pauses: []time.Duration{time.Second}, Grace: time.Millisecond}))
	<-begun
	stop()
	require.Equal(t, queue.Returned, tb.next(t).State)
}

func TestStoppingWaitsForAttemptsWithinTheGracePeriod(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}), make(chan struct{})
	tb := newTable(func(ctx context.Context, _ *item) queue.Outcome {
		close(begun)
		<-finish
		return queue.Outcome{}
	})
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	r := tb.runner(queue.Options{Grace: time.Minute})
	r.Notify([]*item{{}})
	go func() { stopped <- r.Run(ctx) }()
	<-begun
	cancel()
	require.Empty(t, stopped)
	close(finish)
	require.NoError(t, <-stopped)
	require.Equal(t, queue.Done, tb.next(t).State)
}

func TestConcurrentAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	var running, most atomic.Int64
	tb := newTable(func(context.Context, *item) queue.Outcome {
		n := running.Add(1)
		defer running.Add(-1)
		for {
			if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
				return queue.Outcome{}
			}
		}
	})
	r := tb.runner(queue.Options{Parallel: 3})
	for range 200 {
		tb.due <- &item{}
		r.Notify([]*item{{}})
	}
	start(t, r)
	for range 400 {
		require.Equal(t, queue.Done, tb.next(t).State)
	}
	require.LessOrEqual(t, most.Load(), int64(3))
}

// A queue without items is looked at less and less, until it is notified that an item is about to come.
func TestEmptyQueueIsPolledRarelyUntilItIsNotified(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int64
		r := queue.NewRunner(queue.Worker[*item]{
			Claim: func(context.Context, int, time.Duration) ([]*item, error) { looks.Add(1); return nil, nil },
		}, slog.New(slog.DiscardHandler), queue.Options{Parallel: 1, Poll: 100 * time.Millisecond, Idle: 2 * time.Second})
		stop := start(t, r)
		time.Sleep(time.Minute) //nolint:forbidigo // of the bubble's clock
		require.Less(t, looks.Swap(0), int64(40))
		r.Wake()
		time.Sleep(150 * time.Millisecond) //nolint:forbidigo // of the bubble's clock
		require.Equal(t, int64(1), looks.Load())
		stop()
	})
}

// No notification says that an item comes, or that the pause of one has ended: an item waits as long as Idle says at most,
// and one that is due again no longer than its pause.
func TestAnItemIsFoundWithoutANotification(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const idle, pause = 15 * time.Second, 4 * time.Second
		appears := time.Now().Add(time.Hour)
		var due time.Time
		var tried []time.Time
		r := queue.NewRunner(queue.Worker[*item]{
			Claim: func(context.Context, int, time.Duration) ([]*item, error) {
				if len(tried) == 2 || time.Now().Before(appears) || time.Now().Before(due) {
					return nil, nil
				}
				return []*item{{}}, nil
			},
			Attempts: func(*item) int { return 1 },
			Attempt: func(context.Context, *item) queue.Outcome {
				tried = append(tried, time.Now())
				return queue.Outcome{State: queue.Waiting, Err: errAway}
			},
			Finish: func(_ context.Context, _ *item, o queue.Outcome) error { due = time.Now().Add(o.Pause); return nil },
		}, slog.New(slog.DiscardHandler), queue.Options{
			Parallel: 1, Poll: time.Second, Idle: idle, Timeout: time.Minute,
			Pauses: []time.Duration{pause}, RepeatLastPause: true,
		})
		stop := start(t, r)
		time.Sleep(time.Until(appears.Add(time.Minute))) //nolint:forbidigo // of the bubble's clock
		stop()
		require.Len(t, tried, 2)
		require.Less(t, tried[0].Sub(appears), idle+time.Second)
		require.Less(t, tried[1].Sub(tried[0]), pause*6/5+100*time.Millisecond)
	})
}
