package activities_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// unsteady makes one call of the stores that share it fail.
type unsteady struct {
	after bool // it fails after it has done its work, as when its answer is lost

	mu   sync.Mutex // guards left and due
	left int        // calls until that one
	due  bool       // the activity that made the call has not been repeated yet
}

// fails reports whether it is the turn of the call to fail.
func (f *unsteady) fails() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left--
	f.due = f.due || f.left == 0
	return f.left == 0
}

// repeats reports whether an activity that failed must be repeated, which it does once.
func (f *unsteady) repeats() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	due := f.due
	f.due = false
	return due
}

// steady reports whether no call has failed.
func (f *unsteady) steady() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left > 0
}

// try calls a function of a store, and fails if it is its turn.
func try[T any](f *unsteady, call func() (T, error)) (result T, err error) {
	if !f.fails() {
		return call()
	}
	if f.after {
		if result, err = call(); err != nil {
			return result, err
		}
	}
	var none T
	return none, fault.New(fault.Unavailable, "", "the store is away")
}

type failingLog struct {
	eventlog.Store
	*unsteady
}

func (f failingLog) Append(ctx context.Context, a eventlog.Append) ([]eventlog.Recorded, error) {
	return try(f.unsteady, func() ([]eventlog.Recorded, error) { return f.Store.Append(ctx, a) })
}

func (f failingLog) ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventlog.Recorded, error) {
	return try(f.unsteady, func() ([]eventlog.Recorded, error) { return f.Store.ReadStream(ctx, stream, after, limit) })
}

type failingBlobs struct {
	blob.Store
	*unsteady
}

func (f failingBlobs) Create(ctx context.Context, d blob.Durability) (blob.Writer, error) {
	return try(f.unsteady, func() (blob.Writer, error) { return f.Store.Create(ctx, d) })
}

func (f failingBlobs) Open(ctx context.Context, ref blob.Ref) (blob.Reader, error) {
	return try(f.unsteady, func() (blob.Reader, error) { return f.Store.Open(ctx, ref) })
}

func (f failingBlobs) Stat(ctx context.Context, ref blob.Ref) (int64, error) {
	return try(f.unsteady, func() (int64, error) { return f.Store.Stat(ctx, ref) })
}

func (f failingBlobs) Touch(ctx context.Context, ref blob.Ref) error {
	_, err := try(f.unsteady, func() (any, error) { return nil, f.Store.Touch(ctx, ref) })
	return err
}

type failingShelf struct {
	nodecache.Store
	*unsteady
}

func (f failingShelf) Find(ctx context.Context, account string, keys []nodecache.Key, age time.Duration) ([]nodecache.Entry, error) {
	return try(f.unsteady, func() ([]nodecache.Entry, error) { return f.Store.Find(ctx, account, keys, age) })
}

func (f failingShelf) Save(ctx context.Context, account string, entries []nodecache.Entry) error {
	_, err := try(f.unsteady, func() (any, error) { return nil, f.Store.Save(ctx, account, entries) })
	return err
}

// failingJobs ends jobs, tells their limits and resolves their assets.
type failingJobs struct {
	ends
	noLimits
	noAssets
	*unsteady
}

func (f failingJobs) End(ctx context.Context, e job.Ending) (job.Ended, error) {
	return try(f.unsteady, func() (job.Ended, error) {
		ended, err := f.ends.End(ctx, e)
		if errors.Is(err, eventlog.ErrClosed) {
			return job.Ended{}, nil // it was ended before
		}
		return ended, err
	})
}

func (f failingJobs) Bounds(ctx context.Context, account string) (job.Bounds, error) {
	return try(f.unsteady, func() (job.Bounds, error) { return f.noLimits.Bounds(ctx, account) })
}

