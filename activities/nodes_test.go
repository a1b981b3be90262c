package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// shows is a class that shows texts, and other things.
func shows(values ...any) *node.Class {
	return &node.Class{
		Name: "Show", Module: "nodes", OutputNode: true,
		Run: func(context.Context, *node.Call) (node.Result, error) {
			return node.Result{UI: map[string][]any{"text": values}}, nil
		},
	}
}

const showPrompt = `{"1":{"class_type":"Show","inputs":{}}}`

// The texts that a node shows are files of the v2 surface, whose outputs are files, unless the node has saved others.
func TestTextsAreFilesOfTheV2Surface(t *testing.T) {
	t.Parallel()
	saves := shows("a text")
	saves.Run = func(ctx context.Context, call *node.Call) (node.Result, error) {
		_, err := call.Files.Save(ctx, node.Save{Folder: node.FolderOutput, Prefix: "own", Suffix: ".txt"}, func(w io.Writer) error {
			_, err := io.WriteString(w, "own")
			return err
		})
		return node.Result{UI: map[string][]any{"text": {"a text"}}}, err
	}
	for name, c := range map[string]struct {
		class   *node.Class
		surface job.Surface
		want    map[string]string // content by name
	}{
		"v2": {
			shows("one", 7, "three"), job.SurfaceV2, map[string]string{"text-of-1_00001_.txt": "one", "text-of-1_00003_.txt": "three"},
		},
		"the cloud":         {shows("one", 7, "three"), job.SurfaceCloud, nil},
		"a file of its own": {saves, job.SurfaceV2, map[string]string{"own-of-1_00001.txt": "own"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			submission := job.SubmittedV1{Targets: []string{"1"}, Surface: c.surface}
			b := newBenchFrom(t, job.Source{Prompt: json.RawMessage(showPrompt)}, submission, c.class)
			files := nodetest.NewFiles()
			b.activities.Files = func(_ job.RunRef, id string) activities.NodeFiles { return &savedFiles{Files: files, node: id} }
			res := b.once(t, activities.RunParams{RunRef: b.ref, PlanHash: b.begin(t).PlanHash, Units: []int{0}})
			require.Empty(t, res.Failed)
			got := map[string]string{}
			for _, f := range b.executed(t)["1"].Files {
				got[f.Filename] = string(files.Saved[f.Filename])
			}
			require.Equal(t, len(c.want), len(got))
			for file, content := range c.want {
				require.Equal(t, content, got[file], file)
			}
			for _, save := range files.Asked {
				if save.Prefix == "text-of-1" {
					require.Equal(t, node.FolderTemp, save.Folder)
					require.Equal(t, "text/plain; charset=utf-8", save.ContentType)
				}
			}
		})
	}
}

// The bound of the output of one node counts its values, its files with their names and types, and the texts that it said.
func TestTheBoundOfAnOutputCountsAllOfIt(t *testing.T) {
	t.Parallel()
	const most = eventlog.MaxEventBytes - 256<<10
	const described, values = 320 + len("sub") + len("image/png"), len(`{"text":["x"]}`)
	for name, c := range map[string]struct {
		name   int // length of the name of a file
		said   string
		failed bool
	}{
		"just fits":              {most - described - values, "", false},
		"one more":               {most - described - values + 1, "", true},
		"just fits, with a text": {most - described - values - 5, "hello", false},
		"one more, with a text":  {most - described - values - 4, "hello", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			class := shows("x")
			class.Run = func(_ context.Context, call *node.Call) (node.Result, error) {
				if c.said != "" {
					call.Live.Text(c.said)
				}
				return node.Result{UI: map[string][]any{"text": {"x"}}}, nil
			}
			b := newBench(t, showPrompt, []string{"1"}, class)
			b.activities.Files = func(job.RunRef, string) activities.NodeFiles {
				return &savedFiles{saved: []job.OutputFile{{Filename: strings.Repeat("n", c.name), Subfolder: "sub", ContentType: "image/png"}}}
			}
			res := b.once(t, activities.RunParams{RunRef: b.ref, PlanHash: b.begin(t).PlanHash, Units: []int{0}})
			require.Equal(t, c.failed, res.Failed == "1")
			if c.failed {
				failure := b.failure(t)
				require.Equal(t, "OOMError", failure.ExceptionType)
				require.Contains(t, failure.Message, fmt.Sprintf("has more than %d bytes", most))
				return
			}
			require.Len(t, res.Units, 1)
		})
	}
}

