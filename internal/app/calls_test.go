package app_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/call"
	"github.com/millrace-dev/millrace/internal/credit"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/projections/calls"
	"github.com/millrace-dev/millrace/projections/usage"
)

func TestCallsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.NoError(t, errors.Join(call.Register(s.types), credit.Register(s.types)))
	store := postgres.NewCalls(s.pool, s.store, postgres.NewCredits(s.pool, s.store))
	limits := call.Limits{Enabled: true, Steps: []call.Step{{Concurrent: 5}}, QueueFor: time.Hour}
	n := call.NewCall{ID: "aaaaaaaa-0000-4000-8000-000000000001", Account: "local", Limits: limits, Fact: call.AcceptedV1{
		Model: "sim/echo", Provider: "sim", Mode: call.Sync, API: call.V2, Held: 40_000,
	}}
	_, err := store.Accept(t.Context(), n)
	require.NoError(t, err)
	run := call.Run{Call: n.ID, Account: n.Account, Run: 1}
	_, err = store.End(t.Context(), call.Ending{
		Run: run, Type: call.TypeOutcomeUnknown, Hold: call.KeepHold, Limits: limits,
		Fact: call.OutcomeUnknownV1{Model: "sim/echo", Failure: call.Failure{Type: call.InternalError, Status: 500, Detail: "interrupted"}},
	})
	require.NoError(t, err)

	out, err := s.run(t, "calls", "reconcile", "aaaaaaaa", "--charged", "0.03", "--reason", "on the bill")
	require.NoError(t, err)
	require.Contains(t, out, "settled for $0.03")
	_, err = s.run(t, "calls", "reconcile", "aaaaaaaa", "--charged", "0.03", "--reason", "again")
	require.Error(t, err)

	require.NoError(t, pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
		facts, err := postgres.ReadStream(t.Context(), tx, n.ID.Stream(), 0, 100)
		if err != nil {
			return err
		}
		return errors.Join(calls.NewProjection(s.types).Apply(t.Context(), tx, facts), usage.NewProjection(s.types).Apply(t.Context(), tx, facts))
	}))
	for _, args := range [][]string{
		{"calls", "list", "--status", "unknown", "--model", "sim/echo"}, {"calls", "show", "aaaa"}, {"calls", "events", "aaaa"}, {"calls", "usage"},
	} {
		out, err := s.run(t, args...)
		require.NoError(t, err, args)
		require.Contains(t, out, map[string]string{"list": string(n.ID), "show": "interrupted", "events": "call.reconciled.v1", "usage": "$0.03"}[args[1]])
	}
	var c call.Call
	s.json(t, &c, "calls", "show", "aaaa")
	require.Equal(t, call.Unknown, c.State)
	require.EqualValues(t, 30_000, *c.Charged)
	var before call.Call
	s.json(t, &before, "calls", "show", "aaaa", "--at", "v1")
	require.Nil(t, before.Charged, "as it was")
	for _, args := range [][]string{{"calls", "list", "--status", "nonsense"}, {"calls", "show", "bbbb"}, {"calls", "show", "x"}} {
		_, err := s.run(t, args...)
		require.Error(t, err, args)
	}
}
