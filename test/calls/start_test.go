package calls_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities/modelcall"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/worker/sweep"
	"github.com/millrace-dev/millrace/workflows"
)

// sendsItself has a call sent by the process that accepts it, which that does once its worker has begun.
func (s *deployment) sendsItself(t *testing.T) {
	t.Helper()
	s.work(t)
	_, err := s.Run(t.Context(), invocation("a", "", "fast warm"))
	require.NoError(t, err)
}

func (s *deployment) workflowEvents(t *testing.T, id call.ID) (events []*historypb.HistoryEvent) {
	t.Helper()
	s.until(t, "the workflow starts", func() bool { // a short call is answered before
		_, err := s.client.DescribeWorkflowExecution(t.Context(), id.WorkflowID(1), "")
		return err == nil
	})
	require.NoError(t, s.client.GetWorkflow(t.Context(), id.WorkflowID(1), "").Get(t.Context(), nil))
	it := s.client.GetWorkflowHistory(t.Context(), id.WorkflowID(1), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		event, err := it.Next()
		require.NoError(t, err)
		events = append(events, event)
	}
	return events
}

func TestTheWorkflowOfAShortCallIsOneTask(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.sendsItself(t)
	var id call.ID
	var events []*historypb.HistoryEvent
	s.until(t, "the workflow starts when the exchange is over", func() bool { // a call of more than a second is not short
		inv := invocation("a", "", "fast x")
		_, err := s.Run(t.Context(), inv)
		require.NoError(t, err)
		id = call.ID(inv.RequestID)
		events = s.workflowEvents(t, id)
		c, err := s.calls.Load(t.Context(), "a", id)
		require.NoError(t, err)
		return !events[0].GetEventTime().AsTime().Before(*c.EndedAt)
	})
	kinds := map[enums.EventType]int{}
	for _, event := range events {
		kinds[event.GetEventType()]++
	}
	require.Equal(t, 1, kinds[enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED])
	require.Equal(t, 1, kinds[enums.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED])
	require.Len(t, events, 5, "it starts with what became of the call")
	var began workflows.RunModelParams
	input := events[0].GetWorkflowExecutionStartedEventAttributes().GetInput()
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(input, &began))
	require.Equal(t, modelcall.OutcomeSucceeded, began.Next.Outcome)
	s.requireReplays(t, "call-ended-before", id)
}

// The workflow of a call that has ended before it starts ends as the call did.
func TestTheWorkflowOfAShortCallEndsLikeTheCall(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.sendsItself(t)
	for body, cause := range map[string]string{"refuse x": "the call failed", "drop y": "unknown"} {
		inv := invocation("a", "", body)
		_, err := s.Run(t.Context(), inv)
		require.Error(t, err)
		id := call.ID(inv.RequestID)
		s.until(t, "the workflow starts", func() bool {
			_, err := s.client.DescribeWorkflowExecution(t.Context(), id.WorkflowID(1), "")
			return err == nil
		})
		err = s.client.GetWorkflow(t.Context(), id.WorkflowID(1), "").Get(t.Context(), nil)
		require.ErrorContains(t, err, cause)
		var failed *temporal.ApplicationError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, workflows.CallFailed, failed.Type())
	}
}

func TestTheWorkflowOfALongCallStartsMeanwhile(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.sendsItself(t)
	inv := invocation("a", "", "gate z")
	answered := make(chan error, 1)
	go func() {
		_, err := s.Run(t.Context(), inv)
		answered <- err
	}()
	<-s.provider.begun
	id := call.ID(inv.RequestID)
	s.until(t, "the workflow runs", func() bool {
		state, err := sweep.StateOf(t.Context(), s.client, id.WorkflowID(1))
		return err == nil && state.Open()
	})
	close(s.provider.gate("z"))
	require.NoError(t, <-answered)
	require.Equal(t, 1, s.provider.count("z"))
	require.NotEmpty(t, s.workflowEvents(t, id))
}

func TestTheEndOfACallIsHeardInItsOwnProcessAtOnce(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	models := s.place.models(s.parts)
	heard := make(chan eventlog.Recorded, 100)
	models.OnEnd = func(events []eventlog.Recorded) {
		for _, rec := range events {
			heard <- rec
		}
	}
	models.SetAlive(true)
	require.NoError(t, s.calls.Heartbeat(t.Context(), models.Worker))
	s.Sender = models
	inv := invocation("a", "", "fast x")
	_, err := s.Run(t.Context(), inv)
	require.NoError(t, err)
	for {
		select {
		case rec := <-heard:
			if rec.Type == call.TypeSucceeded {
				require.Equal(t, call.ID(inv.RequestID).Stream(), rec.Stream)
				require.NotZero(t, rec.Position)
				return
			}
		case <-time.After(patience):
			t.Fatal("the end of the call was not heard")
		}
	}
}
