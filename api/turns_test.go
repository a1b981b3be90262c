package api_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api"
)

// An account with many requests for heavy work delays another by one piece, not by all of its own.
func TestAccountsTakeTurnsAtHeavyWork(t *testing.T) {
	t.Parallel()
	turns := api.NewTurns(1, 1)
	release, err := turns.Take(t.Context(), "busy")
	require.NoError(t, err)
	got := make(chan string)
	wait := func(ctx context.Context, account string, behind int) {
		go func() {
			release, err := turns.Take(ctx, account)
			if err != nil {
				got <- "gave up"
				return
			}
			got <- account
			release()
		}()
		for turns.Waiting() <= behind {
			runtime.Gosched()
		}
	}
	for i := range 5 {
		wait(t.Context(), "busy", i)
	}
	ctx, cancel := context.WithCancel(t.Context())
	wait(ctx, "third", 5)
	wait(t.Context(), "other", 6)
	cancel()
	require.Equal(t, "gave up", <-got)
	release()
	var order []string
	for range 6 {
		order = append(order, <-got)
	}
	require.Equal(t, []string{"busy", "other", "busy", "busy", "busy", "busy"}, order)
	release, err = turns.Take(t.Context(), "busy")
	require.NoError(t, err, "every place came back")
	release()
}

// An account whose work takes minutes leaves places to others, also while nobody else is there yet.
func TestAnAccountHasItsShareOfThePlaces(t *testing.T) {
	t.Parallel()
	turns := api.NewTurns(3, 2)
	var busy []func()
	for range 2 {
		release, err := turns.Take(t.Context(), "busy")
		require.NoError(t, err)
		busy = append(busy, release)
	}
	got := make(chan func())
	go func() {
		release, err := turns.Take(t.Context(), "busy")
		if err == nil {
			got <- release
		}
	}()
	for turns.Waiting() == 0 {
		runtime.Gosched()
	}
	release, err := turns.Take(t.Context(), "other")
	require.NoError(t, err)
	release()
	require.Equal(t, 1, turns.Waiting(), "a place that came back is not for who has its share")
	busy[0]()
	(<-got)()
	busy[1]()
	for range 2 {
		_, err := turns.Take(t.Context(), "third")
		require.NoError(t, err, "every place came back")
	}
}
