package committer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/postgres/committer"
)

// bench gathers the batches that a committer did; each takes a second.
type bench struct {
	*committer.Committer[string]
	batches [][]string
}

const took = time.Second

func newBench(opts committer.Options) *bench {
	b := &bench{}
	b.Committer = committer.New(opts, func(ctx context.Context, key string, batch []string) []error {
		b.batches = append(b.batches, append([]string{key}, batch...))
		errs := make([]error, len(batch))
		for i, work := range batch {
			if work == "bad" {
				errs[i] = errBad
			}
		}
		select {
		case <-time.After(took):
		case <-ctx.Done():
			for i := range errs {
				errs[i] = context.Cause(ctx)
			}
		}
		return errs
	})
	return b
}

var errBad = errors.New("bad work")

// calls does work with the key "a", each in a goroutine of its own, one after the other, and returns how to wait for the outcomes.
func (b *bench) calls(ctx context.Context, size int, works ...string) (outcomes func() []error) {
	errs := make([]error, len(works))
	done := make(chan struct{})
	for i, work := range works {
		go func() {
			errs[i] = b.Do(ctx, "a", size, work)
			done <- struct{}{}
		}()
		synctest.Wait()
	}
	return func() []error {
		for range works {
			<-done
		}
		return errs
	}
}

func TestASingleCallerIsNotDelayedAndOthersGatherMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(committer.Options{})
		began := time.Now()
		outcomes := b.calls(t.Context(), 1, "1", "2", "bad", "4")
		require.Equal(t, []error{nil, nil, errBad, nil}, outcomes())
		require.Equal(t, 2*took, time.Since(began))
		require.Equal(t, [][]string{{"a", "1"}, {"a", "2", "bad", "4"}}, b.batches)
		require.NoError(t, b.Do(t.Context(), "a", 1, "5"))
		require.Equal(t, 3*took, time.Since(began), "nothing was under way")
	})
}

func TestKeysDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(committer.Options{})
		began := time.Now()
		outcomes := b.calls(t.Context(), 1, "1")
		require.NoError(t, b.Do(t.Context(), "b", 1, "2"))
		require.Equal(t, []error{nil}, outcomes())
		require.Equal(t, took, time.Since(began))
	})
}

func TestABatchIsBoundedInCountAndBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(committer.Options{Count: 3, Bytes: 10})
		first := b.calls(t.Context(), 99, "1")
		small := b.calls(t.Context(), 1, "2", "3", "4", "5")
		large := b.calls(t.Context(), 11, "6")
		require.Equal(t, slices.Repeat([]error{nil}, 6), slices.Concat(first(), small(), large()))
		require.Equal(t, [][]string{{"a", "1"}, {"a", "2", "3", "4"}, {"a", "5"}, {"a", "6"}}, b.batches)
	})
}

func TestACallerThatGivesUpEndsNobodyElsesWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(committer.Options{})
		gone, leave := context.WithCancel(t.Context())
		leader := b.calls(gone, 1, "1")
		waiting := b.calls(gone, 1, "2")
		stays := b.calls(t.Context(), 1, "3")
		leave()
		require.Equal(t, []error{context.Canceled}, waiting(), "its work had not begun")
		require.Equal(t, []error{nil}, leader(), "its outcome is what became of its work")
		require.Equal(t, []error{nil}, stays())
		require.Equal(t, [][]string{{"a", "1"}, {"a", "3"}}, b.batches)
		require.ErrorIs(t, b.Do(gone, "a", 1, "4"), context.Canceled)
	})
}

func TestABatchThatTakesTooLongEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(committer.Options{Timeout: took / 2})
		for _, err := range b.calls(t.Context(), 1, "1", "2", "3")() {
			require.ErrorContains(t, err, "took too long")
		}
		require.Len(t, b.batches, 2)
	})
}

func TestAPanicReachesItsCallerAndFailsTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := make(chan struct{})
		c := committer.New(committer.Options{}, func(_ context.Context, _ string, batch []string) []error {
			<-begin
			if len(batch) > 1 {
				panic("two")
			}
			return []error{nil}
		})
		outcomes := make(chan string)
		for _, work := range []string{"1", "2", "3"} {
			go func() {
				defer func() {
					if r := recover(); r != nil {
						outcomes <- fmt.Sprint(r)
					}
				}()
				if err := c.Do(t.Context(), "a", 1, work); err != nil {
					outcomes <- "failed"
				} else {
					outcomes <- "done"
				}
			}()
			synctest.Wait()
		}
		close(begin)
		require.ElementsMatch(t, []string{"done", "two", "failed"}, []string{<-outcomes, <-outcomes, <-outcomes})
		require.NoError(t, c.Do(t.Context(), "a", 1, "4"), "the next one works")
	})
}
