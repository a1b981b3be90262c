package activities_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/stream"
)

// leases is a store that keeps the lease of an attempt, and what it learns.
type leases struct {
	losing
	mine    []bool // answers to renewals, in turn; then the store is away
	renewed int
	loaded  []time.Duration
	why     string // the segment waits
}

func (l *leases) Renew(context.Context, server.Lease) (bool, error) {
	if l.renewed++; l.renewed > len(l.mine) {
		return false, errAway
	}
	return l.mine[l.renewed-1], nil
}

func (l *leases) Loaded(_ context.Context, _ server.ID, _ []string, took time.Duration) error {
	l.loaded = append(l.loaded, took)
	return nil
}

func (l *leases) WhyWaiting(context.Context, server.Key) (string, int, error) { return l.why, 0, nil }

func (b *bench) attempt(t *testing.T, store *leases, l server.Lease) *activities.SegmentAttempt {
	t.Helper()
	store.bench = b
	l.Key, l.Server = server.Key{Job: b.ref.Job, Run: b.ref.Run}, "first"
	a, err := b.activities.Attempt(t.Context(), store, b.ref, l, nil)
	require.NoError(t, err)
	return a
}

// What earlier attempts of the run recorded of nodes is not recorded again; what belongs to another run is.
func TestNodesThatWereRecordedAreNotRecordedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
	b.append(t, job.TypeNodesCached, job.NodesCachedV1{Run: 1, Nodes: []string{"cached", "both"}})
	b.append(t, job.TypeNodesCached, job.NodesCachedV1{Run: 2, Nodes: []string{"cached in another run", "both"}})
	b.append(t, job.TypeNodeExecuted, job.NodeExecutedV1{Run: 1, Node: "executed"})
	b.append(t, job.TypeNodeExecuted, job.NodeExecutedV1{Run: 2, Node: "executed in another run"})
	again, first := b.attempt(t, &leases{}, server.Lease{Attempt: 2}), b.attempt(t, &leases{}, server.Lease{Attempt: 1, Fresh: true})
	for id, recorded := range map[string]bool{
		"cached": true, "both": true, "executed": true, "cached in another run": false, "executed in another run": false, "5": false,
	} {
		require.Equal(t, recorded, again.Recorded(id), id)
		require.False(t, first.Recorded(id), "nothing is before the first attempt")
	}
}

// What a server says while a node runs reaches watchers and the event of the node, with the attempt.
func TestWhatAServerSaysIsPublishedAndRecorded(t *testing.T) {
	t.Parallel()
	b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
	bus := &framesBus{b: b, t: t}
	b.activities.Bus = bus
	a := b.attempt(t, &leases{}, server.Lease{Attempt: 3})
	require.NoError(t, a.Started(t.Context(), "5", nil))
	a.Text("5", "half done")
	a.Progress("5", 1, 2)
	a.Preview("5", "image/png", []byte("x"))
	a.Picture("5", "image/png", []byte("y"))
	a.Picture("5", "image/png", make([]byte, stream.MaxPicture+1))
	prompt := server.Key{Job: b.ref.Job, Run: b.ref.Run}.Prompt(3).String()
	a.Message("5", "pack.event", []byte(`{"prompt_id":"`+prompt+`"}`))
	require.NoError(t, a.Executed(t.Context(), driving.Executed{Node: "5", UI: map[string][]any{"text": {"done"}}, Took: time.Second}))
	require.NoError(t, a.Flush(t.Context()))
	frame := stream.Frame{Account: "a", Job: b.ref.Job, Run: 1, Node: "5", Attempt: 3}
	with := func(kind stream.FrameKind, change func(*stream.Frame)) stream.Frame {
		f := frame
		f.Kind = kind
		change(&f)
		return f
	}
	require.Equal(t, []stream.Frame{
		with(stream.FrameText, func(f *stream.Frame) { f.Data = []byte("half done") }),
		with(stream.FrameProgress, func(f *stream.Frame) { f.Value, f.Max = 1, 2 }),
		with(stream.FramePreview, func(f *stream.Frame) { f.ContentType, f.Data = "image/png", []byte("x") }),
		with(stream.FramePicture, func(f *stream.Frame) { f.ContentType, f.Data = "image/png", []byte("y") }),
		with(stream.FrameMessage, func(f *stream.Frame) {
			f.Name, f.Data = "pack.event", []byte(`{"prompt_id":"`+string(b.ref.Job)+`"}`)
		}),
	}, bus.frames)
	done := b.executed(t)["5"]
	require.Equal(t, []string{"half done"}, done.Log)
	require.EqualValues(t, 1000, done.Millis)
	require.Equal(t, "KSampler", done.Class)
	require.JSONEq(t, `{"text":["done"]}`, string(done.UI))
	require.Contains(t, b.events(t), "started 5")
}

