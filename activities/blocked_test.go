package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// kept is a cache that notes the classes whose results it is given.
type kept struct {
	nodecache.Store
	classes []string
}

func (k *kept) Find(context.Context, string, []nodecache.Key, time.Duration) ([]nodecache.Entry, error) {
	return nil, nil
}

func (k *kept) Save(_ context.Context, _ string, entries []nodecache.Entry) error {
	for _, e := range entries {
		k.classes = append(k.classes, e.Class)
	}
	return nil
}

// gated are classes of which Gate closes the way to whatever reads its first output.
func gated(message string) []*node.Class {
	text := []node.Output{{Type: node.String}}
	in := []node.Input{{Name: "in", Type: node.String}}
	show := func(_ context.Context, call *node.Call) (node.Result, error) {
		return node.Result{Outputs: []node.Value{call.Args["in"]}, UI: map[string][]any{"text": {call.Args["in"]}}}, nil
	}
	cost := func(node.Args, int64) time.Duration { return time.Millisecond } // so that the store is asked for its results
	return []*node.Class{
		{
			Name: "Gate", Module: "nodes", Outputs: append(text, text...),
			Run: func(context.Context, *node.Call) (node.Result, error) {
				return node.Result{Outputs: []node.Value{node.Blocker{Message: message}, "open"}}, nil
			},
		},
		{Name: "Between", Module: "nodes", Inputs: in, Outputs: text, Cost: cost, Run: show},
		{Name: "Show", Module: "nodes", Inputs: in, Outputs: text, OutputNode: true, Cost: cost, Run: show},
	}
}

const gatedPrompt = `{"1":{"class_type":"Gate","inputs":{}},"2":{"class_type":"Between","inputs":{"in":["1",0]}},
	"3":{"class_type":"Show","inputs":{"in":["2",0]}},"4":{"class_type":"Show","inputs":{"in":["1",1]}}}`

// executed are the recorded events of finished nodes, by node.
func (b *bench) executed(t *testing.T) map[string]job.NodeExecutedV1 {
	t.Helper()
	recorded, err := b.log.ReadStream(t.Context(), b.ref.Job.Stream(), 0, 1000)
	require.NoError(t, err)
	out := map[string]job.NodeExecutedV1{}
	for _, rec := range recorded {
		data, err := b.log.Decode(rec)
		require.NoError(t, err)
		if e, ok := data.(job.NodeExecutedV1); ok {
			out[e.Node] = e
		}
		_, failed := data.(job.NodeFailedV1)
		require.False(t, failed, "what is blocked has not failed")
	}
	return out
}

// Blockers travel in memory within a batch and as stored values between batches.
func TestNodesThatReadABlockerDoNotRun(t *testing.T) {
	t.Parallel()
	long := "this message is longer than what a workflow's history takes: "
	for len(long) < 400 {
		long += "and longer, "
	}
	for name, c := range map[string]struct {
		message string
		fused   time.Duration
		batches int
	}{
		"with a message, in one batch":           {"no face found", time.Minute, 1},
		"with a message, each node a batch":      {"no face found", -time.Second, 4},
		"with a long message, each node a batch": {long, -time.Second, 4},
		"silent, in one batch":                   {"", time.Minute, 1},
		"silent, each node a batch of its own":   {"", -time.Second, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, gatedPrompt, []string{"3", "4"}, gated(c.message)...)
			cache := &kept{}
			b.activities.Cache = &nodecache.Cache{Store: cache, Bytes: 1 << 20, Age: time.Hour}
			b.activities.FusedFor = c.fused
			sched, batches, failed := b.drive(t, b.begin(t), b.once)
			require.Empty(t, failed)
			require.True(t, sched.Finished())
			require.Equal(t, c.batches, batches)
			events := b.executed(t)
			require.Len(t, events, 4)
			require.Empty(t, events["1"].Blocked)
			require.Equal(t, c.message, events["2"].Blocked, "the first that reads the blocker tells")
			require.Empty(t, events["3"].Blocked, "the second is silent")
			require.Empty(t, events["3"].UI)
			require.JSONEq(t, `{"text":["open"]}`, string(events["4"].UI))
			require.Equal(t, []string{"Show"}, cache.classes, "what a blocker had a part in is kept for nobody")
		})
	}
}
