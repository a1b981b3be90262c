// Package histories reads workflow histories from Temporal: it shows their events, exports them, and replays them against
// the workflow code of this binary. It promises to change nothing. Payloads are not shown.
package histories

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

// WithWorkflow is a history of events together with the steps of the workflows that recorded it.
type WithWorkflow struct {
	History   any            `json:"history"`
	Workflow  []inspect.Step `json:"workflow"`
	Forgotten []string       `json:"forgotten,omitempty"` // workflows that Temporal no longer has
}

// WorkflowSteps reads the histories of all runs, and follows executions that continued as new.
func WorkflowSteps(ctx context.Context, c client.Client, runs []Execution) (steps []inspect.Step, missing []string, err error) {
	steps = []inspect.Step{}
	for _, run := range runs {
		execution := run.id
		for {
			found, next, err := executionSteps(ctx, c, run.Workflow, execution, run.Run)
			var gone *serviceerror.NotFound
			if errors.As(err, &gone) {
				missing = append(missing, run.Workflow)
				break
			}
			if err != nil {
				return nil, nil, fault.Wrap(err, fault.Unavailable, fault.CodeEngineUnavailable, "read the history of workflow %s from Temporal",
					run.Workflow)
			}
			steps = append(steps, found...)
			if next == "" {
				break
			}
			execution = next
		}
	}
	return steps, missing, nil
}

// executionSteps reads one execution. next is the execution that continues it, or the zero value.
func executionSteps(ctx context.Context, c client.Client, id, execution string, run int) (steps []inspect.Step, next string, err error) {
	scheduled := map[int64]string{}
	it := c.GetWorkflowHistory(ctx, id, execution, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		event, err := it.Next()
		if err != nil {
			return nil, "", err
		}
		steps = append(steps, inspect.Step{
			Run: run, ID: event.GetEventId(), At: event.GetEventTime().AsTime(),
			Type: event.GetEventType().String(), Detail: detail(event, scheduled),
		})
		if e := event.GetWorkflowExecutionContinuedAsNewEventAttributes(); e != nil {
			next = e.GetNewExecutionRunId()
		}
	}
	return steps, next, nil
}

// detail returns the activity, timer or signal of an event, and its failure. It omits payloads.
func detail(event *historypb.HistoryEvent, scheduled map[int64]string) string {
	if e := event.GetActivityTaskScheduledEventAttributes(); e != nil {
		scheduled[event.GetEventId()] = e.GetActivityType().GetName()
		return scheduled[event.GetEventId()]
	}
	if e := event.GetActivityTaskStartedEventAttributes(); e != nil {
		return fmt.Sprintf("%s, attempt %d, %s", scheduled[e.GetScheduledEventId()], e.GetAttempt(), e.GetIdentity())
	}
	if e := event.GetActivityTaskCompletedEventAttributes(); e != nil {
		return scheduled[e.GetScheduledEventId()]
	}
	if e := event.GetActivityTaskFailedEventAttributes(); e != nil {
		return scheduled[e.GetScheduledEventId()] + ": " + e.GetFailure().GetMessage()
	}
	if e := event.GetActivityTaskTimedOutEventAttributes(); e != nil {
		return scheduled[e.GetScheduledEventId()] + ": " + e.GetFailure().GetMessage()
	}
	if e := event.GetWorkflowTaskFailedEventAttributes(); e != nil {
		return strings.TrimSpace(e.GetCause().String() + " " + e.GetFailure().GetMessage())
	}
	if e := event.GetWorkflowExecutionFailedEventAttributes(); e != nil {
		return e.GetFailure().GetMessage()
	}
	if e := event.GetTimerStartedEventAttributes(); e != nil {
		return e.GetStartToFireTimeout().AsDuration().String()
	}
	if e := event.GetMarkerRecordedEventAttributes(); e != nil {
		return e.GetMarkerName()
	}
	return ""
}

// EngineTimeout bounds the time for reading workflow histories for one answer.
const EngineTimeout = 30 * time.Second

// WithWorkflows returns a history together with the steps of its workflows, as a value for JSON without secrets.
func WithWorkflows(ctx context.Context, c client.Client, history any, runs []Execution) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, EngineTimeout)
	defer cancel()
	steps, missing, err := WorkflowSteps(ctx, c, runs)
	return operate.Redacted(WithWorkflow{History: history, Workflow: steps, Forgotten: missing}, err)
}

// Execution names a run in Temporal. The id "" means its latest execution.
type Execution struct {
	Run      int
	Workflow string
	id       string
}

// ExecutionsOf returns the executions of a job's runs.
func ExecutionsOf(h inspect.History) []Execution {
	var all []Execution
	for _, run := range h.Executions() {
		all = append(all, Execution{Run: run.Run, Workflow: h.Job().WorkflowID(run.Run), id: run.ID})
	}
	return all
}
