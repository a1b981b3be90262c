package activities_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/engine/graph"
)

// drive runs a plan to its end, or until a node fails, as the workflow does; run runs a batch.
func (b *bench) drive(t *testing.T, plan activities.BeginResult,
	run func(*testing.T, activities.RunParams) activities.RunResult,
) (sched *graph.Scheduler, batches int, failed string) {
	t.Helper()
	values := map[int][]string{}
	sched = graph.NewScheduler(plan.Shape)
	for next := sched.Next(); len(next) > 0 && failed == ""; next = sched.Next() {
		res := run(t, b.params(sched, next[0], plan.PlanHash, values))
		for _, u := range res.Units {
			if len(u.Values) > 0 {
				values[u.Unit] = u.Values
			}
		}
		failed = res.Failed
		sched.Done(next[0].ID, res.Units)
		batches++
	}
	return sched, batches, failed
}

// once runs a batch.
func (b *bench) once(t *testing.T, params activities.RunParams) activities.RunResult {
	t.Helper()
	res, err := b.batch(t, params)
	require.NoError(t, err)
	return res
}

// twice runs a batch again, as after a worker that was lost before it could say what it did.
func (b *bench) twice(t *testing.T, params activities.RunParams) activities.RunResult {
	t.Helper()
	first, again := b.once(t, params), b.once(t, params)
	require.Equal(t, b.untimed(t, first), b.untimed(t, again), "another attempt comes to the same")
	return again
}

// whole runs a job, every batch of it twice.
func (b *bench) whole(t *testing.T) (sched *graph.Scheduler, failed string) {
	t.Helper()
	sched, _, failed = b.drive(t, b.begin(t), b.twice)
	return sched, failed
}

// outcome is what a batch came to, but for how long its nodes took.
type outcome struct {
	activities.RunResult
	expansions []map[string]any // as they were stored
}

func (b *bench) untimed(t *testing.T, res activities.RunResult) outcome {
	t.Helper()
	out := outcome{RunResult: res}
	out.Units = slices.Clone(res.Units)
	for i, u := range out.Units {
		if u.Expansion == nil {
			continue
		}
		raw, err := b.activities.Values.Doc(t.Context(), u.Expansion.Refs[0])
		require.NoError(t, err)
		var doc map[string]any
		require.NoError(t, json.Unmarshal(raw, &doc))
		delete(doc, "millis")
		out.expansions = append(out.expansions, doc)
		shape := *u.Expansion
		shape.Refs, out.Units[i].Expansion = shape.Refs[1:], &shape
	}
	return out
}

func (b *bench) params(sched *graph.Scheduler, next graph.Batch, hash string, values map[int][]string) activities.RunParams {
	p := activities.RunParams{RunRef: b.ref, PlanHash: hash, Units: next.Units, Keep: next.Keep}
	for _, unit := range next.Needs {
		p.Inputs = append(p.Inputs, activities.Input{Unit: unit, Values: values[unit]})
	}
	for _, g := range sched.Expansions() {
		p.Expansions = append(p.Expansions, activities.Expansion{Unit: g.Unit, Ref: g.Refs[0], Size: len(g.Units)})
	}
	return p
}

func (b *bench) batch(t *testing.T, params activities.RunParams) (activities.RunResult, error) {
	t.Helper()
	env := environment(t.Context())
	env.RegisterActivity(b.activities.RunCheap)
	value, err := env.ExecuteActivity(b.activities.RunCheap, params)
	if err != nil {
		return activities.RunResult{}, err
	}
	var res activities.RunResult
	return res, value.Get(&res)
}
