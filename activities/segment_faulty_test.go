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
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// failingRows are rows whose calls may fail, but for those that only keep the waits of a process alive.
type failingRows struct {
	placement.Store
	*unsteady
}

func (f failingRows) Place(ctx context.Context, r server.Round, decide server.Decide) (made []server.Lease, mine bool, err error) {
	made, err = try(f.unsteady, func() (l []server.Lease, err error) {
		l, mine, err = f.Store.Place(ctx, r, decide)
		return l, err
	})
	return made, mine && err == nil, err
}

func (f failingRows) Retake(ctx context.Context, k server.Key, holder string) (server.Lease, error) {
	return try(f.unsteady, func() (server.Lease, error) { return f.Store.Retake(ctx, k, holder) })
}

func (f failingRows) Record(
	ctx context.Context, l server.Lease, a eventlog.Append, result json.RawMessage,
) ([]eventlog.Recorded, error) {
	return try(f.unsteady, func() ([]eventlog.Recorded, error) { return f.Store.Record(ctx, l, a, result) })
}

// only calls a function that returns nothing but an error.
func only(f *unsteady, call func() error) error {
	_, err := try(f, func() (any, error) { return nil, call() })
	return err
}

func (f failingRows) Drop(ctx context.Context, l server.Lease) error {
	return only(f.unsteady, func() error { return f.Store.Drop(ctx, l) })
}

func (f failingRows) Orphan(ctx context.Context, l server.Lease) error {
	return only(f.unsteady, func() error { return f.Store.Orphan(ctx, l) })
}

func (f failingRows) MarkAway(ctx context.Context, id server.ID, problem string) error {
	return only(f.unsteady, func() error { return f.Store.MarkAway(ctx, id, problem) })
}

func (f failingRows) RecordOutcome(ctx context.Context, id server.ID, o server.Outcome) error {
	return only(f.unsteady, func() error { return f.Store.RecordOutcome(ctx, id, o) })
}

func (f failingRows) Loaded(ctx context.Context, id server.ID, models []string, took time.Duration) error {
	return only(f.unsteady, func() error { return f.Store.Loaded(ctx, id, models, took) })
}

// failingEnds ends jobs.
type failingEnds struct {
	runEnds
	noLimits
	*unsteady
}

func (f failingEnds) End(ctx context.Context, e job.Ending) (job.Ended, error) {
	return try(f.unsteady, func() (job.Ended, error) { return f.runEnds.End(ctx, e) })
}

func (f failingEnds) Bounds(ctx context.Context, account string) (job.Bounds, error) {
	return try(f.unsteady, func() (job.Bounds, error) { return f.noLimits.Bounds(ctx, account) })
}

// failsOn has the stores of a farm fail.
func (f *farm) failsOn(u *unsteady) {
	deps := &f.activities.Deps
	log, blobs := failingLog{f.log, u}, failingBlobs{deps.Sources.Blobs, u}
	ends := failingEnds{runEnds: runEnds{f.rows}, unsteady: u}
	deps.Events, deps.Sources.Events, deps.Sources.Blobs, deps.Jobs, deps.Tiers = log, log, blobs, ends, ends
	deps.Cache = &nodecache.Cache{Store: failingShelf{&shelf{entries: map[nodecache.Key]nodecache.Entry{}}, u}}
	f.unsteady = u
}

// again executes an activity, and again if a store failed, each time in a worker that has just started.
func again[P, R any](f *farm, activity func(*activities.Graph) func(context.Context, P) (R, error), params P) R {
	f.t.Helper()
	for {
		f.activities.Deps.Values = nodevalue.New(f.activities.Sources.Blobs, 1<<20, 1<<20, time.Minute)
		f.worker(failingRows{f.rows, f.unsteady})
		res, err := execute(f.t.Context(), f, activity(f.activities), params)
		if err == nil {
			return res
		}
		require.True(f.t, f.unsteady.repeats(), "%v", err)
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
			run := func(u *unsteady) ([]string, []int, bool) {
				f := newFarm(t, text2img(2), []string{"7"}, nil, sim.Options{}, sim.Options{})
				for fault, times := range c.inject {
					f.machines[0].Inject(fault, times)
				}
				f.failsOn(u)
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
				return comparable(f.history()), f.runs(), u.steady()
			}
			want, runs, _ := run(&unsteady{})
			require.Equal(t, c.runs, runs)
			calls := 0
			for _, after := range []bool{false, true} {
				for n := 1; ; n++ {
					got, runs, beyond := run(&unsteady{left: n, after: after})
					require.Equal(t, want, got, "call %d, after %t", n, after)
					require.Equal(t, c.runs, runs, "call %d, after %t", n, after)
					if beyond {
						break
					}
					calls++
				}
			}
			require.Greater(t, calls, 20)
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
