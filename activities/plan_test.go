package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
)

// A graph that this process accepted is not parsed again for its run, and its plan is the one that any other process makes.
func TestPlanOfAnAcceptedGraphParsesNothing(t *testing.T) {
	t.Parallel()
	class, _ := waiting()
	b := newBench(t, waitPrompt, []string{"1"}, class)
	elsewhere := newBench(t, waitPrompt, []string{"1"}, class).begin(t)

	g, err := graph.Parse(json.RawMessage(waitPrompt), graph.Limits{})
	require.NoError(t, err)
	b.activities.Graphs = graph.NewHandover[job.Fresh]()
	b.activities.Limits = graph.Limits{MaxBytes: 1} // nothing can be parsed
	env := environment(t.Context())
	env.RegisterActivity(b.activities.Begin)
	_, err = env.ExecuteActivity(b.activities.Begin, activities.BeginParams{RunRef: b.ref, Execution: "x", Replan: true})
	require.ErrorContains(t, err, "larger than 1 bytes")

	b.activities.Graphs.Put(string(b.ref.Job), g, job.Fresh{})
	require.Equal(t, elsewhere, b.begin(t))
}

// Workers that planned a job with different servers agree when they plan it again.
func TestAPlanOfOtherServersIsMadeAgain(t *testing.T) {
	t.Parallel()
	class, begun := waiting()
	b := newBench(t, waitPrompt, []string{"1"}, class)
	plan := b.begin(t)
	b.activities.PlanOtherwise(b.ref.Job)
	require.Equal(t, plan, b.begin(t), "planned again")

	b.activities.PlanOtherwise(b.ref.Job)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		<-begun
		stop()
	}()
	_, err := b.run(ctx, plan, 0)
	require.NotContains(t, fmt.Sprint(err), attempt.ErrPlanChanged)
	require.Error(t, ctx.Err(), "the node ran")
}
