package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/call"
	"github.com/millrace-dev/millrace/internal/outbox"
	"github.com/millrace-dev/millrace/worker"
)

// callEngine knows the status of workflows by the call they are of.
type callEngine struct {
	client.Client
	status map[call.ID]enums.WorkflowExecutionStatus
	broken call.ID
}

func (e callEngine) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if strings.Contains(id, string(e.broken)) {
		return nil, errors.New("a history that cannot be read")
	}
	for known, status := range e.status {
		if strings.Contains(id, string(known)) {
			return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: status}}, nil
		}
	}
	return nil, serviceerror.NewNotFound("no such workflow")
}

// records are calls in flight, and what was done about them.
type callRecords struct {
	held      []call.Run
	waiting   []string
	restarted []call.ID
	admitted  []string
	forgot    bool
	stray     []call.Run
	canceled  []call.ID
}

func (r *callRecords) HeldAfter(_ context.Context, after call.ID, _ time.Duration, limit int) ([]call.Run, error) {
	held := slices.DeleteFunc(slices.Clone(r.held), func(run call.Run) bool { return run.Call <= after })
	slices.SortFunc(held, func(a, b call.Run) int { return strings.Compare(string(a.Call), string(b.Call)) })
	return held[:min(limit, len(held))], nil
}

func (r *callRecords) Restart(_ context.Context, run call.Run, _, _ string) ([]outbox.Intent, error) {
	r.restarted = append(r.restarted, run.Call)
	return []outbox.Intent{{WorkflowID: run.Call.WorkflowID(run.Run + 1)}}, nil
}

func (r *callRecords) Stray(context.Context, time.Duration, int) ([]call.Run, error) {
	return r.stray, nil
}

func (r *callRecords) Cancel(_ context.Context, account string, id call.ID, _ string) (call.Cancellation, error) {
	if account == "away" {
		return call.Cancellation{}, errors.New("a stream that cannot be appended to")
	}
	r.canceled = append(r.canceled, id)
	return call.Cancellation{Active: true, Intents: []outbox.Intent{{WorkflowID: id.WorkflowID(1), Kind: outbox.Cancel}}}, nil
}

func (r *callRecords) Waiting(_ context.Context, after string, _ int) ([]string, error) {
	if after != "" {
		return nil, nil
	}
	return r.waiting, nil
}

func (r *callRecords) Admit(_ context.Context, account string, _ call.Limits) ([]outbox.Intent, error) {
	r.admitted = append(r.admitted, account)
	return []outbox.Intent{{WorkflowID: account}}, nil
}

func (*callRecords) TimeOut(context.Context, int) (int, error) { return 0, nil }

func (r *callRecords) Forget(context.Context) error {
	r.forgot = true
	return nil
}

func (*callRecords) CallLimits(context.Context, string) (call.Limits, error) {
	return call.Limits{}, nil
}

func TestCallsWhoseWorkflowIsGoneRunAgain(t *testing.T) {
	t.Parallel()
	running, terminated, absent, broken := call.NewID(), call.NewID(), call.NewID(), call.NewID()
	r := &callRecords{waiting: []string{"a", "b"}}
	for _, id := range []call.ID{running, broken, terminated, absent} {
		r.held = append(r.held, call.Run{Call: id, Account: "a", Run: 1})
	}
	kicked := 0
	s := worker.CallSweeper{
		Client: callEngine{broken: broken, status: map[call.ID]enums.WorkflowExecutionStatus{
			running: enums.WORKFLOW_EXECUTION_STATUS_RUNNING, terminated: enums.WORKFLOW_EXECUTION_STATUS_TERMINATED,
		}},
		Calls: r, Tiers: r, Kick: func(in []outbox.Intent) { kicked += len(in) }, Log: slog.New(slog.DiscardHandler),
	}
	require.ErrorContains(t, s.Sweep(t.Context()), string(broken))
	require.ElementsMatch(t, []call.ID{terminated, absent}, r.restarted, "a call that cannot be looked after keeps no other waiting")
	require.Equal(t, []string{"a", "b"}, r.admitted)
	require.Equal(t, 4, kicked)
	require.True(t, r.forgot)
}

func TestALostCallIsFoundBehindHundredsThatGoOn(t *testing.T) {
	t.Parallel()
	r := &callRecords{}
	engine := callEngine{broken: "none", status: map[call.ID]enums.WorkflowExecutionStatus{}}
	for i := range 450 {
		id := call.ID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i))
		r.held, engine.status[id] = append(r.held, call.Run{Call: id, Account: "a", Run: 1}), enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	}
	lost := r.held[449].Call
	delete(engine.status, lost)
	s := worker.CallSweeper{Client: engine, Calls: r, Tiers: r, Kick: func([]outbox.Intent) {}, Log: slog.New(slog.DiscardHandler)}
	require.NoError(t, s.Sweep(t.Context()))
	require.Equal(t, []call.ID{lost}, r.restarted)
}

func TestCallsOfJobsThatEndedAreStopped(t *testing.T) {
	t.Parallel()
	lost, second := call.NewID(), call.NewID()
	r := &callRecords{stray: []call.Run{
		{Call: call.NewID(), Account: "away", For: &call.JobRun{Job: "1", Run: 1}},
		{Call: lost, Account: "a", For: &call.JobRun{Job: "2", Run: 1}},
		{Call: second, Account: "b", For: &call.JobRun{Job: "3", Run: 2}},
	}}
	var kicked []outbox.Intent
	s := worker.CallSweeper{
		Client: callEngine{}, Calls: r, Tiers: r, Kick: func(in []outbox.Intent) { kicked = append(kicked, in...) }, Log: slog.New(slog.DiscardHandler),
	}
	require.ErrorContains(t, s.Sweep(t.Context()), "cannot be appended to")
	require.Equal(t, []call.ID{lost, second}, r.canceled, "one that cannot be told keeps no other waiting")
	require.Len(t, kicked, 2)
}
