package call_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
)

// one is a store with one call.
type one struct {
	call.Store
	call    call.Call
	failing error
	counted int
	full    error // of the limits
	ahead   int64
	lost    error // of the number ahead

	canceled int
	refused  error // of a request to stop
}

func (o *one) Load(context.Context, string, call.ID) (call.Call, error) { return o.call, o.failing }

func (o *one) Count(context.Context, string, []call.Window) error {
	o.counted++
	return o.full
}

// windows are limits of polls.
type windows struct {
	call.Tiers
	all []call.Window
}

func (w windows) CallBounds(string) call.Limits { return call.Limits{Windows: w.all} }

func TestQueuedCallIsFoundByItsModelForADay(t *testing.T) {
	t.Parallel()
	const found = fault.Kind(100) // no error
	ended := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	done := call.Call{ID: "c", Mode: call.Queued, Model: "sim/echo", State: call.Succeeded, EndedAt: &ended}
	for name, c := range map[string]struct {
		change  func(*one)
		model   string
		after   time.Duration
		kind    fault.Kind
		expired bool
	}{
		"by its model":         {nil, "sim/echo", time.Hour, found, false},
		"by any model":         {nil, "", time.Hour, found, false},
		"by another model":     {nil, "sim/mirror", time.Hour, fault.NotFound, false},
		"just before a day":    {nil, "", 24*time.Hour - 1, found, false},
		"after a day":          {nil, "", 24 * time.Hour, fault.NotFound, true},
		"a synchronous call":   {func(o *one) { o.call.Mode = call.Sync }, "", time.Hour, fault.NotFound, false},
		"unknown":              {func(o *one) { o.failing = fault.New(fault.NotFound, "", "x") }, "", 0, fault.NotFound, false},
		"the database is away": {func(o *one) { o.failing = fault.New(fault.Unavailable, "", "x") }, "", 0, fault.Unavailable, false},
		"not ended, after two": {func(o *one) { o.call.State, o.call.EndedAt = call.Running, nil }, "", 2 * call.Retention, found, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &one{call: done}
			if c.change != nil {
				c.change(store)
			}
			s := call.NewService(call.Deps{Store: store, Tiers: windows{}, Now: func() time.Time { return ended.Add(c.after) }})
			_, err := s.Status(t.Context(), call.Handle{Account: "a", Call: "c", Model: c.model})
			if c.kind == found {
				require.NoError(t, err)
				return
			}
			var refused *call.Refusal
			if c.kind == fault.NotFound {
				require.ErrorAs(t, err, &refused)
				require.Equal(t, call.RequestNotFound, refused.Type)
				require.Equal(t, c.expired, refused.Code == fault.CodeExpired)
			} else {
				require.Equal(t, c.kind, fault.KindOf(err), "%v", err)
			}
			require.Zero(t, store.counted, "no limit is set")
		})
	}
}

func TestPollsCountAgainstTheLimits(t *testing.T) {
	t.Parallel()
	store := &one{call: call.Call{ID: "c", Mode: call.Queued, State: call.Running}}
	s := call.NewService(call.Deps{Store: store, Tiers: windows{all: make([]call.Window, 1)}})
	_, err := s.Status(t.Context(), call.Handle{Account: "a", Call: "c"})
	require.NoError(t, err)
	require.Equal(t, 1, store.counted)
	store.full = fault.New(fault.Exhausted, "", "too many polls")
	_, err = s.Status(t.Context(), call.Handle{Account: "a", Call: "c"})
	require.ErrorIs(t, err, store.full)
}

func (o *one) Ahead(context.Context, string, call.ID) (int64, error) { return o.ahead, o.lost }