// The event of the end of a node has the last of the texts that it said.
func TestTheLastTextsOfANodeAreRecorded(t *testing.T) {
	t.Parallel()
	for _, said := range []int{0, 1, 256, 513, 2000} {
		class := shows("x")
		var want []string
		class.Run = func(_ context.Context, call *node.Call) (node.Result, error) {
			for n := range said {
				want = append(want, fmt.Sprint("line ", n))
				call.Live.Text(want[n])
			}
			return node.Result{}, nil
		}
		b := newBench(t, showPrompt, []string{"1"}, class)
		b.once(t, activities.RunParams{RunRef: b.ref, PlanHash: b.begin(t).PlanHash, Units: []int{0}})
		require.Equal(t, job.LogLines(want), append([]string{}, b.executed(t)["1"].Log...), said)
	}
}

// The starts of a node that takes long are numbered on, those of this run alone, up to a bound.
func TestTheStartsOfANodeAreNumbered(t *testing.T) {
	t.Parallel()
	for before, want := range map[int]int{0: 1, 3: 4, 98: 99, 99: 100, 100: 100, 150: 100} {
		b := newBench(t, waitPrompt, []string{"1"}, quick(func() error { return nil }))
		plan := b.begin(t)
		for range before {
			b.append(t, job.TypeNodeStarted, job.NodeStartedV1{Run: 1, Node: "1"})
		}
		b.append(t, job.TypeNodeStarted, job.NodeStartedV1{Run: 2, Node: "1"})
		b.append(t, job.TypeNodeStarted, job.NodeStartedV1{Run: 1, Node: "2"})
		_, err := b.run(t.Context(), plan, 0)
		require.NoError(t, err)
		recorded, err := b.log.ReadStream(t.Context(), b.ref.Job.Stream(), 0, 1000)
		require.NoError(t, err)
		at := slices.IndexFunc(recorded, func(rec eventlog.Recorded) bool {
			return rec.ID == job.EventID(b.ref.Job, 1, "1", want-1, job.TypeNodeStarted)
		})
		require.Positive(t, at, before)
		data, err := b.log.Decode(recorded[at])
		require.NoError(t, err)
		require.Equal(t, job.NodeStartedV1{Run: 1, Node: "1", Class: "Wait", Attempt: want}, data, before)
	}
	b := newBench(t, waitPrompt, []string{"1"}, quick(func() error { return nil }))
	plan := b.begin(t)
	b.activities.Events = &failing{b.log, 0, -2}
	_, err := b.run(t.Context(), plan, 0)
	require.ErrorContains(t, err, errAway.Error())
}

// A node whose lazy input is needed says so, and one whose stored input is lost says which unit must run again. Neither runs.
func TestANodeSaysWhatItLacks(t *testing.T) {
	t.Parallel()
	source, reader := step(), step()
	reader.Name, reader.OutputNode = "Lazy", true
	reader.Inputs = []node.Input{{Name: "in", Type: "STEP", Lazy: true}, {Name: "now", Type: "STEP"}}
	reader.LazyNeeds = func(node.Args) []string { return []string{"in"} }
	prompt := `{"1":{"class_type":"Step","inputs":{}},"2":{"class_type":"Lazy","inputs":{"in":["1",0],"now":["3",0]}},
		"3":{"class_type":"Step","inputs":{}}}`
	b := newBench(t, prompt, []string{"2"}, source, reader)
	plan := b.begin(t)
	at := map[string]int{}
	for u, name := range plan.Nodes {
		at[strings.Fields(name)[0]] = u
	}
	params := activities.RunParams{RunRef: b.ref, PlanHash: plan.PlanHash, Units: []int{at["3"], at["2"]}}
	res := b.once(t, params)
	require.Len(t, res.Units, 2)
	require.Equal(t, graph.UnitResult{Unit: at["2"], Status: graph.NeedsInputs, Needs: []string{"in"}}, res.Units[1])
	require.NotContains(t, b.events(t), "started 2")

	lost := "blake3:" + strings.Repeat("07", 32)
	b.activities.Values = nodevalue.New(mem.New(), 1<<20, 1<<20, time.Minute)
	params.Units, params.Inputs = []int{at["2"]}, []activities.Input{{Unit: at["3"], Values: []string{lost}}}
	res = b.once(t, params)
	require.Empty(t, res.Units)
	require.Equal(t, []int{at["3"]}, res.Lost)
	require.NotContains(t, b.events(t), "started 2")
}

