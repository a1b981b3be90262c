package queue_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/queue"
)

// ledger is a queue whose claims and records are noted with their times, since the start.
type ledger struct {
	t     *testing.T
	began time.Time
	log   bytes.Buffer

	mu  sync.Mutex // guards due and the notes
	due []*item
	notes
	claimErr error
	endErr   error
	attempt  func(context.Context) queue.Outcome
	recorded func(context.Context)
}

// notes are what a queue did so far.
type notes struct {
	claims   []time.Duration
	free     []int
	leases   []time.Duration
	tried    []time.Duration
	outcomes []queue.Outcome
}

// seen returns the notes so far.
func (l *ledger) seen() notes {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.notes
	n.claims, n.tried = slices.Clone(n.claims), slices.Clone(n.tried)
	return n
}

func (l *ledger) runner(opts queue.Options) *queue.Runner[*item] {
	l.began = time.Now()
	return queue.NewRunner(queue.Worker[*item]{
		Claim: func(_ context.Context, free int, lease time.Duration) ([]*item, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.claims, l.free, l.leases = append(l.claims, time.Since(l.began)), append(l.free, free), append(l.leases, lease)
			n := min(free, len(l.due))
			due := l.due[:n]
			l.due = l.due[n:]
			return due, l.claimErr
		},
		Attempts: func(it *item) int { return it.tried },
		Attempt: func(ctx context.Context, _ *item) queue.Outcome {
			l.mu.Lock()
			l.tried = append(l.tried, time.Since(l.began))
			l.mu.Unlock()
			return l.attempt(ctx)
		},
		Finish: func(ctx context.Context, it *item, o queue.Outcome) error {
			if l.recorded != nil {
				l.recorded(ctx)
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.outcomes = append(l.outcomes, o)
			return l.endErr
		},
	}, slog.New(slog.NewTextHandler(&l.log, nil)), opts)
}

func sleep(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // of the bubble's clock
	synctest.Wait()
}

// An item is claimed at the next poll, with a lease that outlasts its attempt and its record, and the next claim follows its end.
func TestTheNextClaimFollowsTheEndOfAnAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{t: t, due: []*item{{}, {}}, attempt: succeedsAfter(30 * time.Millisecond)}
		stop := start(t, l.runner(queue.Options{Parallel: 1, Poll: time.Second, Idle: 8 * time.Second, Timeout: time.Minute}))
		sleep(1200 * time.Millisecond)
		stop()
		require.Equal(t, []time.Duration{1000 * time.Millisecond, 1050 * time.Millisecond, 1100 * time.Millisecond}, l.seen().claims)
		require.Equal(t, []time.Duration{time.Second, 1050 * time.Millisecond}, l.seen().tried)
		require.Equal(t, []int{1, 1, 1}, l.seen().free)
		require.Equal(t, time.Minute+5*time.Second, l.seen().leases[0])
		require.Equal(t, []queue.Outcome{{}, {}}, l.seen().outcomes)
	})
}

// succeedsAfter is an attempt that takes a while.
func succeedsAfter(d time.Duration) func(context.Context) queue.Outcome {
	return func(context.Context) queue.Outcome {
		<-time.After(d)
		return queue.Outcome{}
	}
}

// While nothing is found the interval of claims doubles up to Idle; an item, or a notification, begins it anew.
func TestTheIntervalOfClaimsDoubles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{t: t, attempt: succeedsAfter(0)}
		r := l.runner(queue.Options{Parallel: 2, Poll: time.Second, Idle: 5 * time.Second, Timeout: time.Minute})
		stop := start(t, r)
		sleep(19 * time.Second)
		s := time.Second
		require.Equal(t, []time.Duration{s, 3 * s, 7 * s, 12 * s, 17 * s}, l.seen().claims)
		r.Wake()
		r.Wake()
		sleep(4 * time.Second)
		require.Equal(t, []time.Duration{20 * s, 22 * s}, l.seen().claims[5:])
		l.mu.Lock()
		l.due = []*item{{}}
		l.mu.Unlock()
		sleep(4 * time.Second)
		require.Equal(t, 26*s, l.seen().claims[7])
		require.Equal(t, 26*s+20*time.Millisecond, l.seen().claims[8], "soon after the end of the attempt")
		sleep(2 * time.Second)
		require.Equal(t, 28*s+20*time.Millisecond, l.seen().claims[9], "an item begins the intervals anew")
		stop()
	})
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{t: t}
		stop := start(t, l.runner(queue.Options{Parallel: 2, Poll: time.Second}))
		sleep(3500 * time.Millisecond)
		stop()
		require.Len(t, l.seen().claims, 3, "without Idle the interval does not grow")
	})
}

