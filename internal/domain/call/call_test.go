package call_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

const id = call.ID("0b9f3f2c-6a55-4f3e-9d8e-3f1c5a6b7c8d")

// fold applies events as the versions 1, 2, 3 … of one stream, a second apart.
func fold(events ...any) call.Call {
	var c call.Call
	for i, event := range events {
		c = call.Fold(c, recorded(i+1), event)
	}
	return c
}

func recorded(version int) eventlog.Recorded {
	return eventlog.Recorded{
		Position: int64(100 + version), Stream: id.Stream(), Version: int64(version), Account: "acme",
		RecordedAt: time.Date(2026, 1, 2, 3, 4, version, 0, time.UTC),
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	var (
		sent     = []any{call.AcceptedV1{}, call.AdmittedV1{Run: 1}, call.DispatchingV1{Token: "t"}}
		running  = append(sent[:3:3], call.ProviderAcceptedV1{Handle: "h"})
		answered = append(running[:4:4], call.AnsweredV1{Price: 5})
		unknown  = append(sent[:3:3], call.OutcomeUnknownV1{})
	)
	for name, tc := range map[string]struct {
		events []any
		want   call.State
	}{
		"accepted":                     {sent[:1:1], call.Waiting},
		"admitted":                     {sent[:2:2], call.Admitted},
		"on the wire":                  {sent, call.Dispatching},
		"taken":                        {running, call.Running},
		"answered":                     {answered, call.Answered},
		"done":                         {append(answered[:5:5], call.SucceededV1{}), call.Succeeded},
		"let go changes no state":      {append(running[:4:4], call.ClientDisconnectedV1{}), call.Running},
		"asked to stop":                {append(running[:4:4], call.CancelRequestedV1{}), call.Running},
		"stopped":                      {append(running[:4:4], call.CanceledV1{}), call.Canceled},
		"refused":                      {append(sent[:3:3], call.FailedV1{}), call.Failed},
		"nobody knows":                 {unknown, call.Unknown},
		"known late":                   {append(unknown[:4:4], call.SucceededV1{Late: true}), call.Succeeded},
		"settled by an operator":       {append(unknown[:4:4], call.ReconciledV1{Charged: 7}), call.Unknown},
		"an event nobody knows of yet": {append(running[:4:4], struct{}{}), call.Running},
		"timed out while it waited":    {append(sent[:1:1], call.FailedV1{Unsent: true}), call.Failed},
		"canceled while it waited":     {append(sent[:1:1], call.CanceledV1{}), call.Canceled},
		"hosted and not yet the end":   {append(answered[:5:5], call.HostedV1{}), call.Answered},
		"a deadline is not the end":    {append(sent[:3:3], call.DeadlineExceededV1{}), call.Dispatching},
		"unknown has ended as well":    {unknown, call.Unknown},
		"a late failure replaces it":   {append(unknown[:4:4], call.FailedV1{Late: true}), call.Failed},
		"an operator's zero is known":  {append(unknown[:4:4], call.ReconciledV1{}), call.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := fold(tc.events...)
			require.Equal(t, tc.want, c.State)
			require.EqualValues(t, len(tc.events), c.Version)
			require.Equal(t, tc.want.Final(), c.EndedAt != nil)
		})
	}
}

func TestDeliveringTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	events := []any{
		call.AcceptedV1{Model: "a/b", Base: "https://x"},
		call.AdmittedV1{Run: 1},
		call.DispatchingV1{Token: "t"},
		call.AnsweredV1{Answer: call.Body{Size: 3}},
		call.HostedV1{Assets: []call.HostedAsset{{}}},
		call.SucceededV1{Charged: 9},
	}
	once := fold(events...)
	twice := once
	for i, event := range events {
		twice = call.Fold(twice, recorded(i+1), event)
	}
	require.Equal(t, once, twice)
	require.Equal(t, once, call.Fold(once, recorded(len(events)), call.CanceledV1{}), "its version is folded already")
	require.Equal(t, 1, once.Hosted)
	require.EqualValues(t, 9, *once.Charged)
}

