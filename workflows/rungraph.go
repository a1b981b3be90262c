package workflows

import (
	"cmp"
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
)

// RunGraphName is the registered name of RunGraph.
const RunGraphName = "RunGraph"

// RunGraphParams identifies the run. Resumed is set when a long run continues as a new execution.
type RunGraphParams struct {
	job.RunRef
	Resumed *Resumption `json:",omitempty"`
}

// Resumption is the state that one execution of a long run passes to the next.
type Resumption struct {
	Plan      activities.BeginResult
	Scheduler graph.State
	Values    map[int][]string // stored values by unit
	Seen      int64            `json:",omitempty"`
}

// RunGraph runs one job: it plans the run, runs the nodes as their inputs become ready, and finishes the job. The
// workflow ends like the job: completed, canceled, or failed with an error that names the node and its error type.
func RunGraph(ctx workflow.Context, p RunGraphParams) error {
	r := &graphRun{ref: p.RunRef, values: map[int][]string{}}
	if p.Resumed != nil {
		r.resume(p.Resumed)
	} else {
		r.begin(ctx, false)
	}
	if r.plan.Skip {
		return nil
	}
	if r.plan.Ended {
		return r.agree()
	}
	for {
		outcome, err := r.run(ctx)
		if err != nil {
			return err // continue-as-new, or an engine error
		}
		if r.plan.Ended { // the end was recorded with the last segment
			return r.describe(ctx, activities.FinishResult{Outcome: activities.Succeeded})
		}
		end, err := r.finish(ctx, outcome)
		if err == nil {
			if err := r.describe(ctx, end); err != nil {
				return err
			}
			return closing(end)
		}
		if !planIsStale(err) {
			return err
		}
		r.stale = true // the log has lost events of the run
	}
}

// errDisagree fails the replay of a run whose recorded nodes do not finish the graph according to this scheduler.
var errDisagree = errors.New("the first activity ended the run, and the scheduler has nodes left")

// agree compares the scheduler with a run that the first activity ended. The activity recorded which units ran and
// how they ended, so a replay proves that this version schedules them in the same way.
func (r *graphRun) agree() error {
	if r.sched.Finished() {
		return nil
	}
	return errDisagree
}

// planIsStale reports whether an error means that the run must be planned again.
func planIsStale(err error) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.Type() == attempt.ErrPlanChanged
}

// graphRun is the state of one execution.
type graphRun struct {
	ref    job.RunRef
	plan   activities.BeginResult
	sched  *graph.Scheduler
	values map[int][]string // references of stored values, by unit and slot
	stored []string         // the same references in order of arrival; they are deleted at the end

	inFlight int
	failed   *string // node whose failure ends the run
	failure  *job.Failure
	stopped  bool // the user's cancellation is in the log, possibly before the signal arrives
	replans  int
	stale    bool // the binary that runs the activities plans the graph differently
	at       *job.NodeRef
	server   string // server that ran the last segment
	seen     int64  // version of the job's stream after the latest batch
}

// begin plans the run. If the run cannot run, begin records the reason in the state.
func (r *graphRun) begin(ctx workflow.Context, replan bool) {
	var a *activities.Graph
	params := activities.BeginParams{
		RunRef: r.ref, Replan: replan, Execution: workflow.GetInfo(ctx).FirstRunID,
	}
	var plan activities.BeginResult
	err := runBookkeeping(ctx, a.Begin, params, &plan)
	switch {
	case temporal.IsCanceledError(err) || err == nil && plan.Canceled:
		r.stopped = true
		return
	case err != nil:
		r.fail(ctx, "the run could not be planned", err)
		return
	}
	if replan && plan.Skip {
		r.stopped = true // the job has ended already; finishing it again changes nothing
		return
	}
	r.plan, r.stale, r.seen = plan, false, 0
	r.sched = plan.Scheduler()
	for _, s := range plan.Cached {
		r.values[s.Unit] = s.Values
	}
	r.plan.Cached = nil
	if plan.First != nil {
		for _, b := range r.sched.Next() { // the one batch that Begin ran
			r.finishBatch(ctx, b, plan.First, nil)
		}
		r.plan.First = nil
	}
}

func (r *graphRun) resume(from *Resumption) {
	r.plan, r.values, r.seen = from.Plan, from.Values, from.Seen
	r.sched = graph.RestoreScheduler(from.Plan.Shape, from.Scheduler)
	for unit := range r.sched.Size() {
		r.stored = append(r.stored, r.values[unit]...)
	}
	for _, g := range r.sched.Expansions() {
		r.stored = append(r.stored, g.Refs...)
	}
}

