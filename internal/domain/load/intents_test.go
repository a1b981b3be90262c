package load_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/load"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
)

const gap = 40 * time.Millisecond

// starts is a gate of intents in a bubble, with the ids of what it delivered.
type starts struct {
	*load.Gate

	mu     sync.Mutex // guards the fields below
	handed []int64
	none   int // deliveries of no intent
}

func newStarts(t *testing.T, requests *load.Gate, change ...func(*load.Yield)) *starts {
	t.Helper()
	p := &starts{}
	yield := load.Yield{
		To: requests, Gap: gap,
		Deliver: func(intents []outbox.Intent) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(intents) == 0 {
				p.none++
			}
			for _, in := range intents {
				p.handed = append(p.handed, in.ID)
			}
		},
		Account: func(in outbox.Intent) string { return in.WorkflowID },
	}
	for _, c := range change {
		c(&yield)
	}
	p.Gate = load.New(load.Options{Yield: yield})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
		require.Zero(t, p.none, "a delivery of nothing")
	})
	return p
}

func (p *starts) since(d time.Duration) []int64 {
	time.Sleep(d) //nolint:forbidigo // of the bubble's clock
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	handed := p.handed
	p.handed = nil
	return handed
}

func intents(account string, ids ...int64) (all []outbox.Intent) {
	for _, id := range ids {
		all = append(all, outbox.Intent{ID: id, WorkflowID: account})
	}
	return all
}

func TestStartsGiveWayToRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		requests := load.New(load.Options{Busy: 1, Calm: time.Millisecond})
		p := newStarts(t, requests)
		p.Notify(intents("a", 1, 2, 3))
		require.Equal(t, []int64{1, 2, 3}, p.since(0), "nobody waits")
		end := begin(t, requests, 1)
		p.Notify(intents("a", 4, 5, 6, 7))
		p.Notify(intents("", 8))
		require.Equal(t, []int64{8, 4}, p.since(gap/2), "what may not wait, and the first")
		p.Notify(intents("b", 9))
		require.Equal(t, []int64{5, 9}, p.since(2*gap), "one in each gap, the accounts in turn")
		end()
		require.Equal(t, []int64{6, 7}, p.since(gap), "the rest together")
		p.Notify(intents("a", 10))
		require.Equal(t, []int64{10}, p.since(0))
		end = begin(t, requests, 1)
		p.Notify(intents("a", 11))
		require.Empty(t, p.since(gap/4), "less than a gap after the rest")
		require.Equal(t, []int64{11}, p.since(gap/2))
		end()
	})
}

// Requests that are committed together are answered together: between two batches of a burst nobody waits, and starts still
// give way.
func TestStartsGiveWayBetweenTheBatchesOfABurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const clients, batches, calm = 64, 10, 5 * gap
		requests := load.New(load.Options{Busy: 24, Calm: calm})
		p := newStarts(t, requests)
		for batch := range batches {
			end := begin(t, requests, clients)
			if batch == 0 {
				p.Notify(intents("a", make([]int64, 100)...))
			}
			require.LessOrEqual(t, len(p.since(gap)), 2, "in a batch")
			end()
			require.LessOrEqual(t, len(p.since(2*gap)), 2, "before the next one")
		}
		require.Greater(t, len(p.since(calm+2*gap)), 100-4*batches, "the burst is over")
	})
}

// What is not held back is neither lost nor delivered out of turn: it is in the outbox, where relays claim it.
func TestABoundedNumberOfIntentsWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		requests := load.New(load.Options{Busy: 1, Calm: time.Millisecond})
		p := newStarts(t, requests)
		end := begin(t, requests, 1)
		for id := range int64(3000) {
			p.Notify(intents("a", id))
		}
		end()
		require.InDelta(t, 1024, len(p.since(2*gap)), 2)
	})
}

// However long requests keep a process busy, an intent waits for a bounded time, which begins when the first one comes.
func TestAnIntentWaitsForABoundedTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const longest = time.Second
		requests := load.New(load.Options{Busy: 1, Calm: 10 * longest})
		p := newStarts(t, requests, func(y *load.Yield) { y.Gap, y.Longest = 0, longest })
		defer begin(t, requests, 1)()
		for range 2 {
			p.Notify(intents("a", 1))
			require.Empty(t, p.since(longest/2))
			p.Notify(intents("a", 2))
			require.Empty(t, p.since(longest/2-time.Millisecond), "the second changes nothing")
			require.Equal(t, []int64{1, 2}, p.since(2*time.Millisecond))
		}
	})
}

// One intent alone is delivered, however long the requests go on, and so is the next one after a quiet time.
func TestASingleIntentIsDeliveredWhileRequestsGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		requests := load.New(load.Options{Busy: 1, Calm: time.Hour})
		p := newStarts(t, requests)
		defer begin(t, requests, 1)()
		for id := range int64(3) {
			p.Notify(intents("a", id))
			require.Equal(t, []int64{id}, p.since(0))
			require.Empty(t, p.since(5*gap))
		}
	})
}

// An account with two intents goes behind another one after its first.
func TestIntentsOfAccountsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		requests := load.New(load.Options{Busy: 1, Calm: time.Hour})
		p := newStarts(t, requests)
		defer begin(t, requests, 1)()
		p.Notify(append(intents("a", 1, 2), intents("b", 3)...))
		require.Equal(t, []int64{1, 3, 2}, p.since(2*gap))
	})
}

// Without a gap nothing is delivered while requests go on, until a batch is full or they are over.
func TestIntentsWaitForABatch(t *testing.T) {
	t.Parallel()
	for batch, want := range map[int][][]int64{
		0: {nil, nil, nil, {1, 2, 3, 4}}, 1: {{1}, {2}, {3, 4}, nil}, 2: {nil, {1, 2}, {3, 4}, nil}, 3: {nil, nil, {1, 2, 3, 4}, nil},
		5: {nil, nil, nil, {1, 2, 3, 4}},
	} {
		synctest.Test(t, func(t *testing.T) {
			requests := load.New(load.Options{Busy: 1, Calm: time.Millisecond})
			p := newStarts(t, requests, func(y *load.Yield) { y.Gap, y.Batch = 0, batch })
			end := begin(t, requests, 1)
			for n, more := range [][]outbox.Intent{intents("a", 1), intents("a", 2), intents("a", 3, 4)} {
				p.Notify(more)
				require.Equal(t, want[n], p.since(time.Second), "batch %d", batch)
			}
			end()
			require.Equal(t, want[3], p.since(time.Second), "batch %d", batch)
		})
	}
}

// 1024 intents wait. The rest is left where it was recorded.
func TestTheBoundOfIntentsThatWaitIsExact(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{1023, 1024, 1025} {
		synctest.Test(t, func(t *testing.T) {
			requests := load.New(load.Options{Busy: 1, Calm: time.Millisecond})
			p := newStarts(t, requests, func(y *load.Yield) { y.Gap = 0 })
			end := begin(t, requests, 1)
			var all []outbox.Intent
			for id := range n {
				all = append(all, intents("a", id)...)
			}
			p.Notify(all)
			synctest.Wait()
			require.EqualValues(t, min(n, 1024), p.Waiting())
			end()
			require.Len(t, p.since(time.Second), int(min(n, 1024)))
			require.Zero(t, p.Waiting())
		})
	}
}
