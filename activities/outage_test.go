package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/faulttest"
	"github.com/millrace-dev/millrace/internal/stream"
)

// quick is a class that is expected to take long and does not.
func quick(run func() error) *node.Class {
	return &node.Class{
		Name: "Wait", Module: "nodes", OutputNode: true, Cost: func(node.Args, int64) time.Duration { return time.Minute },
		Run: func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, run() },
	}
}

// retried says that an activity ended with an error that is tried again.
func retried(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	var app *temporal.ApplicationError
	require.False(t, errors.As(err, &app) && app.NonRetryable(), "%v", err)
}

// An attempt that was cut off, by whatever, says nothing about the node that it ran.
func TestNodeWithManyStartsAndNoEndRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t, waitPrompt, []string{"1"}, quick(func() error { return nil }))
	plan := b.begin(t)
	for range 20 {
		b.append(t, job.TypeNodeStarted, job.NodeStartedV1{Run: 1, Node: "1", Class: "Wait"})
	}
	res, err := b.run(t.Context(), plan, 0)
	require.NoError(t, err)
	require.Empty(t, res.Failed)
	require.Len(t, res.Units, 1)
}

// A job that waits for hours begins its node every few seconds; its stream does not grow without end.
func TestStartsOfAWaitingNodeAreRecordedUpToABound(t *testing.T) {
	t.Parallel()
	b := newBench(t, waitPrompt, []string{"1"}, quick(func() error { return fault.New(fault.Unavailable, "", "away") }))
	plan := b.begin(t)
	for range 110 {
		_, err := b.run(t.Context(), plan, 0)
		retried(t, err)
	}
	require.Equal(t, 100, strings.Count(strings.Join(b.events(t), "\n"), "started 1"))
}

// A full disk is an outage: the job waits, says why to those who poll, and goes on when there is space again.
func TestANodeWaitsForSpaceOnTheDisk(t *testing.T) {
	t.Parallel()
	full := true
	b := newBench(t, waitPrompt, []string{"1"}, quick(func() error {
		if full {
			return fault.New(fault.Exhausted, fault.CodeDiskFull, "no space left to store files")
		}
		return nil
	}))
	bus := &frames{}
	b.activities.Bus = bus
	plan := b.begin(t)
	for range 10 {
		_, err := b.run(t.Context(), plan, 0)
		retried(t, err)
	}
	last := bus.last(t)
	require.Equal(t, stream.FrameWaiting, last.Kind)
	require.Equal(t, "1", last.Node)
	require.Equal(t, "no space left to store files", string(last.Data))
	require.NotContains(t, b.events(t), "executed 1")
	full = false
	res, err := b.run(t.Context(), plan, 0)
	require.NoError(t, err)
	require.Len(t, res.Units, 1)
}

// frames is a bus that keeps what passes.
type frames struct {
	mu   sync.Mutex // guards sent
	sent []stream.Frame
}

func (f *frames) Publish(_ context.Context, frame stream.Frame) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = append(f.sent, frame)
	return nil
}

func (f *frames) last(t *testing.T) stream.Frame {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	require.NotEmpty(t, f.sent)
	return f.sent[len(f.sent)-1]
}

// A batch that waits for something says at which node: the one that ran, or else its first.
func TestABatchSaysAtWhichNodeItWaits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		units []int
		want  string
	}{{[]int{0, 1}, "2"}, {[]int{1}, "2"}, {[]int{0}, ""}} {
		last := step()
		last.Name, last.OutputNode = "Last", true
		last.Run = func(context.Context, *node.Call) (node.Result, error) {
			return node.Result{}, fault.New(fault.Unavailable, "", "its bucket is away")
		}
		b := newBench(t, `{"1":{"class_type":"Step","inputs":{}},"2":{"class_type":"Last","inputs":{"in":["1",0]}}}`, []string{"2"}, step(), last)
		bus := &frames{}
		b.activities.Bus = bus
		plan := b.begin(t)
		p := activities.RunParams{RunRef: b.ref, PlanHash: plan.PlanHash, Units: c.units}
		message := "its bucket is away"
		if len(c.units) == 1 {
			ref, err := b.activities.Values.Put(t.Context(), b.ref.Job, []any{"x"})
			require.NoError(t, err)
			store := &faulttest.Calls{Fail: 1}
			b.activities.Values = nodevalue.New(failingBlobs{b.activities.Sources.Blobs, store}, 1<<20, 1<<20, time.Minute)
			p.Inputs, message = []activities.Input{{Unit: 0, Values: []string{ref}}}, faulttest.ErrAway.Message
		}
		_, err := b.batch(t, p)
		if c.want == "" {
			require.NoError(t, err)
			require.Empty(t, bus.sent)
			continue
		}
		retried(t, err)
		require.Equal(t, []stream.Frame{{
			Account: "a", Job: b.ref.Job, Run: 1, Node: c.want, Attempt: 1, Kind: stream.FrameWaiting, Data: []byte(message),
		}}, bus.sent)
	}
}

