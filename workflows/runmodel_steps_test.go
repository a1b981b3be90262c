package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities/modelcall"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/workflows"
)

// answer is what an activity of a call returns.
type answer struct {
	step modelcall.Step
	err  error
}

// calling plays the activities of one call by a script, and notes when each began.
type calling struct {
	env    *testsuite.TestWorkflowEnvironment
	script map[string][]answer

	mu  sync.Mutex // guards log and the script
	log []string
}

func newCalling(script map[string][]answer) *calling {
	c := &calling{script: script}
	c.env = environment()
	c.env.RegisterWorkflowWithOptions(workflows.RunModel, workflow.RegisterOptions{Name: workflows.RunModelName})
	began := c.env.Now()
	for _, name := range []string{"Dispatch", "Resolve", "Poll", "Stop", "Host", "Deliver"} {
		c.env.RegisterActivityWithOptions(func(context.Context, call.Run) (modelcall.Step, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.log = append(c.log, fmt.Sprint(name, " ", c.env.Now().Sub(began).Truncate(500*time.Millisecond)))
			next := c.script[name][0]
			c.script[name] = c.script[name][1:]
			return next.step, next.err
		}, activity.RegisterOptions{Name: name})
	}
	return c
}

// A call takes its steps one after the other, each after the pause that the last one asks for, whatever its workers do.
func TestACallTakesItsSteps(t *testing.T) {
	t.Parallel()
	over := answer{step: modelcall.Step{Next: modelcall.NextNothing, Outcome: modelcall.OutcomeSucceeded}}
	then := func(next modelcall.Next, after time.Duration) answer {
		return answer{step: modelcall.Step{Next: next, After: after}}
	}
	stop := answer{step: modelcall.Step{Next: modelcall.NextPoll, After: 10 * time.Second, Stop: true}}
	interrupted := answer{err: temporal.NewCanceledError()}
	broken := answer{err: temporal.NewNonRetryableApplicationError("no", "x", errors.New("x"))}
	for name, c := range map[string]struct {
		script   map[string][]answer
		next     *modelcall.Step
		canceled time.Duration // by its caller, after this time
		want     []string
		fails    bool
	}{
		"sent":      {script: map[string][]answer{"Dispatch": {over}}, want: []string{"Dispatch 0s"}},
		"not known": {script: map[string][]answer{"Dispatch": {broken}, "Resolve": {over}}, want: []string{"Dispatch 0s", "Resolve 1s"}},
		"sent by another one": {
			script: map[string][]answer{
				"Dispatch": {then(modelcall.NextWait, 2*time.Second)}, "Resolve": {then(modelcall.NextWait, 3*time.Second), over},
			},
			want: []string{"Dispatch 0s", "Resolve 2s", "Resolve 5s"},
		},
		"sent after all": {
			script: map[string][]answer{"Dispatch": {broken, over}, "Resolve": {then(modelcall.NextSend, 0)}},
			want:   []string{"Dispatch 0s", "Resolve 1s", "Dispatch 1s"},
		},
		"a worker shuts down": {
			script: map[string][]answer{"Poll": {interrupted, interrupted, over}},
			next:   &modelcall.Step{Next: modelcall.NextPoll, After: 4 * time.Second},
			want:   []string{"Poll 4s", "Poll 5s", "Poll 6s"},
		},
		"polled and hosted": {
			script: map[string][]answer{
				"Dispatch": {then(modelcall.NextPoll, 2*time.Second)}, "Poll": {then(modelcall.NextPoll, 4*time.Second), then(modelcall.NextHost, 0)},
				"Host": {over},
			},
			want: []string{"Dispatch 0s", "Poll 2s", "Poll 6s", "Host 6s"},
		},
		"not hosted": {
			script: map[string][]answer{"Host": {broken}, "Deliver": {over}}, next: &modelcall.Step{Next: modelcall.NextHost},
			want: []string{"Host 0s", "Deliver 0s"},
		},
		"ended before": {next: &over.step},
		"canceled by the log": {
			script: map[string][]answer{"Dispatch": {then(modelcall.NextPoll, 2*time.Second)}, "Poll": {stop, stop, over}, "Stop": {stop}},
			want:   []string{"Dispatch 0s", "Poll 2s", "Stop 2s", "Poll 12s", "Poll 22s"},
		},
		"canceled by its caller": {
			script: map[string][]answer{
				"Dispatch": {then(modelcall.NextPoll, 20*time.Second)}, "Poll": {over}, "Stop": {then(modelcall.NextPoll, 10*time.Second)},
			},
			canceled: 5 * time.Second, want: []string{"Dispatch 0s", "Stop 5s", "Poll 15s"},
		},
		"a state that cannot be read": {
			script: map[string][]answer{"Resolve": {broken}}, next: &modelcall.Step{Next: modelcall.NextWait},
			want: []string{"Resolve 0s"}, fails: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := newCalling(c.script)
			if c.canceled > 0 {
				calls.env.RegisterDelayedCallback(calls.env.CancelWorkflow, c.canceled)
			}
			timers := 0
			calls.env.SetOnTimerCanceledListener(func(string) { timers++ })
			run := call.Run{Call: call.NewID(), Account: "a", Run: 1}
			calls.env.ExecuteWorkflow(workflows.RunModelName, workflows.RunModelParams{Run: run, Next: c.next})
			require.True(t, calls.env.IsWorkflowCompleted())
			require.Equal(t, c.fails, calls.env.GetWorkflowError() != nil, "%v", calls.env.GetWorkflowError())
			require.Equal(t, c.want, calls.log)
			require.Equal(t, c.canceled > 0, timers > 0, "a pause that is cut short leaves no timer")
		})
	}
}

// A call that is polled for long continues in a new execution with its next step, but not before a cancellation has reached the provider.
func TestALongCallContinuesAsANewExecution(t *testing.T) {
	t.Parallel()
	next := modelcall.Step{Next: modelcall.NextPoll, After: 2 * time.Second}
	stop := modelcall.Step{Next: modelcall.NextPoll, After: 3 * time.Second, Stop: true}
	for name, c := range map[string]struct {
		polled modelcall.Step
		log    []string
		want   modelcall.Step
	}{
		"polled":   {next, []string{"Poll 0s"}, next},
		"canceled": {stop, []string{"Poll 0s", "Stop 0s"}, next},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := newCalling(map[string][]answer{"Poll": {{step: c.polled}}, "Stop": {{step: next}}})
			calls.env.SetOnLocalActivityStartedListener(func(*activity.Info, context.Context, []any) {
				calls.env.SetContinueAsNewSuggested(true)
			})
			run := call.Run{Call: call.NewID(), Account: "a", Run: 1}
			calls.env.ExecuteWorkflow(workflows.RunModelName, workflows.RunModelParams{Run: run, Next: &modelcall.Step{Next: modelcall.NextPoll}})
			var again *workflow.ContinueAsNewError
			require.ErrorAs(t, calls.env.GetWorkflowError(), &again)
			require.Equal(t, workflows.RunModelName, again.WorkflowType.Name)
			var params workflows.RunModelParams
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &params))
			require.Equal(t, workflows.RunModelParams{Run: run, Next: &c.want}, params)
			require.Equal(t, c.log, calls.log)
		})
	}
}
