package callstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// fixture are a call store and what it stands on.
type fixture struct {
	pool    *pgxpool.Pool
	types   *eventlog.Registry
	credits *accountstore.Credits
	calls   *callstore.Store
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	types := eventlog.NewRegistry()
	require.NoError(t, errors.Join(call.Register(types), credit.Register(types)))
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	events := eventstore.New(pool, types, nil)
	credits := accountstore.NewCredits(pool, events)
	return fixture{pool, types, credits, callstore.New(pool, events, credits)}
}

var wide = call.Limits{Enabled: true, Steps: []call.Step{{Concurrent: 10}}, Backlog: 10, QueueFor: time.Hour}

func newCall(key string, held int64) call.NewCall {
	return call.NewCall{
		ID: call.NewID(), Account: "a", Key: key, Fingerprint: blob.Sum([]byte(key)), Limits: wide,
		Accepted: call.AcceptedV1{
			Model: "m/n", Provider: "m", Mode: call.Sync, API: call.V2, Request: call.Body{Ref: blob.Sum([]byte("r"))},
			Held: held,
		},
	}
}

func succeeded(n call.NewCall, charged int64) call.Ending {
	return call.Ending{
		Run: call.Run{Call: n.ID, Account: n.Account, Run: 1}, Type: call.TypeSucceeded, Charged: charged, Limits: n.Limits,
		Data: call.SucceededV1{Model: "m/n", Charged: charged},
	}
}

func unknown(n call.NewCall) call.Ending {
	e := succeeded(n, 0)
	e.Type, e.Data, e.Reservation = call.TypeOutcomeUnknown, call.OutcomeUnknownV1{Model: "m/n"}, call.KeepReserved
	return e
}

func (b fixture) balance(t *testing.T) credit.Balance {
	t.Helper()
	balance, err := b.credits.Balance(t.Context(), "a")
	require.NoError(t, err)
	return balance
}

func (b fixture) admission(t *testing.T) (inFlight, queued int, committed, spent int64) {
	t.Helper()
	require.NoError(t, b.pool.QueryRow(t.Context(), `select in_flight, queued, committed, spent from call_admissions where account = 'a'`).
		Scan(&inFlight, &queued, &committed, &spent))
	return inFlight, queued, committed, spent
}

func TestLedgerRecordsReservationAndChargeOfACall(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	require.NoError(t, b.credits.Grant(t.Context(), "a", 100, "operator", "test"))
	paid, lost, late := newCall("", 40), newCall("", 30), newCall("", 20)
	for _, n := range []call.NewCall{paid, lost, late} {
		_, err := b.calls.Accept(t.Context(), n)
		require.NoError(t, err)
	}
	_, err := b.calls.Accept(t.Context(), newCall("k", 20))
	require.ErrorContains(t, err, "credits")
	_, found, err := b.calls.Key(t.Context(), "a", "k")
	require.NoError(t, err)
	require.False(t, found, "a refused call releases its key")
	for range 2 { // repeating changes nothing
		_, err = b.calls.End(t.Context(), succeeded(paid, 25))
		require.NoError(t, err)
		_, err = b.calls.End(t.Context(), unknown(lost))
		require.NoError(t, err)
		_, err = b.calls.End(t.Context(), unknown(late))
		require.NoError(t, err)
	}
	require.Equal(t, credit.Balance{Metered: true, Available: 25, Held: 50, Settled: 25, Granted: 100}, b.balance(t))
	inFlight, _, committed, spent := b.admission(t)
	require.Equal(t, []int64{0, 0, 25}, []int64{int64(inFlight), committed, spent}, "the gates forget a call that ended, whatever its end")
	require.NoError(t, b.calls.Reconcile(t.Context(), "a", lost.ID, onTheBill(30, "on the bill")))
	require.Error(t, b.calls.Reconcile(t.Context(), "a", lost.ID, onTheBill(30, "again")))
	done, err := b.calls.End(t.Context(), succeeded(late, 10)) // its answer arrives after all
	require.NoError(t, err)
	require.True(t, done.Applied)
	require.Error(t, b.calls.Reconcile(t.Context(), "a", late.ID, onTheBill(20, "too late")))
	require.Equal(t, credit.Balance{Metered: true, Available: 35, Settled: 65, Granted: 100}, b.balance(t))
	c, err := b.calls.Load(t.Context(), "a", late.ID)
	require.NoError(t, err)
	require.Equal(t, call.Succeeded, c.State)
	_, err = b.calls.Load(t.Context(), "b", late.ID)
	require.Error(t, err, "another account sees nothing")
}

