package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

// besideWorkflow is a history or a story with what the engine knows of its workflows.
type besideWorkflow struct {
	Told      any            `json:"history"`
	Workflow  []inspect.Step `json:"workflow"`
	Forgotten []string       `json:"forgotten,omitempty"` // workflows that the engine does not know
}

// showWorkflow shows facts and workflow events in one order of time; whole is the history or story that JSON shows.
func (s *shell) showWorkflow(ctx context.Context, whole any, facts []inspect.Fact, runs []execution, asJSON bool) error {
	c, err := s.temporal()
	if err != nil {
		return err
	}
	defer c.Close()
	steps, missing, err := workflowSteps(ctx, c, runs)
	if err != nil {
		return err
	}
	if asJSON {
		return s.printJSON(besideWorkflow{Told: whole, Workflow: steps, Forgotten: missing})
	}
	p := s.printer()
	p.SideBySide(facts, steps)
	for _, id := range missing {
		p.Line("Temporal does not know workflow "+id+": it never began, or its retention has passed", inspect.Notice)
	}
	return p.Err()
}

// workflowSteps reads the histories of all runs, along their chains of continued executions.
func workflowSteps(ctx context.Context, c client.Client, runs []execution) (steps []inspect.Step, missing []string, err error) {
	steps = []inspect.Step{}
	for _, run := range runs {
		execution := run.id
		for {
			found, next, err := executionSteps(ctx, c, run.workflow, execution, run.run)
			var gone *serviceerror.NotFound
			if errors.As(err, &gone) {
				missing = append(missing, run.workflow)
				break
			}
			if err != nil {
				return nil, nil, fault.Wrap(err, fault.Unavailable, "engine_unavailable", "read the history of workflow %s from Temporal", run.workflow)
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

// executionSteps reads one execution; next is the one that continues it.
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

// detail says which activity, timer or signal an event is about, and why it failed. Payloads are not shown.
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
