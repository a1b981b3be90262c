package activities_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

var errAway = fault.New(fault.Unavailable, "", "the database is away")

// failing is a log that answers some reads of streams and some appends and is away once then. A count below -1 means all.
type failing struct {
	*eventlogtest.Memory
	reads, appends int
}

func (f *failing) ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventlog.Recorded, error) {
	if f.reads--; f.reads == -1 {
		return nil, errAway
	}
	return f.Memory.ReadStream(ctx, stream, after, limit)
}

func (f *failing) Append(ctx context.Context, a eventlog.Append) ([]eventlog.Recorded, error) {
	if f.appends--; f.appends == -1 {
		return nil, errAway
	}
	return f.Memory.Append(ctx, a)
}

// finish ends the run of the job.
func (b *bench) finish(t *testing.T, p activities.FinishParams) (activities.FinishResult, error) {
	t.Helper()
	env := environment(t.Context())
	env.RegisterActivity(b.activities.Finish)
	p.RunRef = b.ref
	value, err := env.ExecuteActivity(b.activities.Finish, p)
	if err != nil {
		return activities.FinishResult{}, err
	}
	var res activities.FinishResult
	return res, value.Get(&res)
}

// last returns the data of the last event of the job.
func (b *bench) last(t *testing.T) any {
	t.Helper()
	recorded, err := b.log.ReadStream(t.Context(), b.ref.Job.Stream(), 0, 1000)
	require.NoError(t, err)
	data, err := b.log.Decode(recorded[len(recorded)-1])
	require.NoError(t, err)
	return data
}

// The end of a run says where it was interrupted or why it failed. If the log cannot say that now, the run does not end yet.
func TestAnEndSaysWhereAndWhy(t *testing.T) {
	t.Parallel()
	at := &job.NodeRef{Node: "7", Class: "Other"}
	broken := job.Failure{Message: "broken", Node: "1", Class: "Wait", ExceptionType: "ServiceError"}
	canceled := func(at *job.NodeRef) any { return job.CanceledV1{Run: 1, At: at} }
	for name, c := range map[string]struct {
		params  activities.FinishParams
		running bool // a node
		reads   int  // that the log answers
		want    any  // last event; nil = the run does not end
	}{
		"at the node that an activity names": {activities.FinishParams{Outcome: activities.Canceled, At: at}, true, -2, canceled(at)},
		"at the node that runs": {
			activities.FinishParams{Outcome: activities.Canceled}, true, -2, canceled(&job.NodeRef{Node: "1", Class: "Wait"}),
		},
		"at no node":            {activities.FinishParams{Outcome: activities.Canceled}, false, -2, canceled(nil)},
		"at a node of no known": {activities.FinishParams{Outcome: activities.Canceled}, true, 1, nil},
		"failed": {
			activities.FinishParams{Outcome: activities.Failed, Node: "1"}, true, -2, job.FailedV1{Run: 1, Failure: broken},
		},
		"failed for a reason of no known": {activities.FinishParams{Outcome: activities.Failed, Node: "1"}, true, 1, nil},
		"failed outside its nodes": {
			activities.FinishParams{Outcome: activities.Failed, Failure: &broken}, false, -2, job.FailedV1{Run: 1, Failure: broken},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, waitPrompt, []string{"1"}, quick(func() error { return nil }))
			if c.running {
				b.append(t, job.TypeNodeStarted, job.NodeStartedV1{Run: 1, Node: "1", Class: "Wait"})
			}
			if c.params.Node != "" {
				failed := eventlog.Event{
					ID: job.EventID(b.ref.Job, 1, "1", 0, job.TypeNodeFailed), Type: job.TypeNodeFailed, Data: job.NodeFailedV1{Run: 1, Failure: broken},
				}
				_, err := b.log.Append(t.Context(), eventlog.Append{
					Stream: b.ref.Job.Stream(), Account: "a", Expected: eventlog.AnyVersion, Events: []eventlog.Event{failed},
				})
				require.NoError(t, err)
			}
			before := b.last(t)
			b.activities.Jobs, b.activities.Tiers = ends{b.log}, noLimits{}
			b.activities.Events = &failing{b.log, c.reads, -2}
			res, err := b.finish(t, c.params)
			if c.want == nil {
				require.ErrorContains(t, err, errAway.Error())
				require.Equal(t, before, b.last(t))
				return
			}
			require.NoError(t, err)
			end := activities.FinishResult{Outcome: c.params.Outcome}
			if c.params.Outcome == activities.Failed {
				end.Node, end.Class, end.Type = "1", "Wait", "ServiceError"
			}
			require.Equal(t, end, res)
			require.Equal(t, c.want, b.last(t))
		})
	}
}

type unknownLimits struct{}

func (unknownLimits) Bounds(context.Context, string) (b job.Bounds, err error) { return b, errAway }