func TestAnExpiredKeyRunsAnew(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	first := newCall("k", 0)
	_, err := b.calls.Accept(t.Context(), first)
	require.NoError(t, err)
	_, err = b.calls.Accept(t.Context(), newCall("k", 0))
	require.ErrorIs(t, err, call.ErrKeyTaken)
	var left time.Duration
	require.NoError(t, b.pool.QueryRow(t.Context(), `select expires_at - now() from call_keys`).Scan(&left))
	require.InDelta(t, call.Retention.Seconds(), left.Seconds(), 60)
	_, err = b.pool.Exec(t.Context(), `update call_keys set expires_at = now()`)
	require.NoError(t, err)
	_, found, err := b.calls.Key(t.Context(), "a", "k")
	require.NoError(t, err)
	require.False(t, found)
	second := newCall("k", 0)
	_, err = b.calls.Accept(t.Context(), second)
	require.NoError(t, err)
	rec, _, err := b.calls.Key(t.Context(), "a", "k")
	require.NoError(t, err)
	require.Equal(t, second.ID, rec.Call)
}

func TestCostlyModelsHaveAQuarter(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	costly := func() call.NewCall {
		n := newCall("", 6_000_000)
		n.Costly, n.Limits.Steps = true, []call.Step{{Concurrent: 8}}
		return n
	}
	for range 2 {
		_, err := b.calls.Accept(t.Context(), costly())
		require.NoError(t, err)
	}
	_, err := b.calls.Accept(t.Context(), costly())
	require.Equal(t, call.ConcurrencyLimit, call.RefusalOf(err).Type)
	cheap := newCall("", 1)
	cheap.Limits.Steps = []call.Step{{Concurrent: 8}}
	_, err = b.calls.Accept(t.Context(), cheap)
	require.NoError(t, err)
	none := newCall("", 0)
	none.Limits.Steps = nil
	_, err = b.calls.Accept(t.Context(), none)
	require.Equal(t, fault.Denied, call.RefusalOf(err).Kind)
}

func TestBodiesAreNeededUntilADayAfterTheEnd(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	n := newCall("", 0)
	request, answer := n.Accepted.Request.Ref, blob.Sum([]byte("answer"))
	_, err := b.calls.Accept(t.Context(), n)
	require.NoError(t, err)
	needed := func() map[blob.Ref]bool {
		found, err := b.calls.Referenced(t.Context(), []blob.Ref{request, answer})
		require.NoError(t, err)
		return found
	}
	require.Equal(t, map[blob.Ref]bool{request: true}, needed())
	e := succeeded(n, 0)
	e.Keep = []call.Body{{Ref: answer}}
	_, err = b.calls.End(t.Context(), e)
	require.NoError(t, err)
	require.Equal(t, map[blob.Ref]bool{request: true, answer: true}, needed())
	_, err = b.pool.Exec(t.Context(), `update call_blobs set keep_until = keep_until - interval '24 hours'`)
	require.NoError(t, err)
	require.Empty(t, needed())
	require.NoError(t, b.calls.Forget(t.Context()))
}

func TestRestartingACallNumbersItsRuns(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	n := newCall("", 0)
	first, err := b.calls.Accept(t.Context(), n)
	require.NoError(t, err)
	held, err := b.calls.RunningAfter(t.Context(), "", 0, 10)
	require.NoError(t, err)
	require.Empty(t, held, "its start is still to be carried out")
	_, err = b.pool.Exec(t.Context(), `delete from outbox`)
	require.NoError(t, err)
	held, err = b.calls.RunningAfter(t.Context(), "", 0, 10)
	require.NoError(t, err)
	require.Len(t, held, 1)
	again, err := b.calls.Restart(t.Context(), held[0], "sweeper", "gone")
	require.NoError(t, err)
	require.True(t, again)
	var workflow string
	require.NoError(t, b.pool.QueryRow(t.Context(), `select workflow_id from outbox`).Scan(&workflow))
	require.NotEqual(t, first.Intents[0].WorkflowID, workflow)
	none, err := b.calls.Restart(t.Context(), held[0], "sweeper", "gone") // another sweeper saw the same
	require.NoError(t, err)
	require.False(t, none)
	for what, query := range map[string]string{
		"intents":    `select count(*) from outbox`,
		"events":     `select count(*) from events where type = 'call.requeued.v1'`,
		"second run": `select count(*) from call_slots where run = 2`,
	} {
		var n int
		require.NoError(t, b.pool.QueryRow(t.Context(), query).Scan(&n))
		require.Equal(t, 1, n, "%s: the second restart has changed nothing", what)
	}
}