// No claim is made while all attempts that may run are running.
func TestNoClaimIsMadeWithoutAFreeSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{t: t, due: []*item{{}, {}, {}}, attempt: succeedsAfter(10 * time.Second)}
		stop := start(t, l.runner(queue.Options{Parallel: 2, Poll: time.Second, Idle: time.Second, Timeout: time.Minute, Grace: time.Minute}))
		sleep(9 * time.Second)
		require.Len(t, l.seen().claims, 1)
		require.Equal(t, []int{2}, l.seen().free)
		sleep(3 * time.Second)
		require.Len(t, l.seen().tried, 3)
		stop()
		require.Len(t, l.seen().outcomes, 3)
	})
}

// A claim that fails is logged, and made again.
func TestAClaimThatFailsIsMadeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{t: t, claimErr: errAway}
		stop := start(t, l.runner(queue.Options{Name: "hooks", Parallel: 1, Poll: time.Second, Idle: time.Second}))
		sleep(2500 * time.Millisecond)
		stop()
		require.Len(t, l.seen().claims, 2)
		require.Equal(t, 2, bytes.Count(l.log.Bytes(), []byte(`level=WARN msg="queue read failed" queue=hooks error=away`)))
	})
}

// An outcome that cannot be recorded is logged, and its item is looked for when its lease ends; a record has five seconds, also after the
// end of the process's context.
func TestAnOutcomeThatCannotBeRecordedIsLookedForAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var took time.Duration
		l := &ledger{t: t, due: []*item{{}}, endErr: errAway, attempt: succeedsAfter(0)}
		l.recorded = func(ctx context.Context) {
			began := time.Now()
			<-ctx.Done()
			took = time.Since(began)
		}
		stop := start(t, l.runner(queue.Options{Parallel: 1, Poll: time.Second, Idle: time.Hour, Timeout: 20 * time.Second}))
		sleep(7 * time.Second)
		require.Equal(t, 5*time.Second, took)
		before := len(l.seen().claims)
		sleep(time.Minute)
		require.Contains(t, l.seen().claims[before-1:], 31*time.Second, "its lease is 25 seconds long")
		stop()
		require.Contains(t, l.log.String(), `msg="outcome not recorded; the item is attempted again when its lease ends" queue="" error=away`)
	})
}

// An attempt ends at its time limit, which does not count as the end of the process.
func TestAnAttemptEndsAtItsTimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{t: t, due: []*item{{tried: 1}}, attempt: func(ctx context.Context) queue.Outcome {
			<-ctx.Done()
			return queue.Outcome{State: queue.Waiting, Err: ctx.Err()}
		}}
		stop := start(t, l.runner(queue.Options{Parallel: 1, Poll: time.Second, Timeout: 3 * time.Second, Pauses: []time.Duration{time.Minute}}))
		sleep(4 * time.Second)
		require.Len(t, l.seen().outcomes, 1)
		require.Equal(t, queue.Waiting, l.seen().outcomes[0].State)
		require.ErrorIs(t, l.seen().outcomes[0].Err, context.DeadlineExceeded)
		stop()
	})
}