// What a node needs is away, for however long and however often: the node has not failed.
func TestANodeOutlivesOutages(t *testing.T) {
	t.Parallel()
	away := 30
	b := newBench(t, waitPrompt, []string{"1"}, quick(func() error {
		if away--; away >= 0 {
			return fault.New(fault.Unavailable, "", "the bucket does not answer")
		}
		return nil
	}))
	plan := b.begin(t)
	for range away {
		_, err := b.run(t.Context(), plan, 0)
		retried(t, err)
	}
	require.NotContains(t, strings.Join(b.events(t), "\n"), "failed")
	res, err := b.run(t.Context(), plan, 0)
	require.NoError(t, err)
	require.Empty(t, res.Failed)
	require.Len(t, res.Units, 1)
}

// An error that nobody has classified may be an outage of a kind that nobody has met: the work is tried for a day, and those who poll
// learn that it waits. Then the job ends with the number of attempts. An attempt that ends otherwise begins a new count.
func TestAnUnclassifiedErrorIsRetriedForADay(t *testing.T) {
	t.Parallel()
	unknown, away := errors.New("input/output error"), fault.New(fault.Unavailable, "", "away")
	for name, c := range map[string]struct {
		between error // of one attempt after half of the time
		every   time.Duration
		given   int // attempts until the work is given up; 0 = it is not
	}{
		"for a day":                   {unknown, time.Hour, 25},
		"rarely":                      {unknown, 10 * time.Hour, 20},
		"often":                       {unknown, time.Minute, 0},
		"an outage in between":        {away, time.Hour, 38},
		"an attempt without an error": {nil, time.Hour, 38},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, waitPrompt, []string{"1"}, quick(func() error { return nil }))
			bus, m := &frames{}, &marks{}
			b.activities.Bus, b.activities.Marks = bus, m
			plan := b.begin(t)
			synctest.Test(t, func(t *testing.T) {
				for n := 1; n <= 40; n++ {
					if m.err = unknown; n == 13 {
						m.err = c.between
					}
					_, err := b.run(t.Context(), plan, 0)
					var app *temporal.ApplicationError
					if errors.As(err, &app) && app.Type() == attempt.ErrGivenUp {
						require.Equal(t, c.given, n)
						require.True(t, app.NonRetryable())
						require.Contains(t, app.Message(), "given up after")
						return
					}
					if m.err == nil {
						require.NoError(t, err)
					} else {
						retried(t, err)
					}
					<-time.After(c.every)
				}
				require.Zero(t, c.given)
				last := bus.last(t)
				require.Equal(t, stream.FrameWaiting, last.Kind)
				require.Equal(t, "1", last.Node)
				require.NotContains(t, string(last.Data), unknown.Error(), "the text of an unclassified error stays inside")
			})
		})
	}
}

// marks are those of other processes at node 1: of living ones, and of those that died there.
type marks struct {
	alive int
	dead  int
	err   error
	mine  atomic.Int32
	looks int
}

func (m *marks) Set(context.Context, job.RunRef, string) (int, error) {
	if m.err != nil {
		return 0, m.err
	}
	m.mine.Add(1)
	return m.alive + m.dead, nil
}

