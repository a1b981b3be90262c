package servers_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/eventlog"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/internal/sim/comfyui/classes"
	"github.com/millrace-dev/millrace/test/served"
)

func machine(t *testing.T, step time.Duration) *sim.Machine {
	t.Helper()
	m, err := sim.Start("127.0.0.1:0", sim.Options{Step: step})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// inTheFirstMoment calls a function, which begins a new job on a new server, until what must happen in the first second of the run does
// happen. A busy machine does not always do it in that time.
func inTheFirstMoment(t *testing.T, what string, happens func() bool) {
	t.Helper()
	for n := 0; !happens(); n++ {
		require.Less(t, n, 10, "it never happens that %s", what)
	}
}

// The activity that plans a run also runs a short segment and ends the run, in one transaction with the segment's
// result.
func TestShortSegmentEndsWithThePlanOfItsRun(t *testing.T) {
	t.Parallel()
	var m *sim.Machine
	var d *deployment
	inTheFirstMoment(t, "the segment ends with the plan", func() bool {
		m = machine(t, time.Millisecond)
		d = newDeployment(t, served.Text2Img(1, 2), m)
		return d.begin(d.worker("first"), activities.BeginParams{RunRef: d.ref, Execution: "x"}).Ended
	})
	var transactions int
	require.NoError(t, d.pool.QueryRow(t.Context(), `select count(distinct xmin::text) from events where type = any($1)`,
		[]string{job.TypeSucceeded, job.TypeSegmentEnded}).Scan(&transactions))
	require.Equal(t, 1, transactions)
	require.Equal(t, 1, d.count(job.TypeSucceeded))
	require.Equal(t, 1, d.count(job.TypeStarted))
	require.Len(t, m.Runs(), 1)
	all, err := d.store.Servers(t.Context())
	require.NoError(t, err)
	require.Empty(t, all[0].Leases)
}

// A longer segment is handed over to an activity of its own, which finds the prompt and ends the run.
func TestLongSegmentIsHandedOver(t *testing.T) {
	t.Parallel()
	m := machine(t, 20*time.Millisecond)
	d := newDeployment(t, served.Text2Img(1, 80), m)
	first, second := d.worker("first"), d.worker("second")
	plan := d.begin(first, activities.BeginParams{RunRef: d.ref, Execution: "x"})
	require.False(t, plan.Ended)
	require.Nil(t, plan.First)
	require.Equal(t, 1, d.count(job.TypeStarted), "the run has begun for whoever looks")

	res, err := d.drive(t.Context(), second, plan)
	require.NoError(t, err)
	require.True(t, res.Ended)
	require.Len(t, m.Runs(), 1, "the prompt ran once")
	require.Equal(t, 1, d.count(job.TypeSucceeded))
	require.Equal(t, 7, d.count(job.TypeNodeExecuted))
}

// A segment with a class of a node pack has one driver, which opens its socket before it sends the prompt: what such classes send over
// the socket, servers do not repeat.
func TestSegmentOfAPackHasOneDriver(t *testing.T) {
	t.Parallel()
	m, err := sim.Start("127.0.0.1:0", sim.Options{Step: time.Millisecond, Classes: classes.Popular()})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	packed := served.Text2Img(1, 2)
	packed["7"] = served.Node("easy imageChooser", map[string]any{"images": []any{"6", 0}})
	d := newDeployment(t, packed, m)
	g := d.worker("first")
	plan := d.begin(g, activities.BeginParams{RunRef: d.ref, Execution: "x"})
	require.False(t, plan.Ended)
	require.Nil(t, plan.First)
	require.Empty(t, m.Runs())

	res, err := d.drive(t.Context(), g, plan)
	require.NoError(t, err)
	require.True(t, res.Ended)
	require.Len(t, m.Runs(), 1)
}

// If a job is canceled while no driver runs its segment, its prompt does not stay on the server.
func TestPromptOfACanceledJobIsCanceledWithoutItsDriver(t *testing.T) {
	t.Parallel()
	var m *sim.Machine
	var d *deployment
	var g *activities.Graph
	inTheFirstMoment(t, "the prompt runs, and is handed over to a driver that does not come", func() bool {
		m = machine(t, 20*time.Millisecond)
		d = newDeployment(t, served.Text2Img(1, 3000), m)
		g = d.worker("first")
		require.False(t, d.begin(g, activities.BeginParams{RunRef: d.ref, Execution: "x"}).Ended)
		return len(m.Runs()) == 1
	})
	require.Equal(t, "running", m.Runs()[0].Outcome)
	_, err := g.Finish(t.Context(), activities.FinishParams{RunRef: d.ref, Outcome: activities.Canceled})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return m.Runs()[0].Outcome == "interrupted" }, patience, 10*time.Millisecond)
}

