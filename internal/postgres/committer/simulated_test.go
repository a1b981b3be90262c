package committer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/postgres/committer"
	"github.com/millrace-dev/millrace/internal/sim/seeded"
)

var (
	errGone       = errors.New("the caller has gone") // the cause of the contexts of callers that give up
	errUnfinished = errors.New("its batch panicked")
)

// work is the work of one caller of a simulation.
type work struct {
	id   int
	key  string
	size int
	fate string // what its batch does when it reaches the work: "", "fails", "panics"
	came time.Duration
	goes time.Duration // when its caller gives up; 0 = never
}

// simulation is a committer with callers and batches, and what must hold of them.
type simulation struct {
	t     *testing.T
	opts  committer.Options
	takes []time.Duration // of batches, in order

	mu      sync.Mutex // guards all below
	batches int
	under   map[string]bool // keys with a batch under way
	began   []int           // works in the order in which their batches began
	told    map[int]error   // outcome of each work, as the batch gave it
	errs    map[int]error   // as its caller got it
}

// do does a batch.
func (s *simulation) do(ctx context.Context, key string, batch []work) []error {
	s.mu.Lock()
	size := 0
	for _, w := range batch {
		size += w.size
		if _, twice := s.told[w.id]; twice || w.key != key {
			s.t.Errorf("work %d of key %s is done twice, or with key %s", w.id, w.key, key)
		}
		s.told[w.id] = errUnfinished
		s.began = append(s.began, w.id)
	}
	if s.under[key] || len(batch) == 0 || len(batch) > s.opts.Count || size > s.opts.Bytes && len(batch) > 1 {
		s.t.Errorf("batch of %d works, %d bytes, another one of key %s under way: %v", len(batch), size, key, s.under[key])
	}
	s.under[key] = true
	takes := s.takes[s.batches%len(s.takes)]
	s.batches++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.under[key] = false
		s.mu.Unlock()
	}()
	late := false
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		late = true
	}
	if ctx.Err() != nil != late || takes > s.opts.Timeout != late {
		s.t.Errorf("a batch of %s ended early, or lasted longer than %s: %v", takes, s.opts.Timeout, context.Cause(ctx))
	}
	errs := make([]error, len(batch))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, w := range batch {
		switch {
		case late:
			errs[i] = context.Cause(ctx)
		case w.fate == "panics":
			panic(fmt.Sprintf("work %d", w.id))
		case w.fate == "fails":
			errs[i] = fmt.Errorf("work %d failed", w.id)
		}
	}
	for i, w := range batch {
		s.told[w.id] = errs[i]
	}
	return errs
}

// call does a work as its caller.
func (s *simulation) call(c *committer.Committer[work], w work) {
	time.Sleep(w.came) //nolint:forbidigo // of the bubble's clock
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	if w.goes > 0 {
		time.AfterFunc(w.goes, func() { cancel(errGone) })
	}
	err := fmt.Errorf("the batch of work %d panicked", w.id)
	defer func() {
		recover() // the panic of its own batch
		s.mu.Lock()
		defer s.mu.Unlock()
		s.errs[w.id] = err
	}()
	err = c.Do(ctx, w.key, w.size, w)
}

// Whatever callers and batches do, each work is done once or not at all, in order, and its caller learns which.
func TestSimulatedBatches(t *testing.T) {
	t.Parallel()
	seeded.Run(t, func(t *testing.T, random *rand.Rand) {
		s := &simulation{
			t: t, opts: committer.Options{Count: 1 + random.IntN(5), Bytes: 1 + random.IntN(100), Timeout: time.Second},
			under: map[string]bool{}, told: map[int]error{}, errs: map[int]error{},
		}
		for range 20 {
			s.takes = append(s.takes, seeded.Between(random, 0, 1100*time.Millisecond))
		}
		c := committer.New(s.opts, s.do)
		works := make([]work, 1+random.IntN(60))
		var callers sync.WaitGroup
		for i := range works {
			works[i] = work{
				id: i, key: string(rune('a' + random.IntN(3))), size: random.IntN(60), came: seeded.Between(random, 0, 5*time.Second),
				fate: []string{"", "", "", "", "", "fails", "panics"}[random.IntN(7)],
			}
			if random.IntN(3) == 0 {
				works[i].goes = seeded.Between(random, 1, 2*time.Second)
			}
			callers.Go(func() { s.call(c, works[i]) })
		}
		callers.Wait()
		s.check(works, c)
	})
}

func (s *simulation) check(works []work, c *committer.Committer[work]) {
	require.Len(s.t, s.errs, len(works), "a caller waits for ever")
	for _, w := range works {
		require.Zero(s.t, c.Waiting(w.key))
		err, told := s.errs[w.id], s.told[w.id]
		switch _, done := s.told[w.id]; {
		case errors.Is(err, errGone):
			require.False(s.t, done, "work %d was done although its caller was told that it was not", w.id)
		case err == nil:
			require.True(s.t, done && told == nil, "work %d was not done", w.id)
		case errors.Is(told, errUnfinished):
			require.ErrorContains(s.t, err, "panicked", "work %d", w.id)
		default:
			require.Equal(s.t, told, err, "the outcome of work %d", w.id)
		}
	}
	for _, key := range []string{"a", "b", "c"} {
		var came []time.Duration
		for _, id := range s.began {
			if works[id].key == key {
				came = append(came, works[id].came)
			}
		}
		require.True(s.t, slices.IsSorted(came), "works of key %s are done in the order of their callers", key)
	}
}

// However works are joined, each has the outcome that it would have had alone, and is committed once if it succeeded.
func TestSimulatedJoining(t *testing.T) {
	t.Parallel()
	seeded.Run(t, func(t *testing.T, random *rand.Rand) {
		fates := []string{"fine", "fine", "fine", "fails", "hides", "spoils", "refused"}
		works := make([]string, 1+random.IntN(12))
		for i := range works {
			works[i] = fmt.Sprintf("%s %d", fates[random.IntN(len(fates))], i)
		}
		committed := map[string]int{}
		transactions := 0
		do := func(batch []string) (own []error, err error) {
			transactions++
			own = make([]error, len(batch))
			for i, w := range batch {
				switch w[:5] {
				case "fails":
					own[i], err = errOwn, errOwn
				case "spoil": // fails in a batch, with an error that is nobody's
					if len(batch) > 1 {
						err = errHidden
					}
				case "hides":
					err = errHidden
				case "refus": // an outcome that commits nothing of the work and lets the others commit
					own[i] = errRefused
				}
			}
			if err != nil {
				return own, err
			}
			for i, w := range batch {
				if own[i] == nil {
					committed[w]++
				}
			}
			return own, nil
		}
		outcomes := committer.Jointly(works, do)
		require.Len(t, outcomes, len(works))
		require.LessOrEqual(t, transactions, 2*len(works)+1, "transactions for %d works", len(works))
		for i, w := range works {
			want, times := map[string]error{"fails": errOwn, "hides": errHidden, "refus": errRefused}[w[:5]], 0
			if want == nil {
				times = 1
			}
			require.Equal(t, want, outcomes[i], w)
			require.Equal(t, times, committed[w], w)
		}
	})
}
