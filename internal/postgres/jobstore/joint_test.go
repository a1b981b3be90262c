package jobstore_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// joined calls all at once so that the calls behind the first are one joint transaction, and returns when each has an outcome.
// meanwhile runs while they wait; it may be nil.
func (y *fixture) joined(t *testing.T, meanwhile func(), calls ...func(context.Context)) {
	t.Helper()
	_, err := y.pool.Exec(t.Context(), `insert into job_admissions (account) values ($1) on conflict do nothing`, account.LocalID)
	require.NoError(t, err)
	tx, err := y.pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context()) // the pool closes its connection otherwise
	_, err = tx.Exec(t.Context(), `select from job_admissions where account = $1 for update`, account.LocalID)
	require.NoError(t, err)
	var running sync.WaitGroup
	first := job.NewJob{ID: job.NewID(), Account: account.LocalID, Bounds: job.Bounds{Slots: 9, QueueDepth: 99}}
	running.Go(func() {
		_, err := y.jobs.Submit(t.Context(), first)
		if err != nil {
			t.Error(err)
		}
	})
	y.until(t, func() bool {
		return y.count(t, `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`) > 0
	})
	for i, call := range calls {
		running.Go(func() { call(t.Context()) })
		y.until(t, func() bool { return y.jobs.Joining(account.LocalID) == i+1 })
	}
	if meanwhile != nil {
		meanwhile()
	}
	require.NoError(t, tx.Rollback(t.Context()))
	running.Wait()
	y.consistent(t)
}

// until waits for a condition.
func (y *fixture) until(t *testing.T, is func() bool) {
	t.Helper()
	for !is() {
		require.NoError(t, pause.For(t.Context(), time.Millisecond))
	}
}