// The nodes that a server has cached are added to those of which the run had results as it began.
func TestNodesThatAServerHasCachedAreAdded(t *testing.T) {
	t.Parallel()
	b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
	b.append(t, job.TypeNodesCached, job.NodesCachedV1{Run: 1, Nodes: []string{"1"}})
	a := b.attempt(t, &leases{}, server.Lease{Attempt: 1, Fresh: true})
	require.NoError(t, a.Cached(t.Context(), []string{"5"}))
	require.NoError(t, a.Flush(t.Context()))
	state, err := eventlog.Fold(b.activities.Types, eventlog.Read(t.Context(), b.log, b.ref.Job.Stream(), 0), job.Job{}, job.Fold)
	require.NoError(t, err)
	require.Equal(t, []string{"1", "5"}, state.Cached)
}

// A driver ends if the end of a node cannot be recorded.
func TestADriverEndsIfItCannotRecordANode(t *testing.T) {
	t.Parallel()
	b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
	a := b.attempt(t, &leases{}, server.Lease{Attempt: 1, Fresh: true})
	require.NoError(t, a.Flush(t.Context()))
	b.activities.Events = &failing{b.log, -2, 0}
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, a.Started(t.Context(), "5", nil))
		<-time.After(time.Second) // of the bubble
		require.ErrorIs(t, a.Executed(t.Context(), driving.Executed{Node: "5"}), errAway)
	})
}

// endless is a server that goes on with a prompt after a request to cancel it.
type endless struct{ comfyui.Server }

func (endless) Cancel(context.Context, comfyui.PromptID) (bool, error) { return false, nil }

// The end of a canceled segment is recorded although the lease with which it could not be is gone.
func TestTheEndOfACanceledSegmentIsRecorded(t *testing.T) {
	t.Parallel()
	for _, away := range []bool{false, true} {
		b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
		a := b.attempt(t, &leases{losing: losing{away: away}}, server.Lease{Attempt: 1, Fresh: true})
		require.ErrorIs(t, a.Cancel(t.Context(), endless{}), activities.ErrStopped)
		require.NoError(t, a.Flush(t.Context()))
		ended, ok := b.last(t).(job.SegmentEndedV1)
		require.True(t, ok)
		require.Equal(t, job.SegmentCanceled, ended.Outcome)
	}
}

// The time of an attempt on its server is that until the server was free for another segment.
func TestTheTimeOnAServerEndsWhenItIsFree(t *testing.T) {
	t.Parallel()
	for free, millis := range map[bool]int64{false: 8000, true: 3000} {
		b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
		began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when bubbles begin
		a := b.attempt(t, &leases{}, server.Lease{Attempt: 1, Fresh: true, Since: began})
		synctest.Test(t, func(t *testing.T) {
			<-time.After(3 * time.Second) // of the bubble
			if free {
				a.FreeServer()
			}
			<-time.After(5 * time.Second)
			require.ErrorIs(t, a.Cancel(t.Context(), endless{}), activities.ErrStopped)
			ended, ok := b.last(t).(job.SegmentEndedV1)
			require.True(t, ok)
			require.Equal(t, millis, ended.Millis)
		})
	}
}

// How long models took to load is learned where a segment has some.
func TestTheTimeToLoadIsLearned(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		models []string
		want   []time.Duration
	}{
		"no models":                         {nil, nil},
		"models that another prompt loaded": {[]string{"a"}, []time.Duration{time.Millisecond}},
	} {
		store := &leases{}
		newBench(t, gatedPrompt, []string{"3"}, gated("")...).attempt(t, store, server.Lease{Attempt: 1, Models: c.models}).Measure(t.Context())
		require.Equal(t, c.want, store.loaded, name)
	}
}

// A driver whose lease another one has ends; one whose lease cannot be renewed now goes on.
func TestADriverEndsWithItsLease(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mine []bool
		lost bool
	}{
		"it is taken": {[]bool{true, true, false}, true}, "it is not known": {[]bool{true, true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
			a := b.attempt(t, &leases{mine: c.mine}, server.Lease{Attempt: 1, Fresh: true})
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				driven, lost := context.WithCancelCause(t.Context())
				defer lost(nil)
				a.Renew(ctx, lost)
				require.Equal(t, c.lost, driven.Err() != nil)
				if c.lost {
					require.ErrorIs(t, context.Cause(driven), activities.ErrTakenOver)
				}
			})
		})
	}
}

