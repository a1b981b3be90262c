package activities_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// A short text that many nodes show is a long one to every view and every poll of the job.
func TestUIOutputsOfAJobAreBounded(t *testing.T) {
	t.Parallel()
	shows := func(size int) *node.Class {
		return &node.Class{
			Name: "Show", Module: "nodes", OutputNode: true,
			Run: func(context.Context, *node.Call) (node.Result, error) {
				return node.Result{UI: map[string][]any{"text": {strings.Repeat("x", size)}}}, nil
			},
		}
	}
	for name, c := range map[string]struct{ nodes, size, executed int }{
		"one that is too much by itself": {1, 5 << 20, 0},
		"all together":                   {12, 1 << 20, 7},
		"what fits":                      {5, 1 << 20, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var prompt []string
			var targets []string
			var units []int
			for i := range c.nodes {
				id := fmt.Sprint(i + 1)
				prompt, targets, units = append(prompt, fmt.Sprintf(`%q:{"class_type":"Show","inputs":{}}`, id)), append(targets, id), append(units, i)
			}
			b := newBench(t, "{"+strings.Join(prompt, ",")+"}", targets, shows(c.size))
			plan := b.begin(t)
			res, err := b.run(t.Context(), plan, units...)
			require.NoError(t, err)
			again, err := b.run(t.Context(), plan, units...)
			require.NoError(t, err)
			require.Equal(t, res, again, "another attempt counts nothing twice")
			done := 0
			for _, u := range res.Units {
				if u.Status == graph.Done {
					done++
				}
			}
			require.Equal(t, c.executed, done)
			if c.executed == c.nodes {
				require.Empty(t, res.Failed)
				return
			}
			failure := b.failure(t)
			require.Equal(t, res.Failed, failure.Node)
			require.Contains(t, failure.Message, "its texts and file names, ha")
		})
	}
}

// A node whose UI output cannot be encoded has failed: its result would lack what it shows.
func TestANodeWhoseUIOutputCannotBeEncodedFails(t *testing.T) {
	t.Parallel()
	class := shows("x")
	class.Run = func(context.Context, *node.Call) (node.Result, error) {
		return node.Result{UI: map[string][]any{"value": {math.NaN()}}}, nil
	}
	b := newBench(t, showPrompt, []string{"1"}, class)
	res := b.once(t, activities.RunParams{RunRef: b.ref, PlanHash: b.begin(t).PlanHash, Units: []int{0}})
	require.Equal(t, "1", res.Failed)
	require.Equal(t, []graph.UnitResult{{Unit: 0, Status: graph.Failed}}, res.Units)
	require.Equal(t, "ServiceError", b.lastFailure(t).Failure.ExceptionType)
}

// failure is the recorded failure of a node.
func (b *bench) failure(t *testing.T) (failure job.Failure) {
	t.Helper()
	recorded, err := b.log.ReadStream(t.Context(), b.ref.Job.Stream(), 0, 1000)
	require.NoError(t, err)
	for _, rec := range recorded {
		data, err := b.log.Decode(rec)
		require.NoError(t, err)
		if e, ok := data.(job.NodeFailedV1); ok {
			failure = e.Failure
		}
	}
	return failure
}