// A segment without a free server does not delay the plan of its run. The segment is in the queue.
func TestSegmentThatWaitsDoesNotHoldUpThePlan(t *testing.T) {
	t.Parallel()
	m := machine(t, time.Millisecond)
	d := newDeployment(t, served.Text2Img(1, 2), m)
	g := d.worker("first")
	all, err := d.store.Servers(t.Context())
	require.NoError(t, err)
	by := server.By{Actor: "ana", Reason: "a test"}
	require.NoError(t, d.store.Drain(t.Context(), all[0].ID, true, by))
	plan := d.begin(g, activities.BeginParams{RunRef: d.ref, Execution: "x"})
	require.False(t, plan.Ended)
	waiting, err := d.store.Waits(t.Context())
	require.NoError(t, err)
	require.Len(t, waiting, 1)
	require.Equal(t, d.ref.Job, waiting[0].Job)
	require.Empty(t, m.Runs())

	require.NoError(t, d.store.Drain(t.Context(), all[0].ID, false, by))
	res, err := d.drive(t.Context(), g, plan)
	require.NoError(t, err)
	require.True(t, res.Ended)
}

// A driver whose segment was taken over ends no run, and a driver that returns finds that the run has ended. The time
// on the server is charged once.
func TestRunIsChargedOnceWhoeverEndsIt(t *testing.T) {
	t.Parallel()
	m := machine(t, 20*time.Millisecond)
	d := newDeployment(t, served.Text2Img(1, 300), m) // six seconds, within which the second driver takes over
	first, second := d.worker("first"), d.worker("second")
	plan := d.plan(first)
	require.Equal(t, plan.PlanHash, d.plan(second).PlanHash)
	lost := make(chan error, 1)
	go func() {
		_, err := d.drive(t.Context(), first, plan)
		lost <- err
	}()
	require.Eventually(t, func() bool { return running(m) }, patience, 10*time.Millisecond)
	for range 2 { // the second call is that of an activity whose answer was lost
		res, err := d.drive(t.Context(), second, plan)
		require.NoError(t, err)
		require.True(t, res.Ended)
	}
	require.Error(t, <-lost)
	_, err := d.drive(t.Context(), first, plan)
	require.NoError(t, err)

	require.Equal(t, 1, d.count(job.TypeSucceeded))
	require.Equal(t, 1, d.count(job.TypeSegmentEnded))
	var paid int64
	for _, e := range d.events() {
		data, err := d.log.Decode(e)
		require.NoError(t, err)
		if ended, ok := data.(job.SegmentEndedV1); ok {
			paid = ended.Cost(aSecond)
		}
	}
	require.Greater(t, paid, int64(aSecond), "the prompt takes longer than a second")
	b, err := d.credits.Balance(t.Context(), d.ref.Account)
	require.NoError(t, err)
	require.Equal(t, paid, b.Settled)
	require.Zero(t, b.Held)
}

