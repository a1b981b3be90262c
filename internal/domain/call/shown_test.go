package call_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// The state of a call has what each event says, and nothing else.
func TestTheStateOfACallHasWhatItsEventsSay(t *testing.T) {
	t.Parallel()
	at := func(version int) time.Time { return recorded(version).RecordedAt }
	stamp := func(version int) *time.Time { at := at(version); return &at }
	body := func(size int64) call.Body { return call.Body{Size: size} }
	events := []any{
		call.AcceptedV1{
			Model: "m", Provider: "p", Mode: call.Queued, API: call.V2, Keyed: true, Options: call.Options{Strict: true}, Request: body(1), Held: 2,
			Base: "https://x", Server: "s",
		},
		call.AdmittedV1{Run: 1},
		call.RequeuedV1{Run: 2},
		call.DispatchingV1{Token: "t", Worker: "w"},
		call.ReroutedV1{Server: "f"},
		call.RepeatedV1{Token: "t2", Worker: "w2"},
		call.ProviderAcceptedV1{Handle: "h", Dropped: []string{"a"}, Price: 3},
		call.AnsweredV1{Answer: body(4), Price: 5, Linked: true},
		call.HostedV1{Answer: body(6), Assets: make([]call.HostedAsset, 2)},
		call.CancelRequestedV1{},
		call.ClientDisconnectedV1{},
	}
	answer := body(6)
	want := call.Call{
		ID: id, Account: "acme", State: call.Answered, Version: 11, Position: 111, Mode: call.Queued, API: call.V2, Model: "m", Provider: "p",
		Keyed: true, Options: call.Options{Strict: true}, Request: body(1), Base: "https://x", Held: 2, Run: 2, Token: "t2", Worker: "w2",
		Server: "f", Repeated: true, Handle: "h", Answer: &answer, Price: 5, Linked: true, Hosted: 2, Canceling: true, Detached: true,
		Served: call.Served{Fallback: "f", Dropped: []string{"a"}}, AcceptedAt: at(1), AdmittedAt: stamp(2), SentAt: stamp(4), UpdatedAt: at(11),
	}
	require.Equal(t, want, fold(events...))
	last := body(8)
	charged := int64(9)
	for _, end := range []struct {
		event any
		apply func(*call.Call)
	}{
		{call.SucceededV1{Answer: last, Replayable: true, Charged: 9, Served: call.Served{Fallback: "g"}}, func(c *call.Call) {
			c.State, c.Answer, c.Replayable, c.Charged, c.EndedAt = call.Succeeded, &last, true, &charged, stamp(12)
			c.Served = call.Served{Fallback: "g"}
		}},
		{call.FailedV1{Failure: call.Failure{Type: "x"}, Charged: 9}, func(c *call.Call) {
			c.State, c.Failure, c.Charged, c.EndedAt = call.Failed, &call.Failure{Type: "x"}, &charged, stamp(12)
		}},
		{call.CanceledV1{Charged: 9}, func(c *call.Call) { c.State, c.Charged, c.EndedAt = call.Canceled, &charged, stamp(12) }},
		{call.OutcomeUnknownV1{Failure: call.Failure{Type: "x"}}, func(c *call.Call) {
			c.State, c.Failure, c.EndedAt = call.Unknown, &call.Failure{Type: "x"}, stamp(12)
		}},
		{call.ReconciledV1{Charged: 9}, func(c *call.Call) { c.Charged = &charged }},
		{call.AnsweredV1{Answer: last, Dropped: []string{"b"}}, func(c *call.Call) {
			c.Answer, c.Price, c.Linked, c.Dropped = &last, 0, false, []string{"b"}
		}},
	} {
		c := want
		c.Version, c.Position, c.UpdatedAt = 12, 112, at(12)
		end.apply(&c)
		require.Equal(t, c, call.Fold(want, recorded(12), end.event))
	}
	unknown := call.Fold(want, recorded(12), call.OutcomeUnknownV1{Failure: call.Failure{Type: "x"}})
	require.Nil(t, call.Fold(unknown, recorded(13), call.SucceededV1{}).Failure, "an answer replaces an unknown outcome")
}

