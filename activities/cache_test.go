package activities_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// shelf is a node cache in memory.
type shelf struct {
	nodecache.Store
	entries map[nodecache.Key]nodecache.Entry
}

func (s *shelf) Find(_ context.Context, _ string, keys []nodecache.Key, _ time.Duration) (found []nodecache.Entry, err error) {
	for _, key := range keys {
		if e, ok := s.entries[key]; ok {
			e.Bytes = 0 // the store does not read it back
			found = append(found, e)
		}
	}
	return found, nil
}

func (s *shelf) Save(_ context.Context, _ string, entries []nodecache.Entry) error {
	for _, e := range entries {
		s.entries[e.Key] = e
	}
	return nil
}

// started begins the job as a workflow does.
func (b *bench) started(t *testing.T) activities.BeginResult {
	t.Helper()
	env := environment(t.Context())
	env.RegisterActivity(b.activities.Begin)
	value, err := env.ExecuteActivity(b.activities.Begin, activities.BeginParams{RunRef: b.ref, Execution: "x"})
	require.NoError(t, err)
	var plan activities.BeginResult
	require.NoError(t, value.Get(&plan))
	return plan
}

// What the cache kept of a value may be gone from the store: its node runs then, as without a cache.
func TestCacheEntryWithoutItsValueIsAMiss(t *testing.T) {
	t.Parallel()
	costly := func(node.Args, int64) time.Duration { return time.Minute }
	source, show := step(), step()
	source.Cost = costly
	show.Name, show.OutputNode, show.Uncached, show.Cost = "Show", true, true, costly
	prompt := `{"1":{"class_type":"Step","inputs":{}},"2":{"class_type":"Show","inputs":{"in":["1",0]}}}`
	cache := &nodecache.Cache{Store: &shelf{entries: map[nodecache.Key]nodecache.Entry{}}}
	job := func(values *nodevalue.Store) *bench {
		b := newBench(t, prompt, []string{"2"}, source, show)
		b.activities.Cache = cache
		if values != nil {
			b.activities.Values = values
		}
		return b
	}
	first := job(nil)
	plan := first.started(t)
	require.Empty(t, plan.Cached)
	res, err := first.run(t.Context(), plan, 0)
	require.NoError(t, err)
	kept := slices.Clone(res.Units[0].Values)
	require.Len(t, kept, 1)

	cached := job(first.activities.Values).started(t).Cached
	require.Equal(t, []activities.Input{{Unit: 0, Values: kept}}, cached)
	require.NoError(t, first.activities.Values.ForgetCached(t.Context(), kept))
	require.Empty(t, job(first.activities.Values).started(t).Cached)
}

// A retry looks for the results of segments that its original job has left, and keeps them for retries of its own.
func TestARetryTakesTheSegmentsOfItsOriginalJob(t *testing.T) {
	t.Parallel()
	b := newBench(t, unfoldPrompt, []string{"2"}, step(), unfold(chainOfSteps(1)))
	cache := &shelf{entries: map[nodecache.Key]nodecache.Entry{}}
	b.activities.Cache = &nodecache.Cache{Store: cache}
	require.False(t, b.activities.SearchesElsewhere(t.Context(), b.ref, "Step", nil))
	require.False(t, b.activities.SearchesElsewhere(t.Context(), b.ref, "Step", &job.Origin{Job: "original"}), "it begins anew")
	require.True(t, b.activities.SearchesElsewhere(t.Context(), b.ref, "Step", &job.Origin{Job: "original", FromNode: "1"}))

	taken := nodecache.Entry{Key: nodecache.Key{1}, Job: "original", Class: "KSampler"}
	b.activities.KeepForRetry(t.Context(), b.ref.Job, nodecache.Key{2}, taken)
	require.Equal(t, map[nodecache.Key]nodecache.Entry{
		{2}: {Key: nodecache.Key{2}, Job: string(b.ref.Job), Class: "KSampler"},
	}, cache.entries)
}

// noStore fails the test that asks it for anything.
type noStore struct {
	nodecache.Store
	t *testing.T
}

func (s noStore) Find(context.Context, string, []nodecache.Key, time.Duration) ([]nodecache.Entry, error) {
	s.t.Error("the store was asked for results of brief nodes")
	return nil, nil
}

func (s noStore) Save(context.Context, string, []nodecache.Entry) error {
	s.t.Error("results of brief nodes were stored")
	return nil
}

func TestAGraphCheaperThanALookupAsksNoStore(t *testing.T) {
	t.Parallel()
	show, last := step(), step()
	last.Name, last.OutputNode, last.Uncached = "Last", true, true // so that each job has a node to run
	last.Cost = func(node.Args, int64) time.Duration { return time.Minute }
	show.Name, show.OutputNode = "Show", true
	show.Run = func(context.Context, *node.Call) (node.Result, error) {
		return node.Result{Outputs: []node.Value{"x"}, UI: map[string][]any{"text": {"x"}}}, nil
	}
	cache := &nodecache.Cache{Store: noStore{t: t}, Age: time.Hour, Brief: nodecache.NewBrief()}
	for _, known := range []bool{false, true} { // the process that ran it knows its results
		b := newBench(t, `{"1":{"class_type":"Step","inputs":{}},"2":{"class_type":"Show","inputs":{"in":["1",0]}},
			"3":{"class_type":"Last","inputs":{"in":["1",0]}}}`, []string{"2", "3"}, step(), show, last)
		b.activities.Cache = cache
		shown, cached := b.finished(t)
		require.JSONEq(t, `{"text":["x"]}`, shown["2"])
		require.Equal(t, known, cached["2"])
	}
}

// A process that begins a run anew, after another one was lost, takes the results that the log says were taken, although they
// were in the memory of the lost process.
func TestARunThatIsBegunAnewTakesTheSameBriefResults(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	show, last := step(), step()
	last.Name, last.OutputNode, last.Uncached = "Last", true, true
	last.Cost = func(node.Args, int64) time.Duration { return time.Minute }
	show.Name, show.OutputNode = "Show", true
	show.Run = func(context.Context, *node.Call) (node.Result, error) {
		runs.Add(1)
		return node.Result{Outputs: []node.Value{"x"}, UI: map[string][]any{"text": {"x"}}}, nil
	}
	newRun := func() *bench {
		return newBench(t, `{"1":{"class_type":"Step","inputs":{}},"2":{"class_type":"Show","inputs":{"in":["1",0]}},
			"3":{"class_type":"Last","inputs":{"in":["1",0]}}}`, []string{"2", "3"}, step(), show, last)
	}
	memory := func() *nodecache.Cache {
		return &nodecache.Cache{Store: noStore{t: t}, Age: time.Hour, Brief: nodecache.NewBrief()}
	}
	first, again := newRun(), newRun()
	first.activities.Cache = memory()
	first.finished(t)
	ran := runs.Load()
	again.activities.Cache = first.activities.Cache
	taken := again.started(t).Cached
	require.NotEmpty(t, taken)
	again.activities.Cache = memory()
	require.Equal(t, taken, again.started(t).Cached)
	again.finished(t)
	require.Equal(t, ran, runs.Load())
}
