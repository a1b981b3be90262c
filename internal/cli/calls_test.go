package cli_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/projections/calls"
	"github.com/millrace-dev/millrace/projections/usage"
)

func TestCallsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.NoError(t, errors.Join(call.Register(s.types), credit.Register(s.types)))
	store := callstore.New(s.pool, s.store, accountstore.NewCredits(s.pool, s.store))
	limits := call.Limits{Enabled: true, Steps: []call.Step{{Concurrent: 5}}, QueueFor: time.Hour}
	n := call.NewCall{ID: "aaaaaaaa-0000-4000-8000-000000000001", Account: "local", Limits: limits, Accepted: call.AcceptedV1{
		Model: "sim/echo", Provider: "sim", Mode: call.Sync, API: call.V2, Held: 40_000,
	}}
	_, err := store.Accept(t.Context(), n)
	require.NoError(t, err)
	run := call.Run{Call: n.ID, Account: n.Account, Run: 1}
	_, err = store.End(t.Context(), call.Ending{
		Run: run, Type: call.TypeOutcomeUnknown, Reservation: call.KeepReserved, Limits: limits,
		Data: call.OutcomeUnknownV1{Model: "sim/echo", Failure: call.Failure{Type: call.InternalError, Status: 500, Detail: "interrupted"}},
	})
	require.NoError(t, err)

	out, err := s.run(t, "calls", "reconcile", "aaaaaaaa", "--charged", "0.03", "--reason", "on the bill")
	require.NoError(t, err)
	require.Contains(t, out, "settled for $0.03")
	_, err = s.run(t, "calls", "reconcile", "aaaaaaaa", "--charged", "0.03", "--reason", "again")
	require.Error(t, err)

	require.NoError(t, pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
		events, err := eventstore.ReadStream(t.Context(), tx, n.ID.Stream(), 0, 100)
		if err != nil {
			return err
		}
		return errors.Join(calls.NewProjection(s.types).Apply(t.Context(), tx, events),
			usage.NewProjection(s.types).Apply(t.Context(), tx, events))
	}))
	for _, args := range [][]string{
		{"calls", "list", "--status", "unknown", "--model", "sim/echo"},
		{"calls", "show", "aaaa"},
		{"calls", "events", "aaaa"},
		{"calls", "usage"},
	} {
		out, err := s.run(t, args...)
		require.NoError(t, err, args)
		require.Contains(t, out, map[string]string{
			"list": string(n.ID), "show": "interrupted", "events": "call.reconciled",
			"usage": "$0.03",
		}[args[1]])
	}
	var c call.Call
	s.json(t, &c, "calls", "show", "aaaa")
	require.Equal(t, call.Unknown, c.State)
	require.EqualValues(t, 30_000, *c.Charged)
	var before call.Call
	s.json(t, &before, "calls", "show", "aaaa", "--at", "v1")
	require.Nil(t, before.Charged, "as it was")
	out, err = s.run(t, "calls", "timeline", "aaaa")
	require.NoError(t, err)
	require.Contains(t, out, "waits for an operator")
	second := n
	second.ID, second.Accepted.Model = "aaaabbbb-0000-4000-8000-000000000001", "sim/other"
	_, err = store.Accept(t.Context(), second)
	require.NoError(t, err)
	var differences struct{ State, Times []struct{ What, A, B string } }
	s.json(t, &differences, "calls", "diff", "aaaaaaaa", "aaaabbbb")
	require.Contains(t, differences.State, struct{ What, A, B string }{"model", "sim/echo", "sim/other"})
	out, err = s.run(t, "calls", "diff", "aaaaaaaa", "aaaabbbb")
	require.NoError(t, err)
	require.Contains(t, out, "histories differ from version")
	_, err = s.run(t, "calls", "show", "aaaa")
	require.ErrorContains(t, err, "several calls have ids")
	out, err = s.run(t, "calls", "list", "--status", "failed")
	require.NoError(t, err)
	require.Equal(t, "no call matches\n", out)
	out, err = s.run(t, "calls", "list", "--status", "failed", "--json")
	require.NoError(t, err)
	require.JSONEq(t, "[]", out)
	_, err = s.run(t, "calls", "timeline", "x")
	require.ErrorContains(t, err, "is not the id of a call")
	for _, args := range [][]string{
		{"calls", "list", "--limit", "0"},
		{"calls", "list", "--limit", "1001"},
		{"calls", "list", "--status", "nonsense"},
		{"calls", "show", "bbbb"},
		{"calls", "show", "x"},
	} {
		_, err := s.run(t, args...)
		require.Error(t, err, args)
	}
}