// Only the ends of calls end the waiting for them, and an end that cannot be decoded is left to the deadline.
func TestOnlyAnEndEndsTheWaiting(t *testing.T) {
	t.Parallel()
	for _, rec := range []eventlog.Recorded{
		{Type: call.TypeAnswered, Data: []byte(`{}`)},
		{Type: call.TypeSucceeded, Data: []byte(`{}`), Stream: "job-x"},
		{Type: call.TypeSucceeded, Data: []byte(`[`)},
		{Type: call.TypeSucceeded, Data: []byte(`{}`), Stream: call.NewID().Stream()},
	} {
		d := desk{limits: enabled, state: call.Call{State: call.Running}}
		ctx, leave := context.WithCancel(t.Context())
		inv := request("")
		d.hear = func() {
			rec.Version = 9
			if rec.Stream == "" {
				rec.Stream = call.ID(inv.RequestID).Stream()
			}
			d.hears.Observe([]eventlog.Recorded{rec})
			leave()
		}
		_, err := d.service(t).Run(ctx, inv)
		require.Equal(t, call.ClientDisconnected, call.RefusalOf(err).Type, rec.Type)
	}
	for eventType, want := range map[string]string{
		call.TypeFailed: call.PolicyViolation, call.TypeCanceled: call.CancelledType, call.TypeOutcomeUnknown: call.PolicyViolation,
	} {
		d := desk{limits: enabled}
		inv := request("")
		d.hear = func() {
			rec := eventlog.Recorded{
				Type: eventType, Data: []byte(`{"failure":{"type":"content_policy_violation"}}`), Version: 9, Stream: call.ID(inv.RequestID).Stream(),
			}
			d.hears.Observe([]eventlog.Recorded{rec, rec})
		}
		_, err := d.service(t).Run(t.Context(), inv)
		require.Equal(t, want, call.RefusalOf(err).Type)
		require.Empty(t, d.noted)
	}
}

// The bounds of dropped names are exact: 64 names of 300 bytes with their quotes, and 4096 bytes in all.
func TestTheBoundsOfDroppedNamesAreExact(t *testing.T) {
	t.Parallel()
	name := func(n int) string { return strings.Repeat("x", n) }
	require.Equal(t, `["`+name(298)+`"]`, call.DroppedParams([]string{name(298)}))
	require.Equal(t, `["`+name(298)+`"]`, call.DroppedParams([]string{name(299)}))
	for n, want := range map[int]int{64: 64, 65: 64} {
		var got []string
		require.NoError(t, json.Unmarshal([]byte(call.DroppedParams(make([]string, n))), &got))
		require.Len(t, got, want)
		require.Len(t, call.KeptDropped(make([]string, n)), want)
	}
	require.Equal(t, []string{name(300)}, call.KeptDropped([]string{name(301)}))
	// 13 entries of 301 bytes with their commas, and one of 183 to 4096
	full := make([]string, 0, 14)
	for range 13 {
		full = append(full, name(298))
	}
	require.Len(t, call.DroppedParams(append(full[:13:13], name(4096-13*301-4))), 4096)
	require.Len(t, call.DroppedParams(append(full[:13:13], name(4096-13*301-3))), 13*301+1)
}

// A process is dead from 15 seconds on, and a gap of more than 10 between two checks begins anew.
func TestTheBoundsOfHeartbeatsAreExact(t *testing.T) {
	t.Parallel()
	sign := time.Unix(5, 0)
	for gaps, alive := range map[[2]time.Duration]bool{
		{7 * time.Second, 8*time.Second - 1}:   true,
		{7 * time.Second, 8 * time.Second}:     false,
		{10 * time.Second, 10 * time.Second}:   false,
		{10*time.Second + 1, 10 * time.Second}: true,
		{10 * time.Second, 10*time.Second + 1}: true,
	} {
		w := watch(t)
		require.True(t, w.heartbeats.Alive("w", sign))
		for i, gap := range gaps {
			w.now = w.now.Add(gap)
			got := w.heartbeats.Alive("w", sign)
			require.Equal(t, i == 0 || alive, got, gaps)
		}
	}
}
