package outbox_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
)

var errAway = errors.New("the database is away")

// deletion is one call of Done.
type deletion struct {
	after time.Duration
	count int
}

// noted is a store that notes its calls, and fails if it is away.
type noted struct {
	away bool

	mu      sync.Mutex // guards the fields below
	began   time.Time
	deleted []deletion
	of      []context.Context
	retried []int64
}

func (n *noted) Claim(context.Context, int, time.Duration) ([]outbox.Intent, error) {
	if n.away {
		return nil, errAway
	}
	return nil, nil
}

func (n *noted) Done(ctx context.Context, ids []int64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.deleted, n.of = append(n.deleted, deletion{time.Since(n.began), len(ids)}), append(n.of, ctx)
	if n.away {
		return errAway
	}
	return nil
}

func (n *noted) Retry(_ context.Context, id int64, _ time.Duration, _ string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.retried = append(n.retried, id)
	if n.away {
		return errAway
	}
	return nil
}

// deliver is a function that delivers intents.
type deliver func(outbox.Intent) error

func (d deliver) Deliver(_ context.Context, in outbox.Intent) error { return d(in) }

// relay runs a relay in a bubble. stop stops it, and returns when it has ended.
func relay(t *testing.T, store *noted, d deliver, lines *bytes.Buffer) (r *outbox.Relay, stop func()) {
	t.Helper()
	store.began = time.Now()
	r = outbox.NewRelay(store, d, slog.New(slog.NewTextHandler(lines, nil)), time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	return r, func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

func some(n int64) (all []outbox.Intent) {
	for id := range n {
		all = append(all, outbox.Intent{ID: id, WorkflowID: "w", Kind: outbox.Cancel})
	}
	return all
}

// Delivered intents are deleted together: 500 at most, and those of a tenth of a second. The last ones are deleted when the relay stops.
func TestDeliveredIntentsAreDeletedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &noted{}
		r, stop := relay(t, store, func(outbox.Intent) error { return nil }, &bytes.Buffer{})
		r.Notify(some(600))
		<-time.After(50 * time.Millisecond)
		r.Notify(some(7))
		<-time.After(100 * time.Millisecond)
		r.Notify(some(3))
		synctest.Wait()
		stop()
		require.Equal(t, []deletion{{0, 500}, {100 * time.Millisecond, 107}, {150 * time.Millisecond, 3}}, store.deleted)
		for _, ctx := range store.of {
			require.Error(t, ctx.Err(), "nothing of a deletion is left")
		}
	})
}

// 16 intents are delivered at a time.
func TestIntentsAreDeliveredAtOnceUpToABound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards under and most
		under, most := 0, 0
		r, stop := relay(t, &noted{}, func(outbox.Intent) error {
			mu.Lock()
			under++
			most = max(most, under)
			mu.Unlock()
			<-time.After(time.Second)
			mu.Lock()
			under--
			mu.Unlock()
			return nil
		}, &bytes.Buffer{})
		r.Notify(some(40))
		<-time.After(time.Minute)
		stop()
		require.Equal(t, 16, most)
	})
}

// What cannot be delivered, recorded, deleted or read is logged.
func TestFailuresOfARelayAreLogged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		away, refuses bool
		says          []string
	}{
		"nothing":            {},
		"the engine is away": {refuses: true, says: []string{"intent delivery failed; it will be retried", "workflow_id=w kind=cancel"}},
		"the store is away": {away: true, says: []string{
			"delivered intents not deleted; they will be delivered again", "count=3", "queue read failed",
		}},
		"both are away": {away: true, refuses: true, says: []string{"intent delivery failed", "outcome not recorded"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var lines bytes.Buffer
				store := &noted{away: c.away}
				r, stop := relay(t, store, func(outbox.Intent) error {
					if c.refuses {
						return errors.New("the engine is away")
					}
					return nil
				}, &lines)
				r.Notify(some(3))
				<-time.After(time.Minute + time.Second)
				stop()
				for _, says := range c.says {
					require.Contains(t, lines.String(), says)
				}
				require.Equal(t, len(c.says) == 0, lines.Len() == 0, lines.String())
				if c.refuses {
					require.ElementsMatch(t, []int64{0, 1, 2}, store.retried)
				} else {
					require.Equal(t, 3, store.deleted[0].count)
				}
			})
		})
	}
}

