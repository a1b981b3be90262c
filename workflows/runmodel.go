package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities/modelcall"
	"github.com/millrace-dev/millrace/internal/domain/call"
)

// RunModelName is the registered name of RunModel.
const RunModelName = "RunModel"

// RunModelParams names the run. Next is set when a long run continues as a new execution, and when the call has ended before
// its workflow starts.
type RunModelParams struct {
	call.Run
	Next *modelcall.Step `json:",omitempty"`
}

// dispatching is for the one exchange that sends a call: exactly one attempt. The timeout is far above the bound of
// any model; a local activity of minutes keeps the workflow task alive.
var dispatching = workflow.LocalActivityOptions{
	StartToCloseTimeout: time.Hour,
	RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
}

// resolving is for reading the state of the call from the log, which may wait for an exchange in this process.
var resolving = workflow.LocalActivityOptions{
	StartToCloseTimeout:    time.Hour,
	ScheduleToCloseTimeout: unboundedTime,
	RetryPolicy:            &retryForever,
}

// polling is for one status request and the answer if it is ready.
var polling = workflow.LocalActivityOptions{
	StartToCloseTimeout:    10 * time.Minute,
	ScheduleToCloseTimeout: unboundedTime,
	RetryPolicy:            &retryForever,
}

// hosting bounds the copying of result assets, which may be videos of hundreds of megabytes. After three attempts the
// answer keeps the provider's own references.
var hosting = workflow.ActivityOptions{
	StartToCloseTimeout: 15 * time.Minute,
	HeartbeatTimeout:    30 * time.Second,
	RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 4, MaximumAttempts: 3},
}

// resendPause is the pause before a call is sent again that certainly never left this service.
const resendPause = time.Second

// RunModel runs one call: it sends the call, polls until the answer is ready, copies the assets and settles the
// charge. The state of the call is in the log; the workflow only decides the next step. It ends like the call.
func RunModel(ctx workflow.Context, p RunModelParams) error {
	m := &modelRun{run: p.Run, cancelRequested: ctx}
	m.ctx, _ = workflow.NewDisconnectedContext(ctx) // the workflow continues after a cancel request, to act on it
	step := modelcall.Step{Next: modelcall.NextSend}
	if p.Next != nil {
		step, m.cancelRecorded = *p.Next, p.Next.Stop
	}
	for step.Next != modelcall.NextNothing {
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() && !m.mustStop() {
			return workflow.NewContinueAsNewError(ctx, RunModelName, RunModelParams{Run: p.Run, Next: &step})
		}
		var err error
		if step, err = m.applyStep(step); err != nil {
			return err
		}
		m.cancelRecorded = m.cancelRecorded || step.Stop
	}
	return closingCall(step)
}

// modelRun is the state of one execution.
type modelRun struct {
	run             call.Run
	ctx             workflow.Context // not canceled with the caller
	cancelRequested workflow.Context // canceled when the caller cancels
	cancelRecorded  bool             // the cancellation is in the log: a workflow that replaces a lost one receives no cancel request
	stopped         bool             // the provider was asked to cancel
}

// mustStop reports whether the caller canceled and the provider was not yet asked to cancel.
func (m *modelRun) mustStop() bool {
	return (m.cancelRecorded || m.cancelRequested.Err() != nil) && !m.stopped
}

// applyStep performs a step of the call and returns the next one.
func (m *modelRun) applyStep(step modelcall.Step) (modelcall.Step, error) {
	var a *modelcall.Activities
	switch step.Next {
	case modelcall.NextSend:
		return m.send()
	case modelcall.NextWait:
		if err := workflow.Sleep(m.ctx, max(step.After, time.Millisecond)); err != nil {
			return step, err
		}
		return m.local(resolving, a.Resolve)
	case modelcall.NextPoll:
		m.pause(step.After)
		if m.mustStop() {
			m.stopped = true
			return m.local(polling, a.Stop)
		}
		return m.local(polling, a.Poll)
	case modelcall.NextHost:
		return m.host()
	case modelcall.NextNothing:
	}
	return modelcall.Step{Next: modelcall.NextNothing}, nil
}

// send sends the call, once. Temporal does not retry an attempt that failed before it sent anything: the log decides
// whether another attempt may follow.
func (m *modelRun) send() (modelcall.Step, error) {
	var a *modelcall.Activities
	var step modelcall.Step
	ctx := workflow.WithLocalActivityOptions(m.ctx, dispatching)
	if err := workflow.ExecuteLocalActivity(ctx, a.Dispatch, m.run).Get(ctx, &step); err == nil {
		return step, nil
	}
	if err := workflow.Sleep(m.ctx, resendPause); err != nil {
		return step, err
	}
	return m.local(resolving, a.Resolve)
}

// local runs a local activity until it returns. An activity that was interrupted by the shutdown of its worker runs
// again on another worker.
func (m *modelRun) local(options workflow.LocalActivityOptions, fn any) (modelcall.Step, error) {
	ctx := workflow.WithLocalActivityOptions(m.ctx, options)
	for {
		var step modelcall.Step
		err := workflow.ExecuteLocalActivity(ctx, fn, m.run).Get(ctx, &step)
		if !temporal.IsCanceledError(err) {
			return step, err
		}
		if err := workflow.Sleep(m.ctx, resendPause); err != nil {
			return step, err
		}
	}
}

// pause waits for the next poll, or until the caller cancels.
func (m *modelRun) pause(d time.Duration) {
	if d <= 0 || m.mustStop() {
		return
	}
	timers, stop := workflow.WithCancel(m.ctx)
	defer stop()
	selector := workflow.NewSelector(m.ctx)
	selector.AddFuture(workflow.NewTimer(timers, d), func(workflow.Future) {})
	if !m.stopped {
		selector.AddReceive(m.cancelRequested.Done(), func(workflow.ReceiveChannel, bool) {})
	}
	selector.Select(m.ctx)
}

// host copies assets. If they cannot be copied, the call is delivered with the answer of the provider.
func (m *modelRun) host() (modelcall.Step, error) {
	var a *modelcall.Activities
	var step modelcall.Step
	ctx := workflow.WithActivityOptions(m.ctx, hosting)
	err := workflow.ExecuteActivity(ctx, a.Host, m.run).Get(ctx, &step)
	if err == nil {
		return step, nil
	}
	workflow.GetLogger(m.ctx).Warn("assets not copied", "call_id", m.run.Call, "error", err)
	return m.local(resolving, a.Deliver)
}
