package calls_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/projections/calls"
	"github.com/millrace-dev/millrace/projections/projectiontest"
	"github.com/millrace-dev/millrace/projections/usage"
)

func registry(tb testing.TB) *eventlog.Registry {
	tb.Helper()
	r := eventlogtest.Registry(tb)
	require.NoError(tb, call.Register(r))
	return r
}

// id returns the nth call of a history.
func id(n int) call.ID {
	return call.ID(uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, n)).String())
}

func given(n int, account, eventType string, data any) projectiontest.Given {
	return projectiontest.Given{Stream: id(n).Stream(), Account: account, Type: eventType, Data: data}
}

const model = "sim/echo"

func accepted(n int, account string) projectiontest.Given {
	return given(n, account, call.TypeAccepted, call.AcceptedV1{
		Model: model, Provider: "sim", Mode: call.Sync, API: call.V2, Keyed: true, Held: 40_000,
		Request: call.Body{Ref: blob.Sum([]byte("request")), Size: 7, ContentType: "application/json"},
	})
}

// history is the life of four calls: one that succeeds, one refused by its provider, one whose outcome is
// unknown until its answer comes late, and one that an operator settles.
func history() []projectiontest.Given {
	answer := call.Body{Ref: blob.Sum([]byte("answer")), Size: 6, ContentType: "text/plain"}
	failure := call.Failure{Type: call.PolicyViolation, Status: 400, Detail: "no"}
	return []projectiontest.Given{
		accepted(1, "acme"), accepted(2, "acme"),
		given(1, "acme", call.TypeAdmitted, call.AdmittedV1{Run: 1}),
		given(1, "acme", call.TypeDispatching, call.DispatchingV1{Run: 1, Token: "t", Worker: "w"}),
		{Stream: "note-1", Account: "acme", Type: eventlogtest.TypeNoted, Data: eventlogtest.NotedV1{Text: "not a call"}},
		given(1, "acme", call.TypeClientDisconnected, call.ClientDisconnectedV1{}),
		given(1, "acme", call.TypeProviderAccepted, call.ProviderAcceptedV1{Handle: "h"}),
		given(1, "acme", call.TypeAnswered, call.AnsweredV1{Answer: answer, Price: 30_000}),
		given(1, "acme", call.TypeHosted, call.HostedV1{Assets: []call.HostedAsset{{Pointer: "/url", Asset: "a"}}, Answer: answer}),
		given(1, "acme", call.TypeSucceeded, call.SucceededV1{Model: model, Answer: answer, Replayable: true, Charged: 30_000}),
		given(2, "acme", call.TypeFailed, call.FailedV1{Model: model, Failure: failure, Charged: 1000}),
		accepted(3, "acme"),
		given(3, "acme", call.TypeOutcomeUnknown, call.OutcomeUnknownV1{Model: model, Failure: failure}),
		given(3, "acme", call.TypeSucceeded, call.SucceededV1{Model: model, Answer: answer, Charged: 20_000, Late: true}),
		accepted(4, "beta"),
		given(4, "beta", call.TypeOutcomeUnknown, call.OutcomeUnknownV1{Model: model, Failure: failure}),
		given(4, "beta", call.TypeReconciled, call.ReconciledV1{Model: model, Charged: 5000}),
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	r := registry(t)
	projectiontest.Golden(t, projectiontest.NewPool, calls.NewProjection(r), "calls", projectiontest.Record(t, r, history()...))
}

func TestUsage(t *testing.T) {
	t.Parallel()
	r := registry(t)
	projectiontest.Golden(t, projectiontest.NewPool, usage.NewProjection(r), "usage", projectiontest.Record(t, r, history()...))
}

func TestCallsEqualTheirRebuild(t *testing.T) {
	t.Parallel()
	r := registry(t)
	projectiontest.Live(t, r, calls.NewProjection(r), history()...)
}

func TestUsageEqualsItsRebuild(t *testing.T) {
	t.Parallel()
	r := registry(t)
	projectiontest.Live(t, r, usage.NewProjection(r), history()...)
}
