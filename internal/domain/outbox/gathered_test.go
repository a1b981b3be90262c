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

// noted is a store that notes what is asked of it, and fails if it is away.
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

func TestAnIntentHasItsPayload(t *testing.T) {
	t.Parallel()
	require.Equal(t, outbox.Intent{WorkflowID: "w", Kind: outbox.StartPool, Payload: []byte(`["p"]`)},
		outbox.New(outbox.StartPool, "w", []string{"p"}))
	require.Panics(t, func() { outbox.New(outbox.StartPool, "w", func() {}) })
}
