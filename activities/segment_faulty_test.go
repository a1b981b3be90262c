package activities_test

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault/faulttest"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// failingRows are rows whose calls may fail, but for those that only keep the waits of a process alive.
type failingRows struct {
	placement.Store
	*faulttest.Calls
}

func (f failingRows) Place(ctx context.Context, r server.Round, decide server.Decide) (made []server.Lease, mine bool, err error) {
	made, err = faulttest.Try(f.Calls, "place", func() (l []server.Lease, err error) {
		l, mine, err = f.Store.Place(ctx, r, decide)
		return l, err
	})
	return made, mine && err == nil, err
}

func (f failingRows) Retake(ctx context.Context, k server.Key, holder string) (server.Lease, error) {
	return faulttest.Try(f.Calls, "retake", func() (server.Lease, error) { return f.Store.Retake(ctx, k, holder) })
}

func (f failingRows) Record(
	ctx context.Context, l server.Lease, a eventlog.Append, result json.RawMessage,
) ([]eventlog.Recorded, error) {
	return faulttest.Try(f.Calls, "record", func() ([]eventlog.Recorded, error) { return f.Store.Record(ctx, l, a, result) })
}

func (f failingRows) Drop(ctx context.Context, l server.Lease) error {
	return f.Do("drop", func() error { return f.Store.Drop(ctx, l) })
}

func (f failingRows) Orphan(ctx context.Context, l server.Lease) error {
	return f.Do("orphan", func() error { return f.Store.Orphan(ctx, l) })
}

func (f failingRows) MarkAway(ctx context.Context, id server.ID, problem string) error {
	return f.Do("mark away", func() error { return f.Store.MarkAway(ctx, id, problem) })
}

func (f failingRows) RecordOutcome(ctx context.Context, id server.ID, o server.Outcome) error {
	return f.Do("record outcome", func() error { return f.Store.RecordOutcome(ctx, id, o) })
}

func (f failingRows) Loaded(ctx context.Context, id server.ID, models []string, took time.Duration) error {
	return f.Do("loaded", func() error { return f.Store.Loaded(ctx, id, models, took) })
}

// again executes an activity, and again if a store failed, each time in a worker that has just started.
func again[P, R any](f *farm, activity func(*activities.Graph) func(context.Context, P) (R, error), params P) R {
	f.t.Helper()
	for {
		f.activities.Deps.Values = nodevalue.New(f.activities.Sources.Blobs, 1<<20, 1<<20, time.Minute)
		f.worker(failingRows{f.rows, f.calls})
		res, err := execute(f.t.Context(), f, activity(f.activities), params)
		if err == nil {
			return res
		}
		require.True(f.t, f.repeats(), "%v", err)
		retried(f.t, err)
	}
}

// Whichever call of a store fails while a segment runs, before or after it has done its work: the activity is repeated by another
// worker, the servers run each prompt once, and the job records the same.
func TestEachCallOfAStoreMayFailWhileASegmentRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		inject map[sim.Fault]int // of the first server
		runs   []int
	}{
		"it succeeds":              {nil, []int{1, 0}},
		"it has too little memory": {map[sim.Fault]int{sim.OutOfMemory: 1}, []int{2, 0}},
		"a node fails":             {map[sim.Fault]int{sim.Raise: 1}, []int{1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(calls *faulttest.Calls) ([]string, []int) {
				f := newFarm(t, text2img(2), []string{"7"}, nil, sim.Options{}, sim.Options{})
				for fault, times := range c.inject {
					f.machines[0].Inject(fault, times)
				}
				f.fails(calls, runEnds{f.rows})
				plan := again(f, func(g *activities.Graph) func(context.Context, activities.BeginParams) (activities.BeginResult, error) {
					return g.Begin
				}, activities.BeginParams{RunRef: f.ref, Execution: "x"})
				res, ended := activities.RunResult{}, plan.Ended
				if !plan.Ended && !plan.Skip {
					res = again(f, func(g *activities.Graph) func(context.Context, activities.RunParams) (activities.RunResult, error) {
						return g.RunSegment
					}, activities.RunParams{RunRef: f.ref, PlanHash: plan.PlanHash, Units: []int{0}, Last: true})
					ended = res.Ended
				}
				if !ended && !plan.Skip {
					require.NotEmpty(t, res.Failed)
					end := again(f, func(g *activities.Graph) func(context.Context, activities.FinishParams) (activities.FinishResult, error) {
						return g.Finish
					}, activities.FinishParams{RunRef: f.ref, Outcome: activities.Failed, Node: res.Failed})
					require.Equal(t, activities.Failed, end.Outcome)
				}
				_, waiting, running, _ := f.rows.state()
				require.Equal(t, []int{0, 0}, []int{waiting, running})
				return comparable(f.history()), f.runs()
			}
			want, runs := run(&faulttest.Calls{})
			require.Equal(t, c.runs, runs)
			failed := 0
			for calls := range faulttest.Each {
				got, runs := run(calls)
				require.Equal(t, want, got, "call %d, after %t", calls.Fail, calls.After)
				require.Equal(t, c.runs, runs, "call %d, after %t", calls.Fail, calls.After)
				if calls.Failed() {
					failed++
				}
			}
			require.GreaterOrEqual(t, failed, 20) // 20 to 24 if it succeeds, as often as progress is recorded
		})
	}
}

var reasons = regexp.MustCompile(`"reason":"[^"]*",`)

// comparable are the events of a job without those that depend on how fast its driver learned of them, in an order of their own: drivers
// that replace each other record them in groups.
func comparable(history []string) []string {
	succeeded := strings.HasPrefix(history[len(history)-1], "succeeded")
	var out []string
	for _, line := range history {
		switch kind, _, _ := strings.Cut(line, " "); kind {
		case "segment_waiting.v1", "node.started.v1":
		case "nodes_cached.v1":
			if !strings.Contains(line, `"more":true`) {
				out = append(out, line)
			}
		case "node.executed.v1":
			if succeeded {
				out = append(out, strings.Replace(line, `"cached":true,`, "", 1))
			}
		default: // a driver that replaces another does not know why the segment is placed again
			out = append(out, reasons.ReplaceAllString(line, ""))
		}
	}
	slices.Sort(out)
	return out
}