func (m *marks) Clear(context.Context, job.RunRef, string) { m.mine.Add(-1) }

func (m *marks) Dead(context.Context, job.RunRef, string) (int, error) {
	if m.looks++; m.looks == 1 {
		return 0, nil // they have not been watched for long enough
	}
	return m.dead, nil
}

// A node that takes its worker down with it must not take all of them.
func TestNodeThatKilledItsWorkersFails(t *testing.T) {
	t.Parallel()
	ran := 0
	b := newBench(t, waitPrompt, []string{"1"}, quick(func() error { ran++; return nil }))
	plan := b.begin(t)
	m := &marks{dead: 4}
	b.activities.Marks = m
	res, err := b.run(t.Context(), plan, 0)
	require.NoError(t, err)
	require.Empty(t, res.Failed)
	require.Equal(t, 1, ran)
	m.dead = 5
	res, err = b.run(t.Context(), plan, 0)
	require.NoError(t, err)
	require.Equal(t, "1", res.Failed)
	require.Equal(t, 1, ran, "it was not run again")
	require.Equal(t, 2, m.looks, "the processes are watched no longer than it takes")
	failed := b.lastFailure(t)
	require.Equal(t, "OOMError", failed.Failure.ExceptionType)
	require.Contains(t, failed.Failure.Message, "lost 5 times")
	require.Zero(t, m.mine.Load(), "marks are taken back")
}

// Processes that live leave marks, too, when an outage cuts attempts off before they take them back. However many there
// are, they say nothing against the node, which runs once they have been watched.
func TestMarksOfLivingProcessesDoNotEndANode(t *testing.T) {
	t.Parallel()
	ran := 0
	b := newBench(t, waitPrompt, []string{"1"}, quick(func() error { ran++; return nil }))
	plan := b.begin(t)
	m := &marks{alive: 20, dead: 4}
	b.activities.Marks = m
	b.activities.WatchProcesses(50*time.Millisecond, time.Millisecond)
	res, err := b.run(t.Context(), plan, 0)
	require.NoError(t, err)
	require.Empty(t, res.Failed)
	require.Equal(t, 1, ran)
	require.Greater(t, m.looks, 1, "only silence that is watched counts")
	require.Zero(t, m.mine.Load())
}

// A node of a partner's model waits rather than works: it asks for no memory, and no worker dies of it.
func TestANodeThatWaitsForAModelIsNotMarked(t *testing.T) {
	t.Parallel()
	class := quick(func() error { return nil })
	class.Partner = true
	b := newBench(t, waitPrompt, []string{"1"}, class)
	plan := b.begin(t)
	b.activities.Marks = &marks{dead: 5}
	res, err := b.run(t.Context(), plan, 0)
	require.NoError(t, err)
	require.Empty(t, res.Failed)
}

// The plan of a job that runs stays in memory however many short jobs run beside it.
func TestShortJobsDoNotEvictThePlanOfALongOne(t *testing.T) {
	t.Parallel()
	var planned atomic.Int32
	class := quick(func() error { return nil })
	class.Cost = func(args node.Args, _ int64) time.Duration {
		if args["long"] == true {
			planned.Add(1)
		}
		return time.Minute
	}
	class.Inputs = []node.Input{{Name: "long", Type: node.Boolean, Section: node.Optional}}
	b := newBench(t, `{"1":{"class_type":"Wait","inputs":{"long":true}}}`, []string{"1"}, class)
	plan := b.begin(t)
	before := planned.Load()
	long := b.ref
	for range 600 {
		b.ref = job.RunRef{Job: job.NewID(), Account: "a", Run: 1}
		source, err := json.Marshal(job.Source{Prompt: json.RawMessage(waitPrompt)})
		require.NoError(t, err)
		b.append(t, job.TypeSubmitted, job.SubmittedV1{Document: job.Document{Inline: string(source)}, Targets: []string{"1"}})
		b.append(t, job.TypeAdmitted, job.AdmittedV1{Run: 1})
		b.begin(t)
		b.ref = long
		_, err = b.run(t.Context(), plan, 0)
		require.NoError(t, err)
	}
	require.Equal(t, before, planned.Load())
}
