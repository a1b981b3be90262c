// Package histories reads workflow histories from Temporal: it shows their events, exports them, and replays them against
// the workflow code of this binary. It promises to change nothing. Payloads are not shown.
package histories

import (
	"context"
	"fmt"
	"strings"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

// WithWorkflow is a history of events together with the steps of the workflows that recorded it.
type WithWorkflow struct {
	History   any            `json:"history"`
	Workflow  []inspect.Step `json:"workflow"`
	Forgotten []string       `json:"forgotten,omitempty"` // workflows that Temporal no longer has
}

// Beside returns a history together with the steps of its workflows, in all of their executions.
func (e Engine) Beside(ctx context.Context, history any, runs []inspect.Execution) (WithWorkflow, error) {
	out := WithWorkflow{History: history, Workflow: []inspect.Step{}}
	err := e.Use(ctx, func(ctx context.Context, c client.Client) error {
		for _, run := range runs {
			for events, err := range Chain(ctx, c, run.Workflow, run.ID) {
				switch {
				case Gone(err):
					out.Forgotten = append(out.Forgotten, run.Workflow)
				case err != nil:
					return fault.Wrap(err, fault.Unavailable, fault.CodeEngineUnavailable, "read the history of workflow %s from Temporal", run.Workflow)
				default:
					out.Workflow = append(out.Workflow, stepsOf(events, run.Run)...)
				}
			}
		}
		return nil
	})
	return out, err
}

func stepsOf(events *historypb.History, run int) []inspect.Step {
	scheduled := map[int64]string{}
	steps := make([]inspect.Step, len(events.GetEvents()))
	for i, event := range events.GetEvents() {
		steps[i] = inspect.Step{
			Run: run, ID: event.GetEventId(), At: event.GetEventTime().AsTime(),
			Type: event.GetEventType().String(), Detail: detail(event, scheduled),
		}
	}
	return steps
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