// A job says once that a segment waits for a server, whoever recorded it.
func TestAWaitIsRecordedOnce(t *testing.T) {
	t.Parallel()
	waits := job.SegmentWaitingV1{Run: 1, Node: "5", Attempt: 1, Reason: "no server is free"}
	for name, c := range map[string]struct {
		why    string
		before bool
		want   int
	}{
		"a new wait": {"no server is free", false, 1}, "one that is known": {"no server is free", true, 1}, "no wait": {"", false, 0},
	} {
		b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
		b.append(t, job.TypeStarted, job.StartedV1{Run: 1})
		if c.before {
			b.append(t, job.TypeSegmentWaiting, waits)
		}
		b.attempt(t, &leases{why: c.why}, server.Lease{Attempt: 1, Fresh: true}).RecordWaiting(t.Context())
		recorded, err := b.log.ReadStream(t.Context(), b.ref.Job.Stream(), 0, 100)
		require.NoError(t, err)
		count := 0
		for _, rec := range recorded {
			if rec.Type == job.TypeSegmentWaiting {
				count++
			}
		}
		require.Equal(t, c.want, count, name)
	}
}

// shelves is a node cache that keeps what it is given, or is away.
type shelves struct {
	shelf
	away error
}

func (s *shelves) Save(ctx context.Context, account string, entries []nodecache.Entry) error {
	if s.away != nil {
		return s.away
	}
	return s.shelf.Save(ctx, account, entries)
}

// The values of a segment outlive its job if the cache has kept them, and end with the job otherwise.
func TestTheResultOfASegmentIsCached(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]error{"kept": nil, "the cache is away": errAway} {
		b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
		ref, err := b.activities.Values.Put(t.Context(), b.ref.Job, strings.Repeat("long enough for a blob ", 50))
		require.NoError(t, err)
		cache := &shelves{shelf{entries: map[nodecache.Key]nodecache.Entry{}}, away}
		a := b.attempt(t, &leases{}, server.Lease{Attempt: 1, Fresh: true})
		refs, err := a.CacheResult(t.Context(), &nodecache.Cache{Store: cache}, []string{ref})
		require.NoError(t, err, name)
		if away != nil {
			require.Equal(t, []string{ref}, refs)
			continue
		}
		require.Equal(t, []string{nodevalue.Cached(ref)}, refs)
		require.Len(t, cache.entries, 1)
		for _, e := range cache.entries {
			require.Greater(t, e.Bytes, int64(23*50), "it counts against the bound of the cache")
		}
	}
}

// given are credentials of Comfy.org.
type given map[string]string

func (g given) ForServer(context.Context, job.RunRef, string) (map[string]string, error) {
	return g, nil
}

// A prompt has the metadata of its submission, and credentials only where the server may have them. Those are withheld from answers.
func TestTheExtraDataOfAPrompt(t *testing.T) {
	t.Parallel()
	source := job.Source{ExtraData: map[string]json.RawMessage{
		"extra_pnginfo": json.RawMessage(`{"workflow":{}}`), "preview_method": json.RawMessage(`null`), "other": json.RawMessage(`1`),
	}}
	for name, c := range map[string]struct {
		given   activities.ServerCredentials
		want    map[string]json.RawMessage
		secrets []string
	}{
		"no credentials": {nil, map[string]json.RawMessage{"extra_pnginfo": json.RawMessage(`{"workflow":{}}`)}, nil},
		"a key": {
			given{"api_key_comfy_org": `k"`},
			map[string]json.RawMessage{"extra_pnginfo": json.RawMessage(`{"workflow":{}}`), "api_key_comfy_org": json.RawMessage(`"k\""`)},
			[]string{`k"`},
		},
	} {
		b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
		extra, secrets, err := b.attempt(t, &leases{}, server.Lease{Attempt: 1, Fresh: true}).Extra(t.Context(), c.given, source)
		require.NoError(t, err, name)
		require.Equal(t, c.want, extra, name)
		require.Equal(t, c.secrets, secrets, name)
	}
}

// A segment needs the classes of its nodes, the files that they name, and of a class that only servers have the inputs as planned.
func TestWhatANodeNeedsOfItsServer(t *testing.T) {
	t.Parallel()
	inputs := []node.Input{{Name: "file", Type: node.Combo}, {Name: "steps", Type: node.Int}, {Name: "unused", Type: node.Int}}
	outputs := []node.Output{{Type: node.Image}}
	run := func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil }
	classes, err := node.NewRegistry(
		&node.Class{Name: "Own", Inputs: inputs, Outputs: outputs, Run: run},
		&node.Class{Name: "Theirs", Inputs: inputs, Outputs: outputs, Remote: true, Run: run},
	)
	require.NoError(t, err)
	for class, want := range map[string]server.Need{
		"Own": {Class: "Own", Choices: map[string]string{"file": "a"}},
		"Theirs": {
			Class: "Theirs", Choices: map[string]string{"file": "a"}, Inputs: map[string]string{"file": "COMBO", "steps": "INT"},
			Outputs: []string{"IMAGE"},
		},
		"Unknown": {Class: "Unknown"},
	} {
		n := &graph.PlanNode{Class: class, Constants: node.Args{"file": "a"}, Links: map[string]graph.Link{"steps": {}}}
		require.Equal(t, want, activities.Need(classes, n), class)
	}
}