// A worker without a class leaves its nodes to another worker.
func TestAWorkerWithoutAClassRunsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, showPrompt, []string{"1"}, shows("x"))
	b.begin(t)
	other, err := node.NewRegistry()
	require.NoError(t, err)
	b.activities.Classes = other
	b.activities.PlanOtherwise(b.ref.Job)
	_, err = b.run(t.Context(), activities.BeginResult{PlanHash: "none"}, 0)
	require.ErrorContains(t, err, "class Show is unknown")
	require.Empty(t, b.events(t))
}

// working are calls of models that waited before a provider worked on them.
type working struct {
	answers
	took, worked time.Duration
	err          error
}

func (w *working) RunNode(ctx context.Context, inv call.Invocation) (*call.Result, error) {
	<-time.After(w.took)
	return w.answers.RunNode(ctx, inv)
}

func (w *working) Worked(context.Context, string, call.ID) (time.Duration, error) {
	return w.worked, w.err
}

// The event of a partner node says how long its calls waited, all together. A call whose time cannot be read is tried again.
func TestAPartnerNodeSaysHowLongItWaited(t *testing.T) {
	t.Parallel()
	class := &node.Class{
		Name: "Show", Module: "nodes", OutputNode: true, Partner: true,
		Run: func(ctx context.Context, c *node.Call) (node.Result, error) {
			for range 2 {
				answer, err := c.Models.Run(ctx, "sim/echo", "s", []byte(`{}`))
				if err != nil {
					return node.Result{}, err
				}
				raw, err := io.ReadAll(answer.Content)
				if err != nil || string(raw) != `{"ok":true}` {
					return node.Result{}, errors.Join(err, errors.New("another answer"))
				}
			}
			return node.Result{}, nil
		},
	}
	for name, c := range map[string]struct {
		worked time.Duration
		err    error
		want   int64
	}{
		"it worked a while": {2 * time.Second, nil, 6000}, "it worked longer": {9 * time.Second, nil, 0}, "it is not known": {0, errAway, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, showPrompt, []string{"1"}, class)
			calls := &working{took: 5 * time.Second, worked: c.worked, err: c.err}
			b.activities.Partners = &activities.Partners{Calls: calls, Base: "/base"}
			plan := b.begin(t)
			synctest.Test(t, func(t *testing.T) {
				res, err := b.batch(t, activities.RunParams{RunRef: b.ref, PlanHash: plan.PlanHash, Units: []int{0}})
				if c.err != nil {
					retried(t, err)
					require.ErrorContains(t, err, "the database is away")
					return
				}
				require.NoError(t, err)
				require.Empty(t, res.Failed)
				require.Equal(t, c.want, b.executed(t)["1"].Waited)
				require.Len(t, calls.calls, 2)
				for n, inv := range calls.calls {
					require.Equal(t, call.NodeKey(string(b.ref.Job), 1, n, "1"), inv.Key)
					require.NotEmpty(t, inv.RequestID)
					inv.Key, inv.RequestID = "", ""
					require.Equal(t, call.Invocation{
						Account: "a", Method: "POST", Target: "/v2/models/sim/echo", Model: "sim/echo", API: call.V2, BaseURL: "/base",
						ContentType: "application/json", Body: []byte(`{}`), Catalog: "s", For: &call.JobRun{Job: string(b.ref.Job), Run: 1},
					}, inv)
				}
			})
		})
	}
}

// The failure of a node tells what the provider said besides.
func TestAFailureTellsWhatTheProviderSaid(t *testing.T) {
	t.Parallel()
	refusal := call.Refuse(fault.Conflict, call.ProviderError, "it failed")
	for detail, want := range map[string]string{
		"": "x: provider_error: it failed", "it failed": "x: provider_error: it failed", "too dark": "x: provider_error: it failed (too dark)",
		strings.Repeat("long ", 300): "",
	} {
		refusal.UpstreamDetail = detail
		p := &activities.Partners{Calls: &answers{failing: -1, refusal: refusal}}
		_, err := p.OfNode(job.RunRef{Job: "j", Account: "a", Run: 1}, "5").Run(t.Context(), "x", "s", nil)
		var known *fault.Error
		require.True(t, errors.As(err, &known))
		if want == "" {
			require.Len(t, known.Message, len("x: ")+1000+len("…"))
			continue
		}
		require.Equal(t, want, known.Message)
	}
}