// A relay says once of each intent that it delivered it, or left it to be claimed.
func TestARelaySaysWhenAnIntentIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const crowd = 2000
		over := make(chan [2]any, 2*crowd) // id, and whether it was delivered
		intents := some(crowd)
		for i := range intents {
			intents[i].Over = func(delivered bool) { over <- [2]any{intents[i].ID, delivered} }
		}
		proceed := make(chan struct{})
		r, stop := relay(t, &noted{}, func(in outbox.Intent) error {
			<-proceed
			if in.ID == 1 {
				return errAway
			}
			return nil
		}, &bytes.Buffer{})
		r.Notify(intents[:2])
		synctest.Wait()
		require.Empty(t, over, "while the attempts last")
		r.Notify(intents[2:])
		synctest.Wait()
		require.NotEmpty(t, over, "those that do not fit")
		close(proceed)
		<-time.After(time.Minute)
		stop()
		close(over)
		said := map[any]any{}
		for one := range over {
			require.NotContains(t, said, one[0])
			said[one[0]] = one[1]
		}
		require.Len(t, said, crowd)
		require.Equal(t, []any{true, false, true, false},
			[]any{said[int64(0)], said[int64(1)], said[int64(2)], said[int64(crowd-1)]})
	})
}

func TestAnIntentHasItsPayload(t *testing.T) {
	t.Parallel()
	require.Equal(t, outbox.Intent{WorkflowID: "w", Kind: outbox.StartPool, Payload: []byte(`["p"]`)},
		outbox.New(outbox.StartPool, "w", []string{"p"}))
	require.Panics(t, func() { outbox.New(outbox.StartPool, "w", func() {}) })
}

// An attempt may take ten seconds. The pauses between attempts increase to ten seconds, and vary by a fifth.
func TestAttemptsAndPausesOfARelayAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &pausing{pauses: map[int64][]time.Duration{}}
		store.began = time.Now()
		r := outbox.NewRelay(store, hanging{}, slog.New(slog.DiscardHandler), time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		r.Notify([]outbox.Intent{{ID: 0}})
		for attempts := range 8 {
			for range 64 {
				r.Notify([]outbox.Intent{{ID: int64(attempts) + 1, Attempts: attempts + 1}})
			}
		}
		<-time.After(time.Minute)
		cancel()
		require.NoError(t, <-ended)
		require.Equal(t, 10*time.Second, store.cut, "the end of the attempt that hangs")
		for attempts, want := range map[int64]time.Duration{
			1: time.Second / 2, 2: time.Second, 3: 2 * time.Second, 4: 4 * time.Second, 5: 8 * time.Second, 6: 10 * time.Second, 8: 10 * time.Second,
		} {
			require.Len(t, store.pauses[attempts], 64)
			for _, pause := range store.pauses[attempts] {
				require.InDelta(t, want, pause, float64(want/5+1), "before attempt %d", attempts+1)
			}
		}
	})
}

// pausing is a store that notes the pauses of intents by their ids, and when that with the id 0 was retried.
type pausing struct {
	noted
	pauses map[int64][]time.Duration
	cut    time.Duration
}

func (p *pausing) Retry(_ context.Context, id int64, pause time.Duration, _ string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pauses[id] = append(p.pauses[id], pause); id == 0 {
		p.cut = time.Since(p.began)
	}
	return nil
}

// hanging is an engine that does not answer to a first attempt, and refuses the others.
type hanging struct{}

func (hanging) Deliver(ctx context.Context, in outbox.Intent) error {
	if in.Attempts == 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	return errAway
}

// idle is a store without intents that notes when it is asked.
type idle struct {
	noted
	asked []time.Duration
}

func (i *idle) Claim(context.Context, int, time.Duration) ([]outbox.Intent, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked = append(i.asked, time.Since(i.began))
	return nil, nil
}

// While nothing is due, a relay claims intents less and less often, and every 15 seconds at last.
func TestAnIdleRelayClaimsLessAndLessOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &idle{}
		store.began = time.Now()
		r := outbox.NewRelay(store, deliver(func(outbox.Intent) error { return nil }), slog.New(slog.DiscardHandler), time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		<-time.After(46 * time.Second)
		cancel()
		require.NoError(t, <-ended)
		var seconds []float64
		for _, after := range store.asked {
			seconds = append(seconds, after.Seconds())
		}
		require.Equal(t, []float64{1, 3, 7, 15, 30, 45}, seconds)
	})
}
