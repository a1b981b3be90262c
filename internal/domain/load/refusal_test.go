package load_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/load"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestExcessWorkIsRefusedWithItsExpectedDuration(t *testing.T) {
	t.Parallel()
	const piece = 2 * time.Second
	for name, c := range map[string]struct {
		arrive, served int
		wait           time.Duration
		after          time.Duration // the Retry-After of a refusal; 0 = no call is refused
	}{
		"those that may wait in any case": {arrive: 2 + 4, served: 6, wait: time.Second},
		"those behind them, too long":     {arrive: 2 + 4 + 3, served: 6, wait: time.Second, after: 5 * time.Second},
		"those behind them, not too long": {arrive: 2 + 8, served: 10, wait: time.Hour},
		"more than may ever wait":         {arrive: 2 + 8 + 5, served: 10, wait: time.Hour, after: 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				work := load.New(load.Options{What: "pieces", Slots: 2, Few: 4, Many: 8, Wait: c.wait})
				do := func() error {
					end, err := work.Begin(t.Context(), "a")
					if err == nil {
						time.Sleep(piece) //nolint:forbidigo // of the bubble's clock
						end()
					}
					return err
				}
				for range 100 { // so that the average is known
					require.NoError(t, do())
				}
				outcomes := make(chan error, c.arrive)
				for range c.arrive {
					go func() { outcomes <- do() }()
					synctest.Wait()
				}
				served := 0
				for range c.arrive {
					err := <-outcomes
					if err == nil {
						served++
						continue
					}
					var refused *fault.Error
					require.ErrorAs(t, err, &refused)
					require.Equal(t, fault.Exhausted, refused.Kind)
					require.Equal(t, fault.CodeRateLimited, refused.Code)
					require.Equal(t, c.after, refused.RetryAfter)
				}
				require.Equal(t, c.served, served)
			})
		})
	}
}

func TestAFloodOfOneAccountRefusesNoOtherAccount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		work := load.New(load.Options{What: "pieces", Slots: 1, Few: 2, Many: 4, Wait: time.Hour})
		proceed := make(chan struct{})
		begin := func(account string) <-chan error {
			outcome := make(chan error, 1)
			go func() {
				end, err := work.Begin(t.Context(), account)
				outcome <- err
				if err == nil {
					<-proceed
					end()
				}
			}()
			synctest.Wait()
			return outcome
		}
		for range 1 + 4 { // one works and four wait
			begin("flood")
		}
		require.True(t, fault.Is(<-begin("flood"), fault.Exhausted))
		other := begin("other")
		require.True(t, fault.Is(<-begin("other"), fault.Exhausted), "its second request beyond the bound")
		require.Empty(t, other, "it waits")
		for range 2 { // the one that works, and the next of the flood
			proceed <- struct{}{}
			synctest.Wait()
		}
		require.NoError(t, <-other, "the accounts are served in turn")
		close(proceed)
	})
}

func TestDisconnectedCallerTakesNoSlot(t *testing.T) {
	t.Parallel()
	work := load.New(load.Options{What: "pieces", Slots: 1, Few: 1, Many: 1})
	end, err := work.Begin(t.Context(), "a")
	require.NoError(t, err)
	gone, leave := context.WithCancel(t.Context())
	leave()
	_, err = work.Begin(gone, "a")
	require.True(t, errors.Is(err, context.Canceled), "%v", err)
	end()
	end, err = work.Begin(t.Context(), "b")
	require.NoError(t, err)
	end()
}