// A call that waits says how many are before it, one that runs that it does, and one that has succeeded has its answer.
func TestTheStatusOfACallFollowsIt(t *testing.T) {
	t.Parallel()
	store := &one{call: call.Call{ID: "c", Mode: call.Queued, State: call.Waiting}, ahead: 3}
	s := call.NewService(call.Deps{Store: store, Tiers: windows{}})
	p, err := s.Status(t.Context(), call.Handle{Account: "a", Call: "c"})
	require.NoError(t, err)
	require.Equal(t, call.InQueue, p.Status)
	require.EqualValues(t, 3, *p.Ahead)
	store.lost = fault.New(fault.Unavailable, "", "the database is away")
	_, err = s.Status(t.Context(), call.Handle{Account: "a", Call: "c"})
	require.ErrorIs(t, err, store.lost)
	store.call.State = call.Running
	p, err = s.Status(t.Context(), call.Handle{Account: "a", Call: "c"})
	require.NoError(t, err)
	require.Equal(t, call.InProgress, p.Status)
	require.Nil(t, p.Ahead)
	_, progress, err := s.Result(t.Context(), call.Handle{Account: "a", Call: "c"})
	require.NoError(t, err)
	require.Equal(t, &p, progress)
	store.call.State, store.call.Answer = call.Succeeded, &call.Body{Size: 7}
	answer, progress, err := s.Result(t.Context(), call.Handle{Account: "a", Call: "c"})
	require.NoError(t, err)
	require.Nil(t, progress)
	require.EqualValues(t, 7, answer.Size)
	require.False(t, answer.Replayed, "a queued call has the answer for itself")
}

// The result of a call that ended without an answer is a refusal that says what to do: one of unknown outcome is not to be asked for
// again and again, and one that the provider found invalid lists what is wrong.
func TestResultsOfCallsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	result := func(state call.State, f call.Failure) *call.Refusal {
		s := call.NewService(call.Deps{
			Store: &one{call: call.Call{ID: "c", Mode: call.Queued, State: state, Failure: &f}}, Tiers: windows{}, Now: time.Now,
		})
		_, _, err := s.Result(t.Context(), call.Handle{Account: "a", Call: "c"})
		var refused *call.Refusal
		require.ErrorAs(t, err, &refused)
		return refused
	}
	unknown := result(call.Unknown, call.Failure{Type: call.InternalError, Detail: "the process died"})
	require.Equal(t, fault.Conflict, unknown.Kind)
	require.ErrorIs(t, unknown, call.ErrOutcomeUnknown)
	timeout := result(call.Unknown, call.Failure{Type: call.ProviderTimeout})
	require.Equal(t, call.ProviderTimeout, timeout.Type)
	invalid := result(call.Failed, call.Failure{Type: call.InvalidInput, Validation: `[{"loc":["body"]}]`})
	require.JSONEq(t, `[{"loc":["body"]}]`, string(invalid.Validation))
}

// The key of a node's call differs by node, however long its id is, and stays short.
func TestKeysOfNodesAreShortAndDistinct(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 64)
	require.Equal(t, "node:j:1:0:"+long, call.NodeKey("j", 1, 0, long))
	a, b := call.NodeKey("j", 1, 0, long+"a"), call.NodeKey("j", 1, 0, long+"b")
	require.NotEqual(t, a, b)
	require.Less(t, len(a), 100)
}

func (o *one) Key(context.Context, string, string) (call.KeyRecord, bool, error) {
	return call.KeyRecord{Call: o.call.ID}, o.call.ID != "", o.failing
}

func (o *one) Cancel(context.Context, string, call.ID, string) (bool, error) {
	o.canceled++
	return true, o.refused
}

func (o *one) OfJob(context.Context, string, call.JobRun) (ids []call.ID, _ error) {
	if o.call.ID != "" {
		ids = append(ids, o.call.ID)
	}
	return ids, o.failing
}

// The calls of a node or of a job that is interrupted are asked to stop, if there are some.
func TestTheCallsOfNodesAndJobsAreStopped(t *testing.T) {
	t.Parallel()
	away := fault.New(fault.Unavailable, "", "the database is away")
	for name, c := range map[string]struct {
		store    one
		canceled int
		err      error
	}{
		"a call":                      {one{call: call.Call{ID: "c"}}, 1, nil},
		"no call":                     {one{}, 0, nil},
		"the key is not known":        {one{call: call.Call{ID: "c"}, failing: away}, 0, away},
		"the request is not recorded": {one{call: call.Call{ID: "c"}, refused: away}, 1, away},
	} {
		s := call.NewService(call.Deps{Store: &c.store})
		for i, err := range []error{s.StopNode(t.Context(), "a", "k", "r"), s.StopJob(t.Context(), "a", call.JobRun{}, "r")} {
			require.Equal(t, c.err != nil, err != nil, "%s, %d", name, i)
			require.ErrorIs(t, err, c.err, "%s, %d", name, i)
		}
		require.Equal(t, 2*c.canceled, c.store.canceled, name)
	}
}
