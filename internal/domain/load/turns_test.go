package load_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/load"
)

// An account with many requests for heavy work delays another by one piece, not by all of its own.
func TestGateServesAccountsInTurn(t *testing.T) {
	t.Parallel()
	gate := load.New(load.Options{Slots: 1})
	release, err := gate.Begin(t.Context(), "busy")
	require.NoError(t, err)
	got := make(chan string)
	wait := func(ctx context.Context, account string, behind int) {
		go func() {
			release, err := gate.Begin(ctx, account)
			if err != nil {
				got <- "gave up"
				return
			}
			got <- account
			release()
		}()
		for gate.Waiting() <= behind {
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
	release, err = gate.Begin(t.Context(), "busy")
	require.NoError(t, err, "every slot was released")
	release()
}

// An account whose work takes minutes leaves slots to others, also while no other account waits yet.
func TestGateLeavesSlotsToOtherAccounts(t *testing.T) {
	t.Parallel()
	gate := load.New(load.Options{Slots: 3, Share: 2})
	var busy []func()
	for range 2 {
		release, err := gate.Begin(t.Context(), "busy")
		require.NoError(t, err)
		busy = append(busy, release)
	}
	got := make(chan func())
	go func() {
		release, err := gate.Begin(t.Context(), "busy")
		if err == nil {
			got <- release
		}
	}()
	for gate.Waiting() == 0 {
		runtime.Gosched()
	}
	release, err := gate.Begin(t.Context(), "other")
	require.NoError(t, err)
	release()
	require.Equal(t, 1, gate.Waiting(), "a released slot does not go to an account that has its share")
	busy[0]()
	(<-got)()
	busy[1]()
	for range 2 {
		_, err := gate.Begin(t.Context(), "third")
		require.NoError(t, err, "every slot was released")
	}
}

// A gate remembers the accounts with work under way, not those that ever had some.
func TestAGateForgetsAccountsWithoutWork(t *testing.T) {
	t.Parallel()
	gate := load.New(load.Options{Slots: 2})
	one, err := gate.Begin(t.Context(), "a")
	require.NoError(t, err)
	other, err := gate.Begin(t.Context(), "b")
	require.NoError(t, err)
	require.Equal(t, 2, gate.Accounts())
	one()
	require.Equal(t, 1, gate.Accounts())
	other()
	require.Zero(t, gate.Accounts())
}