// An attempt that succeeded while its process stopped is recorded as done, and one that became a dead letter is given back.
func TestAnEndWhileTheProcessStops(t *testing.T) {
	t.Parallel()
	for given, want := range map[queue.State]queue.State{queue.Done: queue.Done, queue.Dead: queue.Returned, queue.Waiting: queue.Returned} {
		synctest.Test(t, func(t *testing.T) {
			l := &ledger{t: t, due: []*item{{}}, attempt: func(ctx context.Context) queue.Outcome {
				<-ctx.Done()
				return queue.Outcome{State: given}
			}}
			stop := start(t, l.runner(queue.Options{Parallel: 1, Poll: time.Second, Timeout: time.Minute, Pauses: []time.Duration{time.Second}}))
			sleep(2 * time.Second)
			stop()
			require.Len(t, l.seen().outcomes, 1)
			require.Equal(t, want, l.seen().outcomes[0].State)
		})
	}
}

// Only so many items as fit are attempted at once without a claim, and a notification never blocks.
func TestANotificationNeverBlocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{t: t, attempt: succeedsAfter(0)}
		r := l.runner(queue.Options{Parallel: 4, Poll: time.Second, Timeout: time.Minute})
		r.Notify(make([]*item, 0))
		many := make([]*item, 2000)
		for i := range many {
			many[i] = &item{}
		}
		r.Notify(many)
		stop := start(t, r)
		sleep(500 * time.Millisecond)
		require.Len(t, l.seen().outcomes, 1024)
		require.Empty(t, l.seen().claims)
		stop()
	})
}

// An item that no process has attempted yet counts as attempted once.
func TestAnItemWithoutAttemptsHasItsFirst(t *testing.T) {
	t.Parallel()
	for tried, want := range map[int]queue.State{0: queue.Waiting, 1: queue.Waiting, 2: queue.Dead, 3: queue.Dead} {
		synctest.Test(t, func(t *testing.T) {
			l := &ledger{t: t, due: []*item{{tried: tried}}, attempt: func(context.Context) queue.Outcome {
				return queue.Outcome{State: queue.Waiting}
			}}
			stop := start(t, l.runner(queue.Options{Parallel: 1, Poll: time.Second, Timeout: time.Minute, Pauses: []time.Duration{time.Minute}}))
			sleep(1500 * time.Millisecond)
			stop()
			require.Len(t, l.seen().outcomes, 1)
			require.Equal(t, want, l.seen().outcomes[0].State, tried)
			require.Len(t, l.seen().tried, map[bool]int{true: 1}[tried < 3])
		})
	}
}

// The pauses of items bring the next claim forward to the earliest of them.
func TestTheEarliestPauseBringsTheNextClaimForward(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pauses := make(chan time.Duration, 2)
		pauses <- 40 * time.Second
		pauses <- 10 * time.Second
		l := &ledger{t: t, due: []*item{{}, {}}, attempt: func(context.Context) queue.Outcome {
			return queue.Outcome{State: queue.Waiting, Pause: <-pauses}
		}}
		stop := start(t, l.runner(queue.Options{
			Parallel: 2, Poll: time.Second, Idle: time.Hour, Timeout: time.Minute, Pauses: []time.Duration{time.Second, time.Second},
			MaxRequestedPause: time.Hour,
		}))
		sleep(12 * time.Second)
		stop()
		require.Contains(t, l.seen().claims, 11*time.Second)
	})
}

// The pause of an item that was attempted without a claim brings the next claim forward too.
func TestThePauseOfANotifiedItemBringsTheNextClaimForward(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{t: t, attempt: func(context.Context) queue.Outcome {
			return queue.Outcome{State: queue.Waiting, Pause: 10 * time.Second}
		}}
		r := l.runner(queue.Options{
			Parallel: 1, Poll: time.Second, Idle: time.Hour, Timeout: time.Minute, Pauses: []time.Duration{time.Second},
			MaxRequestedPause: time.Minute,
		})
		stop := start(t, r)
		sleep(5 * time.Hour)
		notified, before := time.Since(l.began), len(l.seen().claims)
		r.Notify([]*item{{}})
		sleep(11 * time.Second)
		stop()
		require.Equal(t, notified+10*time.Second, l.claims[before])
	})
}