func TestEventIDsDifferByCallIndexAndType(t *testing.T) {
	t.Parallel()
	base := call.EventID(id, 0, call.TypeSucceeded)
	require.Equal(t, base, call.EventID(id, 0, call.TypeSucceeded))
	require.NotEqual(t, base, call.EventID(call.NewID(), 0, call.TypeSucceeded))
	require.NotEqual(t, base, call.EventID(id, 1, call.TypeSucceeded))
	require.NotEqual(t, base, call.EventID(id, 0, call.TypeFailed))
}

func TestParseID(t *testing.T) {
	t.Parallel()
	got, err := call.ParseID(string(id))
	require.NoError(t, err)
	require.Equal(t, id, got)
	for _, bad := range []string{
		"", "x", "0B9F3F2C-6A55-4F3E-9D8E-3F1C5A6B7C8D", "{0b9f3f2c-6a55-4f3e-9d8e-3f1c5a6b7c8d}",
		"0b9f3f2c6a554f3e9d8e3f1c5a6b7c8d",
	} {
		_, err := call.ParseID(bad)
		require.Error(t, err, bad)
	}
	of, ok := call.IDOfStream(id.Stream())
	require.True(t, ok)
	require.Equal(t, id, of)
	_, ok = call.IDOfStream("job-" + string(id))
	require.False(t, ok)
}

func TestFingerprintDependsOnEveryByte(t *testing.T) {
	t.Parallel()
	seen := map[blob.Ref]bool{}
	for _, parts := range [][3]string{
		{"POST", "/v2/models/a/b", "{}"},
		{"PUT", "/v2/models/a/b", "{}"},
		{"POST", "/v2/models/a/b?x", "{}"},
		{"POST", "/v2/models/a/b", "{ }"},
		{"POST", "/v2/models/a/b{", "}"},
		{"POS", "T/v2/models/a/b", "{}"},
		{"POST", "/a", "\x00\x00\x00\x00\x00\x00\x00\x00{}"},
		{"POST", "/a\x00\x00\x00\x00\x00\x00\x00\x00", "{}"},
	} {
		f := call.Fingerprint(parts[0], parts[1], []byte(parts[2]))
		require.Equal(t, f, call.Fingerprint(parts[0], parts[1], []byte(parts[2])))
		require.False(t, seen[f], parts)
		seen[f] = true
	}
}

func TestConcurrencyLimitFollowsTheSpend(t *testing.T) {
	t.Parallel()
	const dollar = 1_000_000
	l := call.Limits{Steps: []call.Step{{0, 1}, {1, 5}, {100 * dollar, 10}, {500 * dollar, 20}, {1000 * dollar, 40}}}
	for spent, want := range map[int64][2]int{
		0: {1, 1}, 1: {5, 1}, 99 * dollar: {5, 1}, 100 * dollar: {10, 2}, 500 * dollar: {20, 5}, 5000 * dollar: {40, 10},
	} {
		all, costly := l.Concurrent(spent)
		require.Equal(t, want, [2]int{all, costly}, spent)
	}
	all, costly := call.Limits{Steps: []call.Step{{0, 0}}}.Concurrent(0)
	require.Zero(t, all+costly)
}

func TestRefusalsOfFaultsHoldNoInternalText(t *testing.T) {
	t.Parallel()
	secret := errors.New("password=hunter2")
	const away, failed = call.ServiceUnavailable, call.InternalError
	for kind, errorType := range map[fault.Kind]string{
		fault.Unavailable: away, fault.Exhausted: away, fault.Canceled: away, fault.Internal: failed, fault.Conflict: failed,
		fault.NotFound: failed,
	} {
		r := call.RefusalOf(fault.Wrap(secret, kind, "", "internal words"))
		require.Equal(t, errorType, r.Type, kind)
		require.NotContains(t, r.Detail, "hunter2")
		require.NotContains(t, r.Detail, "internal words")
		require.ErrorIs(t, r, secret)
		require.Equal(t, errorType == away, r.RetryAfter > 0)
	}
	own := call.Refuse(fault.Exhausted, call.InsufficientCredits, "no")
	require.Same(t, own, call.RefusalOf(own))
}
