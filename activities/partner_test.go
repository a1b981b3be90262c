package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
)

// answers are calls of models that fail a number of times before they are answered.
type answers struct {
	activities.NodeCalls
	failing int // -1 = always
	refusal error
	calls   []call.Invocation
}

func (a *answers) RunNode(_ context.Context, inv call.Invocation) (*call.Result, error) {
	a.calls = append(a.calls, inv)
	if a.failing != 0 {
		a.failing--
		return nil, a.refusal
	}
	return call.DocumentResult([]byte(`{"ok":true}`), false), nil
}

func (*answers) Worked(context.Context, string, call.ID) (time.Duration, error) { return 0, nil }

// access is the access of the credential of a job, or why it has none.
type access struct {
	given   account.Access
	refusal error
}

func (a access) Access(context.Context, job.RunRef) (account.Access, error) {
	return a.given, a.refusal
}

// A node's call is sent again, under its key, as long as its account or a part of the service has no room for it. What the model or the
// account refuses is a failure of the node, of the kind that decides its exception.
func TestACallOfANodeIsRepeatedOrFails(t *testing.T) {
	t.Parallel()
	away := call.Refuse(fault.Unavailable, call.ServiceUnavailable, "away")
	recorded := call.Refuse(fault.Unavailable, call.ServiceUnavailable, "recorded")
	recorded.Replayed = true
	denied := fault.New(fault.Unauthenticated, "", "no credential")
	for name, c := range map[string]struct {
		failing int
		refusal error
		access  error
		sent    int
		kind    fault.Kind
		code    fault.Code
	}{
		"answered":                      {0, nil, nil, 1, 0, ""},
		"no credential":                 {0, nil, denied, 0, fault.Unauthenticated, ""},
		"answered after twenty outages": {20, away, nil, 21, 0, ""},
		"one outage more":               {21, away, nil, 21, fault.Unavailable, call.ServiceUnavailable},
		"no free slot for long":         {50, call.Refuse(fault.Exhausted, call.ConcurrencyLimit, "full"), nil, 51, 0, ""},
		"a recorded answer is final":    {-1, recorded, nil, 1, fault.Conflict, call.ServiceUnavailable},
		"no credit": {
			-1, call.Refuse(fault.Exhausted, call.InsufficientCredits, "no credit"), nil, 1, fault.Denied, call.InsufficientCredits,
		},
		"not allowed":      {-1, call.Refuse(fault.Denied, call.Forbidden, "no"), nil, 1, fault.Denied, call.Forbidden},
		"an unknown model": {-1, call.Refuse(fault.NotFound, call.ModelNotFound, "no"), nil, 1, fault.NotFound, call.ModelNotFound},
		"a bad request":    {-1, call.Refuse(fault.Invalid, call.InvalidInput, "no"), nil, 1, fault.Invalid, call.InvalidInput},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := &answers{failing: c.failing, refusal: c.refusal}
				p := &activities.Partners{Calls: calls, Access: access{account.Access{Models: []string{"sim/*"}}, c.access}}
				answer, err := p.OfNode(job.RunRef{Job: "j", Account: "a", Run: 1}, "5").Run(t.Context(), "sim/echo", "s", []byte(`{}`))
				require.Len(t, calls.calls, c.sent)
				for _, inv := range calls.calls {
					require.Equal(t, call.NodeKey("j", 1, 0, "5"), inv.Key, "every try has the same key")
					require.Equal(t, []string{"sim/*"}, inv.Access.Models)
				}
				if c.kind != 0 {
					require.Equal(t, c.kind, fault.KindOf(err), "%v", err)
					require.Equal(t, c.code, fault.CodeOf(err))
					return
				}
				require.NoError(t, err)
				raw, err := io.ReadAll(answer.Content)
				require.NoError(t, err)
				require.JSONEq(t, `{"ok":true}`, string(raw))
			})
		})
	}
}

// ending is a call that goes on when its node is interrupted.
type ending struct {
	activities.NodeCalls
	interrupt func()
	later     bool     // while the node waits to repeat the call
	stopped   []string // keys of calls
}

func (e *ending) RunNode(ctx context.Context, _ call.Invocation) (*call.Result, error) {
	if e.later {
		time.AfterFunc(time.Second/2, e.interrupt)
		return nil, call.Refuse(fault.Exhausted, call.ConcurrencyLimit, "full")
	}
	e.interrupt()
	return nil, context.Cause(ctx)
}

func (e *ending) StopNode(_ context.Context, _, key, _ string) error {
	e.stopped = append(e.stopped, key)
	return nil
}

// The call of a node is canceled with its job. That of a node which another worker continues goes on, and the next attempt has its answer.
func TestACallEndsWithItsJob(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{activities.ErrStopped, errors.New("the worker shuts down")} {
		for _, later := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				ctx, interrupt := context.WithCancelCause(t.Context())
				calls := &ending{interrupt: func() { interrupt(cause) }, later: later}
				p := &activities.Partners{Calls: calls}
				_, err := p.OfNode(job.RunRef{Job: "j", Account: "a", Run: 1}, "5").Run(ctx, "sim/echo", "s", nil)
				require.ErrorIs(t, err, cause)
				require.True(t, fault.Is(err, fault.Canceled), "it is no failure of the node")
				require.Equal(t, errors.Is(cause, activities.ErrStopped), len(calls.stopped) == 1)
			})
		}
	}
}

// The failure of a node names the fields that the model refuses, if the list of them can be read.
func TestAFailureNamesTheFieldsThatAModelRefuses(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		`[{"loc":["body","width"],"msg":"too large"},{"loc":["body"],"msg":"no object"}]`: "x: invalid_input: no; width: too large; " +
			"the body: no object",
		`[{"loc":["body","width"],"msg":"too large"},{"loc":7}]`: "x: invalid_input: no",
		``: "x: invalid_input: no",
	} {
		refusal := call.Refuse(fault.Invalid, call.InvalidInput, "no")
		refusal.Validation = json.RawMessage(list)
		p := &activities.Partners{Calls: &answers{failing: -1, refusal: refusal}}
		_, err := p.OfNode(job.RunRef{Job: "j", Account: "a", Run: 1}, "5").Run(t.Context(), "x", "s", nil)
		var known *fault.Error
		require.True(t, errors.As(err, &known))
		require.Equal(t, want, known.Message, list)
	}
}
