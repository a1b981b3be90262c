package call_test

import (
	"context"
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
}

func (o *one) Load(context.Context, string, call.ID) (call.Call, error) { return o.call, o.failing }

func (o *one) Count(context.Context, string, []call.Window) error {
	o.counted++
	return nil
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
		"just before a day":    {nil, "", call.Retention - 1, found, false},
		"after a day":          {nil, "", call.Retention, fault.NotFound, true},
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
}