// fails has the stores of a bench fail.
func (b *bench) fails(f *unsteady) {
	deps := &b.activities.Deps
	log, blobs, jobs := failingLog{b.log, f}, failingBlobs{deps.Sources.Blobs, f}, failingJobs{ends: ends{b.log}, unsteady: f}
	deps.Events, deps.Sources.Events, deps.Sources.Blobs, deps.Jobs, deps.Tiers = log, log, blobs, jobs, jobs
	deps.Values = nodevalue.New(blobs, 1<<20, 1<<20, time.Minute)
	deps.Cache = &nodecache.Cache{Store: failingShelf{&shelf{entries: map[nodecache.Key]nodecache.Entry{}}, f}}
	b.unsteady = f
}

// repeat executes an activity, and again if a store failed, each time in a worker that has just started.
func repeat[P, R any](t *testing.T, b *bench, activity func(*activities.Graph, context.Context, P) (R, error), params P) (res R) {
	t.Helper()
	deps := b.activities.Deps
	deps.Values = nodevalue.New(deps.Sources.Blobs, 1<<20, 1<<20, time.Minute)
	b.activities = activities.NewGraph(deps)
	env, called := environment(t.Context()), func(ctx context.Context, p P) (R, error) { return activity(b.activities, ctx, p) }
	env.RegisterActivity(called)
	value, err := env.ExecuteActivity(called, params)
	if err != nil && b.unsteady.repeats() {
		retried(t, err)
		return repeat(t, b, activity, params)
	}
	require.NoError(t, err)
	require.NoError(t, value.Get(&res))
	return res
}

// ended runs a job to its end. It returns what its nodes showed, and the events of the job with the nodes that ended, which a repetition
// may find in the cache.
func (b *bench) ended(t *testing.T) (shown map[string]string, events []string) {
	t.Helper()
	plan := repeat(t, b, (*activities.Graph).Begin, activities.BeginParams{RunRef: b.ref, Execution: "x"})
	shown, _ = b.finishedFrom(t, plan, func(p activities.RunParams) activities.RunResult {
		return repeat(t, b, (*activities.Graph).RunCheap, p)
	})
	repeat(t, b, (*activities.Graph).Finish, activities.FinishParams{RunRef: b.ref, Outcome: activities.Succeeded})
	recorded, err := b.log.ReadStream(t.Context(), b.ref.Job.Stream(), 0, 10_000)
	require.NoError(t, err)
	var nodes []string
	executed := map[string]bool{}
	for _, rec := range recorded {
		data, err := b.log.Decode(rec)
		require.NoError(t, err)
		switch e := data.(type) {
		case job.NodeExecutedV1:
			require.False(t, executed[e.Node], "%s ends once", e.Node)
			executed[e.Node] = true
			nodes = append(nodes, e.Node)
		case job.NodesCachedV1:
			nodes = append(nodes, e.Nodes...)
		case job.NodeStartedV1:
		default:
			events = append(events, rec.Type)
		}
	}
	slices.Sort(nodes)
	return shown, append(events, slices.Compact(nodes)...)
}

// Whichever call of a store fails, before or after it has done its work: the activity is repeated, by another worker, and the job comes to
// the same.
func TestEachCallOfAStoreMayFail(t *testing.T) {
	t.Parallel()
	calls := 0
	for seed := range uint64(4) {
		prompt, outputs := mazePrompt(rand.New(rand.NewPCG(seed, 9)))
		run := func(f *unsteady) (map[string]string, []string, bool) {
			b := newBench(t, prompt, outputs, (&ran{byClass: map[string]int{}}).maze()...)
			b.fails(f)
			shown, events := b.ended(t)
			return shown, events, f.steady()
		}
		want, events, _ := run(&unsteady{})
		require.Contains(t, events, job.TypeSucceeded)
		for _, after := range []bool{false, true} {
			for n := 1; ; n++ {
				shown, got, beyond := run(&unsteady{left: n, after: after})
				require.Equal(t, want, shown, "call %d of seed %d: %s", n, seed, prompt)
				require.Equal(t, events, got, "call %d of seed %d: %s", n, seed, prompt)
				if beyond {
					break
				}
				calls++
			}
		}
	}
	require.Greater(t, calls, 100)
}