// A segment that fails in its first moment is left to the following activity, which counts its failures: memory is
// freed once, and then the job fails.
func TestFailureInTheFirstMomentIsCountedOnce(t *testing.T) {
	t.Parallel()
	m := machine(t, time.Millisecond)
	m.Inject(sim.OutOfMemory, 2)
	d := newDeployment(t, served.Text2Img(1, 2), m)
	g := d.worker("first")
	plan := d.begin(g, activities.BeginParams{RunRef: d.ref, Execution: "x"})
	require.False(t, plan.Ended)
	require.Nil(t, plan.First)
	res, err := d.drive(t.Context(), g, plan)
	require.NoError(t, err)
	require.Equal(t, "5", res.Failed)
	require.Len(t, m.Runs(), 2)
}

// overtaken is a store before whose first record of a segment the cancellation of the job is recorded.
type overtaken struct {
	placement.Store
	once   sync.Once
	cancel func()
}

// Record implements placement.Store.
func (o *overtaken) Record(ctx context.Context, l server.Lease, a eventlog.Append, result json.RawMessage) ([]eventlog.Recorded, error) {
	o.once.Do(o.cancel)
	return o.Store.Record(ctx, l, a, result)
}

// A job that is canceled after its prompt was sent, and before anything of its run was recorded, has begun: clients see its start
// and its interruption.
func TestJobCanceledInItsFirstMomentHasBegun(t *testing.T) {
	t.Parallel()
	var m *sim.Machine
	var d *deployment
	var g *activities.Graph
	inTheFirstMoment(t, "something of the run is recorded", func() bool {
		m = machine(t, 20*time.Millisecond)
		begun := newDeployment(t, served.Text2Img(1, 3000), m)
		begun.leases = func(s placement.Store) placement.Store { return &overtaken{Store: s, cancel: begun.cancel} }
		d, g = begun, begun.worker("first")
		g.Graphs = d.handedOver()
		plan := d.begin(g, activities.BeginParams{RunRef: d.ref, Execution: "x"})
		require.False(t, plan.Skip || plan.Ended)
		return d.count(job.TypeCancelRequested) == 1
	})
	require.Equal(t, 1, d.count(job.TypeStarted))
	_, err := g.Finish(t.Context(), activities.FinishParams{RunRef: d.ref, Outcome: activities.Canceled})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return m.Runs()[0].Outcome == "interrupted" }, patience, 10*time.Millisecond)
	state, err := eventlog.Fold(d.types, eventlog.Read(t.Context(), d.log, d.ref.Job.Stream(), 0), job.Job{}, job.Fold)
	require.NoError(t, err)
	require.Equal(t, job.Canceled, state.State)
	require.NotNil(t, state.StartedAt, "so that the socket gets execution_start and execution_interrupted")
}

// cancel records that the cancellation of the job was requested.
func (d *deployment) cancel() {
	_, err := d.log.Append(d.t.Context(), eventlog.Append{
		Stream: d.ref.Job.Stream(), Account: d.ref.Account, Expected: eventlog.AnyVersion, Events: []eventlog.Event{{
			ID: job.EventID(d.ref.Job, 1, "", 0, job.TypeCancelRequested), Type: job.TypeCancelRequested, Data: job.CancelRequestedV1{Run: 1},
		}},
	})
	if err != nil {
		d.t.Error(err)
	}
}

// handedOver returns the job as the process has it that accepted it.
func (d *deployment) handedOver() *job.Handover {
	d.t.Helper()
	var submitted job.SubmittedV1
	fold := func(state job.Job, rec eventlog.Recorded, data any) job.Job {
		if e, ok := data.(job.SubmittedV1); ok {
			submitted = e
		}
		return job.Fold(state, rec, data)
	}
	state, err := eventlog.Fold(d.types, eventlog.Read(d.t.Context(), d.log, d.ref.Job.Stream(), 0), job.Job{}, fold)
	require.NoError(d.t, err)
	var source job.Source
	require.NoError(d.t, json.Unmarshal([]byte(submitted.Document.Inline), &source))
	parsed, err := graph.Parse(source.Prompt, graph.Limits{})
	require.NoError(d.t, err)
	all := graph.NewHandover[job.Fresh]()
	all.Put(string(d.ref.Job), parsed, job.Fresh{Job: state, Document: submitted.Document, At: time.Now()})
	return all
}