// run dispatches batches until none is left, one fails, or the user cancels.
func (r *graphRun) run(ctx workflow.Context) (activities.Outcome, error) {
	batches, stop := workflow.WithCancel(ctx)
	defer stop()
	outputs, stopOutputs := workflow.WithCancel(ctx)
	defer stopOutputs()
	selector := workflow.NewSelector(ctx)
	for {
		if r.stale && r.inFlight == 0 && !r.over(ctx) {
			// The binary that runs now plans the graph again from the start. Events keep their ids, so recorded
			// events are not appended twice.
			r.replan(ctx)
		}
		if !r.over(ctx) && !r.stale && !workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			for _, b := range r.sched.Next() {
				within := batches
				if r.sched.SavesOutputs(b) {
					within = outputs
				}
				r.dispatch(within, selector, b)
			}
		}
		if r.inFlight == 0 {
			return r.outcome(ctx)
		}
		selector.Select(ctx)
		if r.over(ctx) {
			stop() // the siblings of a failed node, or everything after a cancellation
			if !r.savesAfterFailure(ctx) {
				stopOutputs()
			}
		}
	}
}

// savesAfterFailure reports whether outputs that were ready when a node failed are still saved. If nodes ran one by
// one they would have been saved, because an output runs before other ready nodes.
func (r *graphRun) savesAfterFailure(ctx workflow.Context) bool {
	return r.failed != nil && r.failure == nil && !r.stopped && ctx.Err() == nil
}

// maxReplanWait bounds the wait before a run is planned again.
const maxReplanWait = 30 * time.Second

// replan plans the run again: at once the first time, then after increasing waits. In a slow deployment, two versions
// of the program may alternate, and a run would otherwise be planned again without pause.
func (r *graphRun) replan(ctx workflow.Context) {
	if r.replans > 0 {
		wait := min(time.Second<<min(r.replans-1, 10), maxReplanWait)
		if workflow.Sleep(ctx, wait) != nil {
			r.stopped = true // the job was canceled meanwhile
			return
		}
	}
	r.replans++
	r.begin(ctx, true)
}

// over reports whether the outcome of the run is decided.
func (r *graphRun) over(ctx workflow.Context) bool {
	return r.failed != nil || r.failure != nil || r.stopped || ctx.Err() != nil
}

func (r *graphRun) outcome(ctx workflow.Context) (activities.Outcome, error) {
	switch {
	case ctx.Err() != nil || r.stopped:
		return activities.Canceled, nil //nolint:nilerr // an outcome of the run, not of the workflow
	case r.failed != nil || r.failure != nil:
		return activities.Failed, nil
	case r.sched.Finished():
		return activities.Succeeded, nil
	case workflow.GetInfo(ctx).GetContinueAsNewSuggested():
		return "", workflow.NewContinueAsNewError(ctx, RunGraphName, RunGraphParams{
			RunRef:  r.ref,
			Resumed: &Resumption{Plan: r.plan, Scheduler: r.sched.State(), Values: r.values, Seen: r.seen},
		})
	default:
		r.fail(ctx, "no node of the graph can run", nil)
		return activities.Failed, nil
	}
}

func (r *graphRun) dispatch(ctx workflow.Context, selector workflow.Selector, b graph.Batch) {
	var a *activities.Graph
	params := activities.RunParams{
		RunRef: r.ref, PlanHash: r.plan.PlanHash, Units: b.Units, Keep: b.Keep, Inputs: r.inputs(b), Expansions: r.expansions(), Seen: r.seen,
	}
	var f workflow.Future
	switch {
	case b.Remote:
		if params.Last = r.sched.Ends(b); params.Last {
			params.Stored = r.stored
		}
		onServers := segments
		onServers.TaskQueue, onServers.Summary = workflow.GetInfo(ctx).TaskQueueName+SegmentQueue, r.summary(b.Units)
		f = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, onServers), a.RunSegment, params)
	case b.Local:
		fused := cheapNodes
		fused.Summary = r.summary(b.Units)
		f = workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, fused), a.RunCheap, params)
	case b.Short || b.Waits:
		own := shortQueue(ctx, b)
		own.Summary = r.summary(b.Units)
		f = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, own), a.RunLong, params)
	default:
		shared := longNodes
		shared.Summary = r.summary(b.Units)
		f = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, shared), a.RunLong, params)
	}
	r.inFlight++
	selector.AddFuture(f, func(f workflow.Future) {
		r.inFlight--
		var res activities.RunResult
		err := f.Get(ctx, &res)
		if (b.Short || b.Waits) && neverStarted(err) && !r.over(ctx) {
			b.Short, b.Waits = false, false
			r.dispatch(ctx, selector, b)
			return
		}
		if b.Local && r.exceededTimeLimit(ctx, err) {
			workflow.GetLogger(ctx).Warn("cheap batch ran out of time; it runs as a long one", "job_id", r.ref.Job, "units", len(b.Units))
			b.Local = false
			r.dispatch(ctx, selector, b)
			return
		}
		r.finishBatch(ctx, b, &res, err)
	})
}

// shortQueue returns the options of a batch that has a task queue beside the one for long batches.
func shortQueue(ctx workflow.Context, b graph.Batch) workflow.ActivityOptions {
	options, queue := shortNodes, ShortQueue
	if b.Waits {
		queue = PartnerQueue
	}
	options.TaskQueue = workflow.GetInfo(ctx).TaskQueueName + queue
	return options
}

