package limit_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/limit"
)

// An account with many requests for heavy work delays another by one piece, not by all of its own.
func TestSemaphoreServesAccountsInTurn(t *testing.T) {
	t.Parallel()
	sem := limit.NewSemaphore(1, 1)
	release, err := sem.Acquire(t.Context(), "busy")
	require.NoError(t, err)
	got := make(chan string)
	wait := func(ctx context.Context, account string, behind int) {
		go func() {
			release, err := sem.Acquire(ctx, account)
			if err != nil {
				got <- "gave up"
				return
			}
			got <- account
			release()
		}()
		for sem.Waiting() <= behind {
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
	release, err = sem.Acquire(t.Context(), "busy")
	require.NoError(t, err, "every slot was released")
	release()
}

// An account whose work takes minutes leaves slots to others, also while no other account waits yet.
func TestSemaphoreLeavesSlotsToOtherAccounts(t *testing.T) {
	t.Parallel()
	sem := limit.NewSemaphore(3, 2)
	var busy []func()
	for range 2 {
		release, err := sem.Acquire(t.Context(), "busy")
		require.NoError(t, err)
		busy = append(busy, release)
	}
	got := make(chan func())
	go func() {
		release, err := sem.Acquire(t.Context(), "busy")
		if err == nil {
			got <- release
		}
	}()
	for sem.Waiting() == 0 {
		runtime.Gosched()
	}
	release, err := sem.Acquire(t.Context(), "other")
	require.NoError(t, err)
	release()
	require.Equal(t, 1, sem.Waiting(), "a released slot does not go to an account that has its share")
	busy[0]()
	(<-got)()
	busy[1]()
	for range 2 {
		_, err := sem.Acquire(t.Context(), "third")
		require.NoError(t, err, "every slot was released")
	}
}
