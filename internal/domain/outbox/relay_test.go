package outbox_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
)

// table is an outbox in memory, with a signal for each intent that is forgotten.
type table struct {
	mu        sync.Mutex
	due       []outbox.Intent
	retried   []int64
	forgotten chan int64
}

func newTable(due ...outbox.Intent) *table {
	return &table{due: due, forgotten: make(chan int64, 64)}
}

func (t *table) Claim(_ context.Context, limit int, _ time.Duration) ([]outbox.Intent, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := min(limit, len(t.due))
	claimed := t.due[:n:n]
	t.due = t.due[n:]
	return claimed, nil
}

func (t *table) Done(_ context.Context, ids []int64) error {
	for _, id := range ids {
		t.forgotten <- id
	}
	return nil
}

func (t *table) Retry(_ context.Context, id int64, _ time.Duration, _ string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.retried = append(t.retried, id)
	t.due = append(t.due, outbox.Intent{ID: id, Attempts: 1})
	return nil
}

// engine delivers intents, failing the first attempts of some.
type engine struct {
	mu        sync.Mutex
	failures  map[int64]int
	delivered map[int64]int
}

func (e *engine) Deliver(_ context.Context, in outbox.Intent) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failures[in.ID] > 0 {
		e.failures[in.ID]--
		return errors.New("the engine is away")
	}
	if e.delivered == nil {
		e.delivered = map[int64]int{}
	}
	e.delivered[in.ID]++
	return nil
}

func start(t *testing.T, store *table, starter outbox.Starter) *outbox.Relay {
	t.Helper()
	r := outbox.NewRelay(store, starter, slog.New(slog.DiscardHandler), time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-stopped)
	})
	return r
}

func (t *table) await(tb testing.TB, count int) []int64 {
	tb.Helper()
	var ids []int64
	for len(ids) < count {
		select {
		case id := <-t.forgotten:
			ids = append(ids, id)
		case <-time.After(2 * time.Minute):
			tb.Fatalf("only %v were delivered", ids)
		}
	}
	return ids
}

func TestNotifiedIntentsAreDeliveredAndForgotten(t *testing.T) {
	t.Parallel()
	store, starter := newTable(), &engine{}
	r := start(t, store, starter)
	r.Notify([]outbox.Intent{{ID: 1}, {ID: 2}, {ID: 3}})
	require.ElementsMatch(t, []int64{1, 2, 3}, store.await(t, 3))
}

func TestLeftoverIntentsAreClaimed(t *testing.T) {
	t.Parallel()
	var due []outbox.Intent
	for id := range int64(30) {
		due = append(due, outbox.Intent{ID: id})
	}
	store, starter := newTable(due...), &engine{}
	start(t, store, starter)
	store.await(t, len(due))
	starter.mu.Lock()
	defer starter.mu.Unlock()
	require.Len(t, starter.delivered, len(due))
}

func TestAFailedIntentIsTriedUntilItSucceeds(t *testing.T) {
	t.Parallel()
	store, starter := newTable(), &engine{failures: map[int64]int{7: 3}}
	r := start(t, store, starter)
	r.Notify([]outbox.Intent{{ID: 7}})
	require.Equal(t, []int64{7}, store.await(t, 1))
	store.mu.Lock()
	defer store.mu.Unlock()
	require.Equal(t, []int64{7, 7, 7}, store.retried)
}

// pairs is an engine that takes two intents at a time.
type pairs struct{ engine }

func (*pairs) Join(intents []outbox.Intent) []outbox.Intent {
	var out []outbox.Intent
	for i := 0; i+1 < len(intents); i += 2 {
		in := intents[i]
		in.With = []int64{intents[i+1].ID}
		out = append(out, in)
	}
	return append(out, intents[len(intents)/2*2:]...)
}

func TestJoinedIntentsAreForgottenTogether(t *testing.T) {
	t.Parallel()
	store, starter := newTable(outbox.Intent{ID: 4}, outbox.Intent{ID: 5}), &pairs{engine{failures: map[int64]int{1: 1}}}
	r := start(t, store, starter)
	r.Notify([]outbox.Intent{{ID: 1}, {ID: 2}, {ID: 3}})
	require.ElementsMatch(t, []int64{1, 2, 3, 4, 5}, store.await(t, 5))
	store.mu.Lock()
	defer store.mu.Unlock()
	require.Equal(t, []int64{1, 2}, store.retried, "the one that is delivered with another is due again with it")
	starter.mu.Lock()
	defer starter.mu.Unlock()
	require.NotContains(t, starter.delivered, int64(5), "what is claimed is joined too")
}

func TestNotifyNeverBlocks(t *testing.T) {
	t.Parallel()
	r := outbox.NewRelay(newTable(), &engine{}, slog.New(slog.DiscardHandler), time.Second) // not running
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 10_000 {
			r.Notify([]outbox.Intent{{ID: 1}})
		}
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("Notify waits for a relay that does not run")
	}
}