// What cannot be read or recorded now is tried again, and no node runs that the log does not know of.
func TestARunWaitsForTheLog(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*testing.T, *bench, *int) error{
		"the job cannot be read": func(t *testing.T, b *bench, _ *int) error {
			b.activities.Events = &failing{b.log, 0, -2}
			_, err := b.batch(t, activities.RunParams{RunRef: b.ref, PlanHash: "x", Units: []int{0}})
			return err
		},
		"the job cannot be read at its begin": func(t *testing.T, b *bench, _ *int) error {
			b.activities.Events = &failing{b.log, 0, -2}
			env := environment(t.Context())
			env.RegisterActivity(b.activities.Begin)
			_, err := env.ExecuteActivity(b.activities.Begin, activities.BeginParams{RunRef: b.ref, Execution: "x"})
			return err
		},
		"the limits of its account cannot be read at its end": func(t *testing.T, b *bench, _ *int) error {
			b.activities.Jobs, b.activities.Tiers = ends{b.log}, unknownLimits{}
			_, err := b.finish(t, activities.FinishParams{Outcome: activities.Succeeded})
			return err
		},
		"the start of the run cannot be recorded": func(t *testing.T, b *bench, _ *int) error {
			b.activities.Events = &failing{b.log, -2, 0}
			env := environment(t.Context())
			env.RegisterActivity(b.activities.Begin)
			_, err := env.ExecuteActivity(b.activities.Begin, activities.BeginParams{RunRef: b.ref, Execution: "x"})
			return err
		},
		"the start of a slow node cannot be recorded": func(t *testing.T, b *bench, ran *int) error {
			plan := b.begin(t)
			b.activities.Events = &failing{b.log, -2, 0}
			_, err := b.run(t.Context(), plan, 0)
			require.Zero(t, *ran)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := 0
			err := run(t, newBench(t, waitPrompt, []string{"1"}, quick(func() error { ran++; return nil })), &ran)
			retried(t, err)
			require.ErrorContains(t, err, errAway.Error())
		})
	}
}

// A graph with a class that nobody has is not planned again and again: without servers none can come.
func TestAGraphThatNobodyCanRunIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, `{"1":{"class_type":"Gone","inputs":{}}}`, []string{"1"}, quick(func() error { return nil }))
	env := environment(t.Context())
	env.RegisterActivity(b.activities.Begin)
	_, err := env.ExecuteActivity(b.activities.Begin, activities.BeginParams{RunRef: b.ref, Execution: "x"})
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.True(t, app.NonRetryable(), "%v", err)
	require.ErrorContains(t, err, "Gone")
}

// A job is run for its own account alone.
func TestAJobOfAnotherAccountIsNotRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, waitPrompt, []string{"1"}, quick(func() error { return nil }))
	b.ref.Account = "b"
	env := environment(t.Context())
	env.RegisterActivity(b.activities.Begin)
	_, err := env.ExecuteActivity(b.activities.Begin, activities.BeginParams{RunRef: b.ref, Execution: "x"})
	require.ErrorContains(t, err, "is not in the log of account b")
	require.Empty(t, b.events(t))
}

// unseen is a store whose servers cannot be read.
type unseen struct{ placement.Store }

func (unseen) Servers(context.Context) ([]*server.Server, error) { return nil, errAway }

// A graph with a class that a server may have is planned when the servers can be read.
func TestAGraphWaitsForTheListOfServers(t *testing.T) {
	t.Parallel()
	b := newBench(t, `{"1":{"class_type":"Theirs","inputs":{}}}`, []string{"1"}, quick(func() error { return nil }))
	b.activities.Segments = activities.NewSegments(placement.New(unseen{}, nil, b.activities.Classes, "", placement.Options{}), nil)
	env := environment(t.Context())
	env.RegisterActivity(b.activities.Begin)
	_, err := env.ExecuteActivity(b.activities.Begin, activities.BeginParams{RunRef: b.ref, Execution: "x"})
	retried(t, err)
	require.ErrorContains(t, err, errAway.Error())
}

// The run of a job that this process has just accepted begins again if its first events cannot be recorded now.
func TestAFreshJobWaitsForTheLog(t *testing.T) {
	t.Parallel()
	b, _ := beginning(t, thenCostly, time.Now())
	b.activities.Events = &failing{b.log, -2, 0}
	env := environment(t.Context())
	env.RegisterActivity(b.activities.Begin)
	_, err := env.ExecuteActivity(b.activities.Begin, activities.BeginParams{RunRef: b.ref, Execution: "x"})
	retried(t, err)
	require.ErrorContains(t, err, errAway.Error())
	require.NotNil(t, b.beginRun(t).First)
}

// full is a store of blobs without space.
type full struct{ *mem.Store }

func (full) Create(context.Context, blob.Durability) (blob.Writer, error) {
	return nil, fault.New(fault.Exhausted, fault.CodeDiskFull, "no space left")
}

