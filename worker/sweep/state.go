package sweep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/fault"
)

// WorkflowState is the state of a workflow in Temporal.
type WorkflowState struct {
	Known  bool // Temporal has the workflow
	Status enums.WorkflowExecutionStatus
	Waits  time.Duration // how long its workflow task has waited for a worker, or for the worker that took it; 0 = there is none
	Tries  int           // how often that task was tried, because it timed out or failed
	// Repeats is how often the activity that was tried most was tried, because its attempts failed, and Problem the last failure. Waits
	// for a slot of the account do not count, and neither does an attempt that has run for LateAfter.
	Repeats int
	Problem string
}

const (
	// LateAfter is how long a workflow task may wait: several times the timeout with which a worker takes it.
	LateAfter = 30 * time.Second
	// lateTries is the number of tries from which a task counts as late, however short each is.
	lateTries = 3
	// lateRepeats is the number of tries from which an activity counts as late: they take over ten seconds.
	lateRepeats = 8
	// maxProblem bounds the text of a failure.
	maxProblem = 200
)

// Late reports whether the workflow does not go on, because its workflow task waits for long or times out again and again, or because
// an activity fails again and again.
func (s WorkflowState) Late() bool {
	return s.Open() && (s.Waits > LateAfter || s.Tries >= lateTries || s.Repeats >= lateRepeats)
}

// Why says why a workflow that is late does not go on.
func (s WorkflowState) Why() string {
	if s.Repeats >= lateRepeats {
		return fmt.Sprintf("try %d of an activity: %s", s.Repeats, s.Problem)
	}
	return fmt.Sprintf("workflow task, try %d, waits for %s", s.Tries, s.Waits.Round(time.Second))
}

// Open reports whether the workflow has not ended. A paused workflow has not ended.
func (s WorkflowState) Open() bool {
	switch s.Status {
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW, enums.WORKFLOW_EXECUTION_STATUS_PAUSED:
		return s.Known
	default:
		return false
	}
}

// EndedByItself reports whether the workflow returned: it completed, failed or was canceled, as its job did, after the end
// of the job was recorded.
func (s WorkflowState) EndedByItself() bool {
	switch s.Status {
	case enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, enums.WORKFLOW_EXECUTION_STATUS_FAILED, enums.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return s.Known
	default:
		return false
	}
}

// StateOf returns the state of the latest execution of a workflow.
func StateOf(ctx context.Context, c client.Client, workflow string) (WorkflowState, error) {
	d, err := c.DescribeWorkflowExecution(ctx, workflow, "")
	var absent *serviceerror.NotFound
	switch {
	case errors.As(err, &absent):
		return WorkflowState{}, nil
	case err != nil:
		return WorkflowState{}, fmt.Errorf("read the state of workflow %s: %w", workflow, err)
	}
	state := WorkflowState{Known: true, Status: d.GetWorkflowExecutionInfo().GetStatus()}
	if task := d.GetPendingWorkflowTask(); task != nil {
		since := task.GetScheduledTime()
		if task.GetState() == enums.PENDING_WORKFLOW_TASK_STATE_STARTED {
			since = task.GetStartedTime()
		}
		state.Waits, state.Tries = time.Since(since.AsTime()), int(task.GetAttempt())
	}
	for _, a := range d.GetPendingActivities() {
		last := a.GetLastFailure()
		slotless := last.GetApplicationFailureInfo().GetType() == attempt.ErrNoSlot
		runs := a.GetState() == enums.PENDING_ACTIVITY_STATE_STARTED && time.Since(a.GetLastStartedTime().AsTime()) > LateAfter
		if last != nil && !slotless && !runs && int(a.GetAttempt()) > state.Repeats {
			state.Repeats, state.Problem = int(a.GetAttempt()), fault.Shorten(last.GetMessage(), maxProblem)
		}
	}
	return state, nil
}

// String returns a text for log lines.
func (s WorkflowState) String() string {
	if !s.Known {
		return "unknown"
	}
	return s.Status.String()
}