func TestHeartbeats(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	alive, err := b.calls.Alive(t.Context(), "w")
	require.NoError(t, err)
	require.False(t, alive)
	require.NoError(t, b.calls.Heartbeat(t.Context(), "w"))
	alive, err = b.calls.Alive(t.Context(), "w")
	require.NoError(t, err)
	require.True(t, alive)
	_, err = b.pool.Exec(t.Context(), `update call_workers set seen_at = now() - interval '1 hour'`) // the clock was set
	require.NoError(t, err)
	alive, err = b.calls.Alive(t.Context(), "w")
	require.NoError(t, err)
	require.True(t, alive, "it takes silence that was listened to")
}

func TestStrayCallsOfEndedJobs(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	require.NoError(t, b.credits.Grant(t.Context(), "a", 100, "operator", "test"))
	over, live, earlier, own := newCall("1", 10), newCall("2", 10), newCall("3", 10), newCall("4", 10)
	job := string(call.NewID())
	over.For, live.For, earlier.For = &call.JobRun{Job: string(call.NewID()), Run: 1}, &call.JobRun{Job: job, Run: 2},
		&call.JobRun{Job: job, Run: 1}
	for _, n := range []call.NewCall{over, live, earlier, own} {
		_, err := b.calls.Accept(t.Context(), n)
		require.NoError(t, err)
	}
	_, err := b.pool.Exec(t.Context(), `insert into job_slots (job_id, account, run) values ($1, 'a', 2)`, job)
	require.NoError(t, err)
	stray := func(age time.Duration) (found []call.ID) {
		runs, err := b.calls.Stray(t.Context(), age, 10)
		require.NoError(t, err)
		for _, r := range runs {
			require.NotNil(t, r.For)
			found = append(found, r.Call)
		}
		return found
	}
	require.Equal(t, []call.ID{over.ID, earlier.ID}, stray(0), "neither a caller's own call nor that of a run under way")
	require.Empty(t, stray(time.Minute))
	ofJob, err := b.calls.OfJob(t.Context(), "a", *live.For)
	require.NoError(t, err)
	require.Equal(t, []call.ID{live.ID}, ofJob)
	ofJob, err = b.calls.OfJob(t.Context(), "b", *live.For)
	require.NoError(t, err)
	require.Empty(t, ofJob, "another account's")

	for range 2 { // asking twice records it once
		done, err := b.calls.Cancel(t.Context(), "a", over.ID, string(call.NewID()))
		require.NoError(t, err)
		require.True(t, done)
	}
	c, err := b.calls.Load(t.Context(), "a", over.ID)
	require.NoError(t, err)
	require.True(t, c.Canceling)
	require.EqualValues(t, 3, c.Version)
	require.Equal(t, []call.ID{earlier.ID}, stray(0), "it knows")
	runs, err := b.calls.Stray(t.Context(), 0, 10)
	require.NoError(t, err)
	_, err = b.calls.Cancel(t.Context(), "a", earlier.ID, string(call.NewID()))
	require.NoError(t, err)
	_, err = b.calls.Restart(t.Context(), runs[0], "sweeper", "gone") // read before it was canceled
	require.NoError(t, err)
	require.Empty(t, stray(0), "a restart does not forget it")

	e := succeeded(over, 0)
	e.Type, e.Data = call.TypeCanceled, call.CanceledV1{Model: "m/n"}
	_, err = b.calls.End(t.Context(), e)
	require.NoError(t, err)
	inFlight, _, committed, _ := b.admission(t)
	require.Equal(t, []int64{3, 30}, []int64{int64(inFlight), committed}, "place and hold are free again")
	require.EqualValues(t, 30, b.balance(t).Held)
}

func onTheBill(charged int64, reason string) callstore.Settlement {
	return callstore.Settlement{Charged: charged, By: eventlog.Meta{Actor: "operator", Reason: reason}}
}