// A batch that yields has stored all that the rest of it reads, or it is tried again.
func TestABatchYieldsWithItsValuesOrNotAtAll(t *testing.T) {
	t.Parallel()
	class := &node.Class{
		Name: "Long", Module: "nodes", OutputNode: true, Inputs: []node.Input{{Name: "in", Type: node.String, Section: node.Optional}},
		Outputs: []node.Output{{Type: node.String}}, Cost: func(node.Args, int64) time.Duration { return 10 * time.Second },
		Run: func(context.Context, *node.Call) (node.Result, error) {
			return node.Result{Outputs: []node.Value{strings.Repeat("too long for a history ", 100)}}, nil
		},
	}
	b := newBench(t, `{"1":{"class_type":"Long","inputs":{}},"2":{"class_type":"Long","inputs":{"in":["1",0]}}}`, []string{"2"}, class)
	b.activities.Turn = -time.Second
	plan := b.begin(t)
	kept := b.activities.Values
	b.activities.Values = nodevalue.New(full{mem.New()}, 1<<20, 1<<20, time.Minute)
	_, err := b.run(t.Context(), plan, 0, 1)
	retried(t, err)
	b.activities.Values = kept
	res, err := b.run(t.Context(), plan, 0, 1)
	require.NoError(t, err)
	require.Len(t, res.Units, 1, "it yields")
	require.NotEmpty(t, res.Units[0].Values)
}

// saving are the files of a node whose texts cannot be saved.
type saving struct{ noFiles }

func (saving) Save(context.Context, node.Save, func(io.Writer) error) (node.File, error) {
	return node.File{}, errors.New("no space left")
}

// The texts that a node shows are files of a job of the v2 surface. A node whose texts are not saved has not ended.
func TestANodeWhoseTextsAreNotSavedHasNotEnded(t *testing.T) {
	t.Parallel()
	for surface, ends := range map[job.Surface]bool{job.SurfaceV2: false, job.SurfaceCloud: true} {
		b := newBench(t, gatedPrompt, []string{"4"}, gated("")...)
		recorded, err := b.log.ReadStream(t.Context(), b.ref.Job.Stream(), 0, 1)
		require.NoError(t, err)
		data, err := b.log.Decode(recorded[0])
		require.NoError(t, err)
		submitted, ok := data.(job.SubmittedV1)
		require.True(t, ok)
		submitted.Surface = surface
		b.ref.Job = job.NewID()
		b.append(t, job.TypeSubmitted, submitted)
		b.append(t, job.TypeAdmitted, job.AdmittedV1{Run: 1})
		b.activities.Files = func(job.RunRef, string) activities.NodeFiles { return saving{} }
		b.activities.FusedFor = time.Minute
		plan := b.begin(t)
		next := plan.Scheduler().Next()
		_, err = b.batch(t, b.params(plan.Scheduler(), next[0], plan.PlanHash, nil))
		require.Equal(t, ends, err == nil, "%s: %v", surface, err)
		_, ended := b.executed(t)["4"]
		require.Equal(t, ends, ended, surface)
	}
}

// The event of a node has the last texts that it logged while it ran.
func TestTextsOfARunningNodeAreInItsEvent(t *testing.T) {
	t.Parallel()
	talks := quick(nil)
	talks.Run = func(_ context.Context, call *node.Call) (node.Result, error) {
		for _, text := range []string{"one", "two"} {
			call.Live.Text(text)
		}
		return node.Result{}, nil
	}
	b := newBench(t, waitPrompt, []string{"1"}, talks)
	_, err := b.run(t.Context(), b.begin(t), 0)
	require.NoError(t, err)
	require.Equal(t, []string{"one", "two"}, b.executed(t)["1"].Log)
}

// Of an expansion whose nodes are cached only those run that are kept for nobody. The values that they read come from the cache.
func TestCachedNodesOfAnExpansionPassTheirValues(t *testing.T) {
	t.Parallel()
	costly, show := step(), step()
	costly.Name, costly.Cost = "Costly", func(node.Args, int64) time.Duration { return time.Minute }
	show.Name, show.Uncached, show.Cost = "Anew", true, costly.Cost
	expand := unfold(func(node.Value) (*node.Expansion, node.Value) {
		e := &node.Expansion{}
		made := node.From{Node: e.Add("Costly", node.Args{})}
		return e, node.From{Node: e.Add("Anew", node.Args{"in": made})}
	})
	cache := &nodecache.Cache{Store: &shelf{entries: map[nodecache.Key]nodecache.Entry{}}}
	var values *nodevalue.Store
	for _, again := range []bool{false, true} {
		b := newBench(t, unfoldPrompt, []string{"2"}, step(), costly, show, expand)
		if values != nil {
			b.activities.Values = values
		}
		values, b.activities.Cache = b.activities.Values, cache
		_, cached := b.finished(t)
		require.Equal(t, again, cached["2.0.0.1"])
		require.False(t, cached["2.0.0.2"])
		require.Equal(t, !again, strings.Contains(strings.Join(b.events(t), "\n"), "started 2.0.0.1"), "it runs once")
	}
}
