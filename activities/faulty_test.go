package activities_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault/faulttest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

type failingLog struct {
	eventlog.Store
	*faulttest.Calls
}

func (f failingLog) Append(ctx context.Context, a eventlog.Append) ([]eventlog.Recorded, error) {
	return faulttest.Try(f.Calls, "append", func() ([]eventlog.Recorded, error) { return f.Store.Append(ctx, a) })
}

func (f failingLog) ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventlog.Recorded, error) {
	return faulttest.Try(f.Calls, "read stream", func() ([]eventlog.Recorded, error) { return f.Store.ReadStream(ctx, stream, after, limit) })
}

type failingBlobs struct {
	blob.Store
	*faulttest.Calls
}

func (f failingBlobs) Create(ctx context.Context, d blob.Durability) (blob.Writer, error) {
	return faulttest.Try(f.Calls, "create", func() (blob.Writer, error) { return f.Store.Create(ctx, d) })
}

func (f failingBlobs) Open(ctx context.Context, ref blob.Ref) (blob.Reader, error) {
	return faulttest.Try(f.Calls, "open", func() (blob.Reader, error) { return f.Store.Open(ctx, ref) })
}

func (f failingBlobs) Stat(ctx context.Context, ref blob.Ref) (int64, error) {
	return faulttest.Try(f.Calls, "stat", func() (int64, error) { return f.Store.Stat(ctx, ref) })
}

func (f failingBlobs) Touch(ctx context.Context, ref blob.Ref) error {
	return f.Do("touch", func() error { return f.Store.Touch(ctx, ref) })
}

type failingShelf struct {
	nodecache.Store
	*faulttest.Calls
}

func (f failingShelf) Find(ctx context.Context, account string, keys []nodecache.Key, age time.Duration) ([]nodecache.Entry, error) {
	return faulttest.Try(f.Calls, "find", func() ([]nodecache.Entry, error) { return f.Store.Find(ctx, account, keys, age) })
}

func (f failingShelf) Save(ctx context.Context, account string, entries []nodecache.Entry) error {
	return f.Do("save", func() error { return f.Store.Save(ctx, account, entries) })
}

// failingJobs ends jobs, tells their limits and resolves their assets.
type failingJobs struct {
	activities.Jobs
	noLimits
	noAssets
	*faulttest.Calls
}

func (f failingJobs) End(ctx context.Context, e job.Ending) (job.Ended, error) {
	return faulttest.Try(f.Calls, "end", func() (job.Ended, error) {
		ended, err := f.Jobs.End(ctx, e)
		if errors.Is(err, eventlog.ErrClosed) {
			return job.Ended{}, nil // it was ended before
		}
		return ended, err
	})
}

func (f failingJobs) Bounds(ctx context.Context, account string) (job.Bounds, error) {
	return faulttest.Try(f.Calls, "bounds", func() (job.Bounds, error) { return f.noLimits.Bounds(ctx, account) })
}

// fails has the stores of a bench fail, also the given one that ends its job.
func (b *bench) fails(c *faulttest.Calls, jobs activities.Jobs) {
	deps := &b.activities.Deps
	log, blobs, ends := failingLog{b.log, c}, failingBlobs{deps.Sources.Blobs, c}, failingJobs{Jobs: jobs, Calls: c}
	deps.Events, deps.Sources.Events, deps.Sources.Blobs, deps.Jobs, deps.Tiers = log, log, blobs, ends, ends
	deps.Cache = &nodecache.Cache{Store: failingShelf{&shelf{entries: map[nodecache.Key]nodecache.Entry{}}, c}}
	b.calls = c
}

// repeats reports whether an activity that failed must be repeated, which it does once.
func (b *bench) repeats() bool {
	due := b.calls.Failed() && !b.repeated
	b.repeated = b.repeated || due
	return due
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
	if err != nil && b.repeats() {
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
		run := func(c *faulttest.Calls) (map[string]string, []string) {
			b := newBench(t, prompt, outputs, (&ran{byClass: map[string]int{}}).maze()...)
			b.fails(c, ends{b.log})
			return b.ended(t)
		}
		want, events := run(&faulttest.Calls{})
		require.Contains(t, events, job.TypeSucceeded)
		for c := range faulttest.Each {
			shown, got := run(c)
			require.Equal(t, want, shown, "call %d of seed %d: %s", c.Fail, seed, prompt)
			require.Equal(t, events, got, "call %d of seed %d: %s", c.Fail, seed, prompt)
			if c.Failed() {
				calls++
			}
		}
	}
	require.Greater(t, calls, 100)
}