// neverStarted reports whether err means that no worker started an activity in time.
func neverStarted(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout) && timeout.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START
}

// exceededTimeLimit reports whether a cheap batch did not end in time, because it was larger than the planner could estimate,
// such as a list of thousands of pictures, because the database was unavailable, or because its job waited for a slot. Its nodes did
// not fail. If another attempt would exceed the time limit, the error is that of the last attempt.
func (r *graphRun) exceededTimeLimit(ctx workflow.Context, err error) bool {
	var app *temporal.ApplicationError
	final := errors.As(err, &app) && app.NonRetryable()
	return err != nil && !final && !temporal.IsCanceledError(err) && !r.over(ctx)
}

// inputs returns the stored values that a batch reads from other batches.
func (r *graphRun) inputs(b graph.Batch) []activities.Input {
	var in []activities.Input
	for _, unit := range b.Needs {
		in = append(in, activities.Input{Unit: unit, Values: r.values[unit]})
	}
	return in
}

// maxUnits bounds a run with expansions: its state is passed from one execution to the next.
const maxUnits = 20_000

// expansions returns the nodes that have expanded, which activities need for planning.
func (r *graphRun) expansions() []activities.Expansion {
	var out []activities.Expansion
	for _, g := range r.sched.Expansions() {
		out = append(out, activities.Expansion{Unit: g.Unit, Ref: g.Refs[0], Size: len(g.Units)})
	}
	return out
}

// finishBatch adds the result of a batch to the state.
func (r *graphRun) finishBatch(ctx workflow.Context, b graph.Batch, res *activities.RunResult, err error) {
	switch {
	case temporal.IsCanceledError(err):
		r.sched.Abandon(b.ID)
		return
	case planIsStale(err):
		r.stale = true
		return
	case err != nil:
		r.fail(ctx, "a part of the graph could not be run", err)
		return
	}
	r.seen = max(r.seen, res.Version)
	r.plan.Ended, r.server = r.plan.Ended || res.Ended, cmp.Or(res.Server, r.server)
	for _, u := range res.Units {
		if len(u.Values) > 0 {
			r.values[u.Unit] = u.Values
			r.stored = append(r.stored, u.Values...)
		}
		if u.Expansion != nil {
			r.stored = append(r.stored, u.Expansion.Refs...)
		}
	}
	if res.Stopped {
		r.stopped, r.at = true, res.At
	}
	if res.Failed != "" {
		r.failed = &res.Failed
	}
	before, first := len(r.sched.Expansions()), r.sched.Size()
	r.sched.Done(b.ID, res.Units)
	for _, g := range r.sched.Expansions()[before:] {
		for _, s := range g.Cached {
			r.values[first+s.Unit] = s.Values
		}
		first += len(g.Units)
	}
	for _, unit := range res.Lost {
		r.sched.Lost(unit)
	}
	if r.sched.Size() > maxUnits { // concurrent batches did not see each other's expansions
		r.fail(ctx, "the nodes of the graph expand to too many", nil)
	}
}

// fail ends the run for a reason outside its nodes. The message is public; the cause is only logged, unless it says how often
// and for how long the work was tried.
func (r *graphRun) fail(ctx workflow.Context, message string, cause error) {
	var app *temporal.ApplicationError
	if errors.As(cause, &app) && app.Type() == attempt.ErrGivenUp {
		message += ": " + app.Message()
	}
	workflow.GetLogger(ctx).Error("run failed outside its nodes", "job_id", r.ref.Job, "reason", message, "error", cause)
	r.failure = &job.Failure{Code: fault.CodeUpstreamError, Message: message, ExceptionType: "ServiceError"}
}

// finish records the end, also if the workflow was canceled.
func (r *graphRun) finish(ctx workflow.Context, outcome activities.Outcome) (end activities.FinishResult, err error) {
	var a *activities.Graph
	ctx, done := workflow.NewDisconnectedContext(ctx)
	defer done()
	params := activities.FinishParams{RunRef: r.ref, Outcome: outcome, Failure: r.failure, At: r.at, Values: r.stored, Seen: r.seen}
	if r.failed != nil {
		params.Node = *r.failed
	}
	err = runBookkeeping(ctx, a.Finish, params, &end)
	return end, err
}

// runBookkeeping runs a local activity that updates records. A worker that shuts down reports it as canceled although
// the workflow was not canceled; it then runs again on another worker.
func runBookkeeping(ctx workflow.Context, activity, params, result any) error {
	lctx := workflow.WithLocalActivityOptions(ctx, bookkeeping)
	for {
		err := workflow.ExecuteLocalActivity(lctx, activity, params).Get(ctx, result)
		if !temporal.IsCanceledError(err) || ctx.Err() != nil {
			return err
		}
	}
}
