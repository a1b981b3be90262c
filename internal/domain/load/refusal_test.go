package load_test

import (
	"context"
	"errors"
	"sync"
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

// A caller is refused by how long it would wait: a tenth of each piece of work counts for the next. The bound itself is accepted.
func TestTheExpectedWaitIsExact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		work := load.New(load.Options{What: "pieces", Slots: 2, Few: 1, Many: 100, Wait: 2 * time.Second})
		ctx, leave := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		begins := func() *fault.Error {
			refused := make(chan error, 1)
			waiting.Go(func() {
				end, err := work.Begin(ctx, "a")
				if err == nil {
					end()
				}
				refused <- err
			})
			synctest.Wait()
			select {
			case err := <-refused:
				var f *fault.Error
				require.ErrorAs(t, err, &f)
				return f
			default:
				return nil
			}
		}
		end, err := work.Begin(ctx, "a")
		require.NoError(t, err)
		<-time.After(10 * time.Second) // so a second is expected of the next
		end()
		for range 2 {
			_, err := work.Begin(ctx, "a")
			require.NoError(t, err)
		}
		for n := range 4 {
			require.Nil(t, begins(), "%d wait", n)
		}
		refused := begins()
		require.NotNil(t, refused, "a fifth one would wait for 2.5 seconds")
		require.Equal(t, 3*time.Second, refused.RetryAfter)
		require.Equal(t, "more pieces arrive than can be served; try again later", refused.Message)
		require.Equal(t, 4, work.Waiting())
		leave()
		waiting.Wait()
		require.Zero(t, work.Waiting())
	})
}

// With a bound of one, one caller of an account waits, and the next is to come again after a second at least.
func TestOneCallerMayWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		work := load.New(load.Options{What: "pieces", Slots: 1, Many: 1, Wait: time.Hour})
		end, err := work.Begin(t.Context(), "a")
		require.NoError(t, err)
		served := make(chan error, 1)
		go func() {
			end, err := work.Begin(t.Context(), "a")
			if err == nil {
				end()
			}
			served <- err
		}()
		synctest.Wait()
		_, err = work.Begin(t.Context(), "a")
		var refused *fault.Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, time.Second, refused.RetryAfter)
		end()
		require.NoError(t, <-served)
	})
}

// A caller that has a slot begins, even if it has gone: otherwise nobody would free the slot.
func TestACallerThatHasGoneKeepsTheSlotThatItHas(t *testing.T) {
	t.Parallel()
	work := load.New(load.Options{Slots: 1})
	gone, leave := context.WithCancel(t.Context())
	leave()
	for range 100 {
		end, err := work.Begin(gone, "a")
		require.NoError(t, err)
		end()
	}
}

// Work that cannot wait takes more slots than there are. Callers begin when enough of it is over, and are refused if that takes too long.
func TestWorkThatCannotWaitDelaysCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		work := load.New(load.Options{What: "pieces", Slots: 2, Few: 4, Many: 4, Longest: 5 * time.Second})
		var ends []func(bool)
		take := func(n int) {
			for range n {
				ends = append(ends, work.Take("a"))
			}
		}
		end := func(n int) {
			for _, end := range ends[:n] {
				end(true)
			}
			ends = ends[n:]
		}
		begun := make(chan error, 1)
		begin := func() {
			end, err := work.Begin(t.Context(), "b")
			if err == nil {
				end()
			}
			begun <- err
		}
		take(3)
		go begin()
		synctest.Wait()
		end(1)
		synctest.Wait()
		require.Empty(t, begun, "two are not over")
		end(1)
		require.NoError(t, <-begun)

		take(1)
		began := time.Now()
		go begin()
		var refused *fault.Error
		require.ErrorAs(t, <-begun, &refused)
		require.Equal(t, time.Second, refused.RetryAfter)
		require.Equal(t, 5*time.Second, time.Since(began))
		require.Zero(t, work.Waiting())
		end(1)
		go begin()
		require.NoError(t, <-begun, "the one that was refused has no slot")

		for range 200 { // so that five seconds are expected of each piece: longer ones do not count as more
			take(1)
			<-time.After(time.Minute)
			end(1)
		}
		take(5)
		go begin()
		require.ErrorAs(t, <-begun, &refused)
		require.Equal(t, 13*time.Second, refused.RetryAfter, "four take more slots than there are, and one waits")
	})
	var none *load.Gate
	none.Take("a")(true)
}

// While no work that takes slots succeeds, callers do not wait for it.
func TestCallersDoNotWaitForWorkThatStandsStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		work := load.New(load.Options{What: "pieces", Slots: 1, Many: 1, Longest: 5 * time.Second, Stall: 2 * time.Second})
		begins := func() time.Duration {
			began := time.Now()
			end, err := work.Begin(t.Context(), "b")
			require.NoError(t, err)
			end()
			return time.Since(began)
		}
		work.Take("a")
		require.Zero(t, begins(), "none has succeeded yet")
		work.Take("a")(true)
		require.Equal(t, 5*time.Second, begins(), "one has just succeeded, but no further one does")
		require.Zero(t, begins())
		work.Take("a")(false)
		require.Zero(t, begins(), "one failed")
		work.Take("a")(true)
		<-time.After(2*time.Second + 1)
		require.Zero(t, begins(), "two seconds without success")
	})
}
