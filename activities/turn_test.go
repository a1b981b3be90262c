package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// long runs a batch as one of expensive nodes.
func (b *bench) long(t *testing.T, params activities.RunParams) activities.RunResult {
	t.Helper()
	env := environment(t.Context())
	env.RegisterActivity(b.activities.RunLong)
	value, err := env.ExecuteActivity(b.activities.RunLong, params)
	require.NoError(t, err)
	var res activities.RunResult
	require.NoError(t, value.Get(&res))
	return res
}

func TestLongBatchYieldsToWaitingBatches(t *testing.T) {
	t.Parallel()
	class := &node.Class{
		Name: "Long", Module: "nodes", OutputNode: true, Inputs: []node.Input{{Name: "in", Type: node.Int, Section: node.Optional}},
		Outputs: []node.Output{{Type: node.Int}}, Cost: func(node.Args, int64) time.Duration { return 10 * time.Second },
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			before, _ := call.Args["in"].(int64)
			return node.Result{Outputs: []node.Value{before + 1}}, nil
		},
	}
	for name, c := range map[string]struct {
		waiting func(context.Context, string) (bool, error)
		batches int
	}{
		"others wait":     {func(context.Context, string) (bool, error) { return true, nil }, 3},
		"nothing waits":   {func(context.Context, string) (bool, error) { return false, nil }, 1},
		"it is not known": {func(context.Context, string) (bool, error) { return false, errors.New("away") }, 3},
		"nobody says":     {nil, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, `{"1":{"class_type":"Long","inputs":{}},"2":{"class_type":"Long","inputs":{"in":["1",0]}},
				"3":{"class_type":"Long","inputs":{"in":["2",0]}}}`, []string{"3"}, class)
			b.activities.Turn, b.activities.Waiting = -time.Second, c.waiting
			sched, batches, failed := b.drive(t, b.begin(t), b.long)
			require.Empty(t, failed)
			require.True(t, sched.Finished())
			require.Equal(t, c.batches, batches)
			require.Equal(t, []string{"started 1", "executed 1", "started 2", "executed 2", "started 3", "executed 3"}, b.events(t))
		})
	}
}
