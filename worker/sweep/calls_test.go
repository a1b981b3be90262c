package sweep_test

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

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/worker/sweep"
)

// callRecords are calls in flight, and what was done about them.
type callRecords struct {
	held      []call.Run
	waiting   []string
	restarted []call.ID
	admitted  []string
	forgot    bool
	stray     []call.Run
	canceled  []call.ID
	ages      []time.Duration // that calls had at least
}

func (r *callRecords) RunningAfter(_ context.Context, after call.ID, age time.Duration, limit int) ([]call.Run, error) {
	r.ages = append(r.ages, age)
	held := slices.DeleteFunc(slices.Clone(r.held), func(run call.Run) bool { return run.Call <= after })
	slices.SortFunc(held, func(a, b call.Run) int { return strings.Compare(string(a.Call), string(b.Call)) })
	return held[:min(limit, len(held))], nil
}

func (r *callRecords) Restart(_ context.Context, run call.Run, _, _ string) (bool, error) {
	r.restarted = append(r.restarted, run.Call)
	return true, nil
}

func (r *callRecords) Stray(_ context.Context, age time.Duration, _ int) ([]call.Run, error) {
	r.ages = append(r.ages, age)
	return r.stray, nil
}

func (r *callRecords) Cancel(_ context.Context, account string, id call.ID, _ string) (bool, error) {
	if account == "away" {
		return false, errors.New("a stream that cannot be appended to")
	}
	r.canceled = append(r.canceled, id)
	return true, nil
}

func (r *callRecords) Waiting(_ context.Context, after string, _ int) ([]string, error) {
	if after != "" {
		return nil, nil
	}
	return r.waiting, nil
}

func (r *callRecords) Admit(_ context.Context, account string, _ call.Limits) error {
	r.admitted = append(r.admitted, account)
	return nil
}

func (*callRecords) TimeOut(context.Context, int) (int, error) { return 0, nil }

func (r *callRecords) Forget(context.Context) error {
	r.forgot = true
	return nil
}

func (*callRecords) CallLimits(context.Context, string) (call.Limits, error) {
	return call.Limits{}, nil
}

func (*callRecords) CallBounds(string) call.Limits { return call.Limits{} }

func TestCallsWithoutAWorkflowRunAgain(t *testing.T) {
	t.Parallel()
	goesOn, ended, absent, broken := call.NewID(), call.NewID(), call.NewID(), call.NewID()
	r := &callRecords{waiting: []string{"a", "b"}}
	for _, id := range []call.ID{goesOn, broken, ended, absent} {
		r.held = append(r.held, call.Run{Call: id, Account: "a", Run: 1})
	}
	s := sweep.CallSweeper{
		Client: engine[call.ID]{broken: broken, status: map[call.ID]enums.WorkflowExecutionStatus{goesOn: running, ended: terminated}},
		Calls:  r, Tiers: r, Log: slog.New(slog.DiscardHandler),
	}
	require.ErrorContains(t, s.Sweep(t.Context()), string(broken))
	require.ElementsMatch(t, []call.ID{ended, absent}, r.restarted, "a call that cannot be looked after keeps no other waiting")
	require.Equal(t, []string{"a", "b"}, r.admitted)
	require.True(t, r.forgot)
	require.Equal(t, []time.Duration{30 * time.Second, 30 * time.Second}, r.ages, "what has just begun or ended is left to its own process")
}

func TestLostCallIsFoundAmongHundredsOfRunningOnes(t *testing.T) {
	t.Parallel()
	r := &callRecords{}
	var ids []call.ID
	for i := range 450 {
		ids = append(ids, call.ID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i)))
		r.held = append(r.held, call.Run{Call: ids[i], Account: "a", Run: 1})
	}
	lost := ids[449]
	s := sweep.CallSweeper{Client: all(running, ids[:449]...), Calls: r, Tiers: r, Log: slog.New(slog.DiscardHandler)}
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
	s := sweep.CallSweeper{
		Client: engine[call.ID]{}, Calls: r, Tiers: r, Log: slog.New(slog.DiscardHandler),
	}
	require.ErrorContains(t, s.Sweep(t.Context()), "cannot be appended to")
	require.Equal(t, []call.ID{lost, second}, r.canceled, "one that cannot be reached keeps no other waiting")
}