func (y *fixture) count(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, y.pool.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

// consistent compares the account's counters with its rows, and these with the log.
func (y *fixture) consistent(t *testing.T) {
	t.Helper()
	require.Zero(t, y.count(t, `select count(*) from job_admissions l where running <> (select count(*) from job_slots s
		where s.account = l.account)
		or queued <> (select count(*) from job_queue q where q.account = l.account)`))
	orphans, err := y.jobs.Orphans(t.Context())
	require.NoError(t, err)
	require.Empty(t, orphans.Slots)
	require.Empty(t, orphans.Queued)
	unplaced, err := y.jobs.Unplaced(t.Context(), "", 9)
	require.NoError(t, err)
	require.Empty(t, unplaced)
}

// transactions returns how many transactions committed the streams of these jobs.
func (y *fixture) transactions(t *testing.T, ids ...job.ID) int {
	t.Helper()
	var streams []string
	for _, id := range ids {
		streams = append(streams, id.Stream())
	}
	return y.count(t, `select count(distinct xmin::text) from streams where id = any($1)`, streams)
}

// submitting is a call that submits a job.
type submitting struct {
	job.NewJob
	got job.Admission
	err error
}

func (y *fixture) submitting(n job.NewJob) (*submitting, func(context.Context)) {
	if n.ID == "" {
		n.ID = job.NewID()
	}
	if n.Bounds == (job.Bounds{}) {
		n.Bounds = job.Bounds{Slots: 9, QueueDepth: 99}
	}
	n.Account, n.Operation = account.LocalID, "jobs"
	s := &submitting{NewJob: n}
	return s, func(ctx context.Context) { s.got, s.err = y.jobs.Submit(ctx, s.NewJob) }
}

func TestSubmissionsAndEndsThatWaitAreCommittedTogether(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	bounds := job.Bounds{Slots: 3, QueueDepth: 99}
	var running []job.Job
	for range 2 {
		running = append(running, y.must(t, job.NewJob{Bounds: bounds}))
	}
	var ids []job.ID
	var made []*submitting
	var calls []func(context.Context)
	for _, j := range running {
		ids = append(ids, j.ID)
		calls = append(calls, func(ctx context.Context) {
			e := endAs(j, job.TypeSucceeded)
			e.Bounds = bounds
			ended, err := y.jobs.End(ctx, e)
			if err != nil || !ended.Applied {
				t.Errorf("%+v %v", ended, err)
			}
		})
	}
	for range 4 {
		s, call := y.submitting(job.NewJob{Bounds: bounds})
		ids, made, calls = append(ids, s.ID), append(made, s), append(calls, call)
	}
	y.joined(t, nil, calls...)
	require.Equal(t, 1, y.transactions(t, ids...))
	for i, s := range made {
		require.NoError(t, s.err)
		require.Equal(t, s.ID, s.got.Job.ID)
		require.InDelta(t, 3+i, s.got.Job.Number, 0, "in the order of their arrival")
		require.Equal(t, i < 2, s.got.Job.State == job.Running, "the ends made room for two")
		if i < 2 {
			require.Len(t, s.got.Intents, 1)
			require.Equal(t, 1, y.count(t, `select count(*) from outbox where id = $1 and workflow_id = $2`, s.got.Intents[0].ID,
				s.ID.WorkflowID(1)))
		}
	}
	waiting, err := y.jobs.Waiting(t.Context(), account.LocalID)
	require.NoError(t, err)
	require.Equal(t, []job.ID{made[2].ID, made[3].ID}, waiting)
}

func TestTheFirstJobsOfAnAccountAreNumberedFromZero(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	var jobs []job.NewJob
	for range 3 {
		s, _ := y.submitting(job.NewJob{})
		jobs = append(jobs, s.NewJob)
	}
	made, err := y.jobs.SubmitJointly(t.Context(), account.LocalID, jobs...)
	require.NoError(t, err)
	after := y.must(t, job.NewJob{})
	for i, j := range append(made, after) {
		require.InDelta(t, i, j.Number, 0)
	}
}

func TestEachCallerOfAJointTransactionHasItsOwnOutcome(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	ended := y.must(t, job.NewJob{IdempotencyKey: "used"})
	y.end(t, ended, 9)
	mine, twice := job.PublicID(uuid.NewString()), job.PublicID(uuid.NewString())
	chosen := func(public job.PublicID) job.NewJob {
		return job.NewJob{ID: job.IDOfChoice(account.LocalID, public), Submitted: job.SubmittedV1{PublicID: public}}
	}
	before, submit := y.submitting(chosen(mine))
	submit(t.Context())
	require.NoError(t, before.err)
	asset := uuid.NewString()
	_, err := y.pool.Exec(t.Context(), `insert into files (asset_id, account, hash, size, content_type, folder, subfolder, filename, named)
		values ($1, $2, sha256('x'), 1, 'text/plain', 'input', '', 'f', true)`, asset, account.LocalID)
	require.NoError(t, err)
	type outcome struct {
		what string
		n    job.NewJob
		code fault.Code
	}
	full := job.Bounds{Slots: 0, QueueDepth: 0}
	again := chosen(twice)
	outcomes := []outcome{
		{"plain", job.NewJob{}, ""},
		{"a key of its own", job.NewJob{IdempotencyKey: "own"}, ""},
		{"the same key", job.NewJob{IdempotencyKey: "own"}, fault.CodeIdempotencyKeyReuse},
		{"a used key", job.NewJob{IdempotencyKey: "used"}, fault.CodeIdempotencyKeyReuse},
		{"a file", job.NewJob{Pins: []string{asset}, Sealed: []byte("s")}, ""},
		{"a file that is gone", job.NewJob{Pins: []string{asset, uuid.NewString()}, IdempotencyKey: "kept"}, fault.CodeMissingAsset},
		{"an id of its own", again, ""},
		{"the same id", again, fault.CodeDuplicateJob},
		{"a used id", chosen(mine), fault.CodeDuplicateJob},
		{"no place", job.NewJob{Bounds: full, Submitted: job.SubmittedV1{ClientID: "full"}}, fault.CodeQueueFull},
		{"no place, and a key", job.NewJob{IdempotencyKey: "late"}, fault.CodeQueueFull},
		{"plain, at the end", job.NewJob{}, ""},
	}
	var made []*submitting
	var calls []func(context.Context)
	for _, o := range outcomes {
		s, call := y.submitting(o.n)
		if o.code == fault.CodeQueueFull {
			s.Bounds = full
		}
		made, calls = append(made, s), append(calls, call)
	}
	var late error
	calls = append(calls, func(ctx context.Context) { _, late = y.jobs.End(ctx, endAs(ended, job.TypeFailed)) })
	y.joined(t, nil, calls...)
	require.NoError(t, late)
	accepted := 0
	for i, o := range outcomes {
		require.Equal(t, o.code, fault.CodeOf(made[i].err), "%s: %v", o.what, made[i].err)
		if o.code == "" {
			accepted++
			require.NoError(t, made[i].err, o.what)
			require.Equal(t, made[i].ID, made[i].got.Job.ID, o.what)
		}
	}
	require.Equal(t, accepted+3, y.count(t, `select count(*) from events where type = $1`, job.TypeSubmitted),
		"those, the first, and two before")
	require.Equal(t, []int{2, 1, 2, 1}, []int{
		y.count(t, `select count(*) from idempotency_keys`), y.count(t, `select count(*) from asset_holds`),
		y.count(t, `select count(*) from job_public_ids`), y.count(t, `select count(*) from sealed_credentials`),
	}, "what was refused left nothing")
	require.Equal(t, 1, y.count(t, `select count(*) from events where stream = $1 and type in ($2, $3)`, ended.ID.Stream(), job.TypeSucceeded,
		job.TypeFailed))
}

func TestACallerThatLeavesDoesNotEndAJointTransaction(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	stays, stay := y.submitting(job.NewJob{})
	leaves, leave := y.submitting(job.NewJob{})
	gone, cancel := context.WithCancel(t.Context())
	y.joined(t, func() {
		cancel()
		y.until(t, func() bool { return y.jobs.Joining(account.LocalID) == 1 })
	}, func(context.Context) { leave(gone) }, stay)
	require.NoError(t, stays.err)
	require.ErrorIs(t, leaves.err, context.Canceled)
	require.Zero(t, y.count(t, `select count(*) from streams where id = $1`, leaves.ID.Stream()))
}

func TestAJointTransactionReservesAndChargesForEachJob(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	granted := 4*aPrice.Hold() + 1
	require.NoError(t, y.credits.Grant(t.Context(), account.LocalID, granted, "ops", "test"))
	var made []*submitting
	var calls []func(context.Context)
	for range 4 {
		s, call := y.submitting(job.NewJob{Price: aPrice})
		made, calls = append(made, s), append(calls, call)
	}
	tooMuch, call := y.submitting(job.NewJob{Price: aPrice, IdempotencyKey: "k"})
	y.joined(t, nil, append(calls, call)...)
	require.Equal(t, fault.CodeInsufficientCredits, fault.CodeOf(tooMuch.err))
	calls = nil
	for _, s := range made {
		require.NoError(t, s.err)
		calls = append(calls, func(ctx context.Context) {
			if _, err := y.jobs.End(ctx, endAs(s.got.Job, job.TypeSucceeded)); err != nil {
				t.Error(err)
			}
		})
	}
	require.Equal(t, credit.Balance{Metered: true, Available: 1, Held: granted - 1, Granted: granted}, y.balanced(t, account.LocalID))
	y.joined(t, nil, calls...)
	require.Equal(t, credit.Balance{Metered: true, Available: granted - 4*aPrice.Run, Settled: 4 * aPrice.Run, Granted: granted},
		y.balanced(t, account.LocalID))
	require.Equal(t, 1, y.transactions(t, made[0].ID, made[1].ID, made[2].ID, made[3].ID))
}

// A session that ends in the middle of a joint append takes nothing with it: everybody's job is recorded once.
func TestASessionThatEndsInAJointTransactionLosesNothing(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	var made []*submitting
	var calls []func(context.Context)
	for range 6 {
		s, call := y.submitting(job.NewJob{IdempotencyKey: uuid.NewString()})
		made, calls = append(made, s), append(calls, call)
	}
	blocked, err := y.pool.Begin(t.Context())
	require.NoError(t, err)
	defer blocked.Rollback(t.Context())
	_, err = blocked.Exec(t.Context(), `insert into streams (id, account, version) values ($1, 'another', 1)`, made[3].ID.Stream())
	require.NoError(t, err)
	var killed sync.WaitGroup
	killed.Go(func() { y.killInAppend(t, blocked) })
	y.joined(t, nil, calls...)
	killed.Wait()
	for _, s := range made {
		require.NoError(t, s.err)
		require.Equal(t, 1, y.count(t, `select count(*) from events where stream = $1 and type = $2`, s.ID.Stream(), job.TypeSubmitted))
	}
	require.Equal(t, 7, y.count(t, `select count(*) from outbox`))
}

// killInAppend ends the session whose append waits for the stream that tx has written, and then takes that back.
func (y *fixture) killInAppend(t *testing.T, tx pgx.Tx) {
	y.until(t, func() bool {
		return y.count(t, `select count(pg_terminate_backend(pid)) from pg_stat_activity
			where query like 'select * from append\_events\_or\_fail%' and wait_event_type = 'Lock' and datname = current_database()`) > 0
	})
	if err := tx.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
}
