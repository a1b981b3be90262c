package callstore_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// joined makes all requests at once so that those behind the first are one joint transaction, and returns when each has an
// outcome.
func (b fixture) joined(t *testing.T, requests ...func()) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `insert into call_admissions (account) values ('a') on conflict do nothing`)
	require.NoError(t, err)
	admission := b.begin(t)
	_, err = admission.Exec(t.Context(), `select from call_admissions where account = 'a' for update`)
	require.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() {
		if _, err := b.calls.Accept(t.Context(), newCall("", 0)); err != nil {
			t.Error(err)
		}
	})
	b.until(t, func() bool {
		return b.count(t, `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`) > 0
	})
	for i, request := range requests {
		running.Go(request)
		b.until(t, func() bool { return b.calls.Joining("a") == i+1 })
	}
	require.NoError(t, admission.Rollback(t.Context()))
	running.Wait()
	b.consistent(t)
}

func (b fixture) begin(t *testing.T) pgx.Tx {
	t.Helper()
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // it may have ended
	return tx
}

// until waits for a condition.
func (b fixture) until(t *testing.T, is func() bool) {
	t.Helper()
	for !is() {
		require.NoError(t, pause.For(t.Context(), time.Millisecond))
	}
}

func (b fixture) count(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, b.pool.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

// consistent compares the account's counters with its rows, and these with the log.
func (b fixture) consistent(t *testing.T) {
	t.Helper()
	require.Zero(t, b.count(t, `select count(*) from call_admissions l where in_flight <> (select count(*) from call_slots s
		where s.account = l.account)
		or committed <> (select coalesce(sum(held), 0) from call_slots s where s.account = l.account)
		or costly <> (select count(*) from call_slots s where s.account = l.account and costly)
		or queued <> (select count(*) from call_queue q where q.account = l.account)`))
	require.Zero(t, b.count(t, `select count(*) from streams s where s.id like 'call-%' and s.closed
		<> not exists (select from call_slots c where 'call-' || c.call_id = s.id union all select from call_queue c
			where 'call-' || c.call_id = s.id)`))
}

// transactions returns how many transactions wrote the streams of these calls.
func (b fixture) transactions(t *testing.T, ids ...call.ID) int {
	t.Helper()
	var streams []string
	for _, id := range ids {
		streams = append(streams, id.Stream())
	}
	return b.count(t, `select count(distinct xmin::text) from streams where id = any($1)`, streams)
}

// accepting is a request to accept a call.
type accepting struct {
	call.NewCall
	got call.Admission
	err error
}

func (b fixture) accepting(t *testing.T, n call.NewCall) (*accepting, func()) {
	a := &accepting{NewCall: n}
	return a, func() { a.got, a.err = b.calls.Accept(t.Context(), n) }
}

// ends is a request to end a call, which must be applied.
func (b fixture) ends(t *testing.T, e call.Ending) func() {
	return func() {
		if done, err := b.calls.End(t.Context(), e); err != nil || !done.Applied || len(done.Recorded) == 0 {
			t.Errorf("%+v %v", done, err)
		}
	}
}

func (b fixture) accept(t *testing.T, n call.NewCall) call.NewCall {
	t.Helper()
	_, err := b.calls.Accept(t.Context(), n)
	require.NoError(t, err)
	return n
}

func TestAcceptancesAndEndsThatWaitAreCommittedTogether(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	three := wide
	three.Steps = []call.Step{{Concurrent: 3}}
	var ids []call.ID
	var requests []func()
	for range 2 {
		n := b.accept(t, newCall("", 0))
		e := succeeded(n, 5)
		e.Limits = three
		ids, requests = append(ids, n.ID), append(requests, b.ends(t, e))
	}
	var made []*accepting
	for range 4 {
		n := newCall("", 7)
		n.Accepted.Mode, n.Limits = call.Queued, three
		a, request := b.accepting(t, n)
		ids, made, requests = append(ids, n.ID), append(made, a), append(requests, request)
	}
	b.joined(t, requests...)
	require.Equal(t, 1, b.transactions(t, ids...))
	for i, a := range made {
		require.NoError(t, a.err)
		require.Equal(t, a.ID, a.got.Call.ID)
		if i < 2 { // the first took one of three slots, and the ends made room for two
			require.Equal(t, call.Admitted, a.got.Call.State)
			require.Len(t, a.got.Intents, 1)
			require.Equal(t, 1, b.count(t, `select count(*) from outbox where id = $1 and workflow_id = $2`, a.got.Intents[0].ID,
				a.ID.WorkflowID(1)))
			continue
		}
		require.Equal(t, call.Waiting, a.got.Call.State)
		require.EqualValues(t, i-2, a.got.Ahead)
		require.Empty(t, a.got.Intents)
	}
	_, _, committed, spent := b.admission(t)
	require.Equal(t, []int64{14, 10}, []int64{committed, spent})
	require.Equal(t, 1, b.count(t, `select count(distinct keep_until) from call_blobs where call_id = any($1) and keep_until < 'infinity'`,
		ids[:2]))
}

// The limits and keys of joined calls hold in the order of their arrival, and who is refused leaves nothing.
func TestEachCallerOfAJointTransactionHasItsOwnOutcome(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	used, unsent := b.accept(t, newCall("used", 0)), b.accept(t, newCall("unsent", 0))
	with := func(key string, held int64, change func(*call.NewCall)) call.NewCall {
		n := newCall(key, held)
		if change != nil {
			change(&n)
		}
		return n
	}
	rated := func(n *call.NewCall) {
		n.Limits.Windows = []call.Window{{Name: "day", Length: 24 * time.Hour, Calls: 2}}
	}
	ceiling := func(n *call.NewCall) { n.Limits.Ceiling = 100 }
	none := func(n *call.NewCall) { n.Limits.Steps = nil }
	slots := func(n int) func(*call.NewCall) {
		return func(c *call.NewCall) { c.Limits.Steps = []call.Step{{Concurrent: n}} }
	}
	costly := func(n *call.NewCall) { n.Costly, n.Limits.Steps = true, []call.Step{{Concurrent: 11}} }
	full := func(n *call.NewCall) {
		n.Accepted.Mode, n.Limits.Steps, n.Limits.Backlog = call.Queued, []call.Step{{Concurrent: 1}}, 1
	}
	outcomes := []struct {
		what string
		n    call.NewCall
		err  string // "" = accepted
	}{
		{"plain", with("", 0, nil), ""},
		{"a key of its own", with("own", 0, nil), ""},
		{"the same key", with("own", 0, nil), "key is taken"},
		{"a used key", with(used.Key, 0, nil), "key is taken"},
		{"a key that an end of this transaction releases", with(unsent.Key, 0, nil), ""},
		{"within the rate limit", with("", 0, rated), ""},
		{
			"over the ceiling, with a rate limit and a key", with("free again", 101, func(n *call.NewCall) { rated(n); ceiling(n) }),
			"spend ceiling",
		},
		{"the refused call's key", with("free again", 0, rated), ""},
		{"beyond the rate limit", with("kept", 0, rated), call.RateLimited},
		{"no access", with("", 0, none), call.Forbidden},
		{"within the ceiling", with("", 60, ceiling), ""},
		{"over the ceiling with that", with("", 60, ceiling), "spend ceiling"},
		{"costly", with("", 1, costly), ""},
		{"costly, the second", with("", 1, costly), ""},
		{"costly, a third", with("", 1, costly), "models at this price"},
		{"the last slot", with("", 0, slots(11)), ""},
		{"no slot left", with("", 0, slots(11)), call.ConcurrencyLimit},
		{"queued", with("", 0, full), ""},
		{"the queue is full", with("late", 0, full), call.QueueBacklogFull},
	}
	var made []*accepting
	var ids []call.ID
	e := unknown(unsent)
	e.Type, e.Data, e.ReleaseKey, e.Reservation = call.TypeFailed, call.FailedV1{Model: "m/n", Unsent: true}, true, call.Settle
	requests := []func(){b.ends(t, e)}
	for _, o := range outcomes {
		a, request := b.accepting(t, o.n)
		made, requests = append(made, a), append(requests, request)
	}
	b.joined(t, requests...)
	for i, o := range outcomes {
		if o.err != "" {
			require.ErrorContains(t, made[i].err, o.err, o.what)
			require.Empty(t, made[i].got, o.what)
			continue
		}
		require.NoError(t, made[i].err, o.what)
		ids = append(ids, o.n.ID)
	}
	require.Equal(t, 1, b.transactions(t, append(ids, unsent.ID)...))
	require.Equal(t, len(ids)+3, b.count(t, `select count(*) from streams`), "and the two before, and the first")
	require.Equal(t, 2, b.count(t, `select used from call_windows`))
	require.Equal(t, []int{4, 0}, []int{
		b.count(t, `select count(*) from call_keys`),
		b.count(t, `select count(*) from call_keys where key in ('kept', 'late')`),
	})
	rec, _, err := b.calls.Key(t.Context(), "a", unsent.Key)
	require.NoError(t, err)
	require.NotEqual(t, unsent.ID, rec.Call)
}

// An error of one change is its own: those that waited with it are committed.
func TestAChangeThatFailsAJointTransactionFailsAlone(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	ended, running := b.accept(t, newCall("", 0)), b.accept(t, newCall("", 0))
	_, err := b.calls.End(t.Context(), succeeded(ended, 1))
	require.NoError(t, err)
	again, acceptAgain := b.accepting(t, running)
	plain, accept := b.accepting(t, newCall("k", 0))
	var late call.Ended
	var lateErr error
	b.joined(t, acceptAgain, accept, b.ends(t, succeeded(running, 2)),
		func() { late, lateErr = b.calls.End(t.Context(), succeeded(ended, 1)) })
	require.NoError(t, plain.err)
	require.Error(t, again.err, "its id is used")
	require.NoError(t, lateErr)
	require.False(t, late.Applied)
	_, _, _, spent := b.admission(t)
	require.EqualValues(t, 3, spent, "each end once")
}

func TestAJointTransactionReservesAndChargesForEachCall(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	require.NoError(t, b.credits.Grant(t.Context(), "a", 45, "operator", "test"))
	var made []*accepting
	var requests []func()
	for range 6 {
		a, request := b.accepting(t, newCall("", 10))
		made, requests = append(made, a), append(requests, request)
	}
	b.joined(t, requests...)
	require.Equal(t, credit.Balance{Metered: true, Available: 5, Held: 40, Granted: 45}, b.balance(t))
	var ids []call.ID
	requests = nil
	for i, a := range made {
		if i >= 4 {
			require.Equal(t, fault.CodeInsufficientCredits, fault.CodeOf(a.err))
			continue
		}
		require.NoError(t, a.err)
		ids = append(ids, a.ID)
		requests = append(requests, b.ends(t, succeeded(a.NewCall, int64(i)))) // one of them is free of charge
	}
	require.Equal(t, 1, b.transactions(t, ids...))
	b.joined(t, requests...)
	require.Equal(t, credit.Balance{Metered: true, Available: 39, Settled: 6, Granted: 45}, b.balance(t))
	require.Equal(t, 1, b.transactions(t, ids...))
}

// However many call at once, from two processes, an account has no more calls in flight than it may, and spends no more than it
// has.
func TestJoinedCallsOfTwoProcessesKeepTheLimits(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	require.NoError(t, b.credits.Grant(t.Context(), "a", 70, "operator", "test"))
	other := b
	other.calls = callstore.New(b.pool, eventstore.New(b.pool, b.types, nil), b.credits)
	var running sync.WaitGroup
	var mu sync.Mutex
	var made []call.NewCall
	for i := range 80 {
		n := newCall("", 10)
		running.Go(func() {
			_, err := []fixture{b, other}[i%2].calls.Accept(t.Context(), n)
			mu.Lock()
			defer mu.Unlock()
			var refused *call.Refusal
			if err == nil {
				made = append(made, n)
			} else if !errors.As(err, &refused) && fault.CodeOf(err) != fault.CodeInsufficientCredits {
				t.Error(err)
			}
		})
	}
	running.Wait()
	require.Len(t, made, 7)
	b.consistent(t)
	require.Equal(t, credit.Balance{Metered: true, Held: 70, Granted: 70}, b.balance(t))
	require.NoError(t, b.credits.Grant(t.Context(), "a", 1000, "operator", "more"))
	for i, n := range slices.Concat(made, made) { // each end twice
		running.Go(func() {
			if _, err := []fixture{b, other}[i/2%2].calls.End(t.Context(), succeeded(n, 10)); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range 80 {
		running.Go(func() { _, _ = []fixture{b, other}[i%2].calls.Accept(t.Context(), newCall("", 10)) }) // refused or not
	}
	running.Wait()
	b.consistent(t)
	inFlight, _, _, spent := b.admission(t)
	require.LessOrEqual(t, inFlight, 10)
	require.EqualValues(t, 70, spent)
	require.EqualValues(t, 10*inFlight, b.balance(t).Held)
}

// A session that ends in the middle of a joint append takes nothing with it: everybody's call is recorded once.
func TestASessionThatEndsInAJointTransactionLosesNothing(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	var made []*accepting
	var requests []func()
	for _, key := range []string{"1", "2", "3", "4", "5"} {
		a, request := b.accepting(t, newCall(key, 0))
		made, requests = append(made, a), append(requests, request)
	}
	blocked := b.begin(t)
	_, err := blocked.Exec(t.Context(), `insert into streams (id, account, version) values ($1, 'another', 1)`, made[3].ID.Stream())
	require.NoError(t, err)
	var killed sync.WaitGroup
	killed.Go(func() {
		b.until(t, func() bool {
			return b.count(t, `select count(pg_terminate_backend(pid)) from pg_stat_activity
				where query like 'select * from append\_events\_or\_fail%' and wait_event_type = 'Lock' and datname = current_database()`) > 0
		})
		if err := blocked.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	})
	b.joined(t, requests...)
	killed.Wait()
	for _, a := range made {
		require.NoError(t, a.err)
		require.Equal(t, 1, b.count(t, `select count(*) from events where stream = $1 and type = $2`, a.ID.Stream(), call.TypeAccepted))
	}
	require.Equal(t, 6, b.count(t, `select count(*) from outbox`))
}
