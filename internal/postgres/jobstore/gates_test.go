package jobstore_test

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// fixture is a job store with what operators do to it.
type fixture struct {
	pool    *pgxpool.Pool
	events  *eventstore.Store
	jobs    *jobstore.Store
	queues  *accountstore.Gates
	credits *accountstore.Credits
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	types := eventlog.NewRegistry()
	require.NoError(t, job.Register(types))
	require.NoError(t, gate.Register(types))
	require.NoError(t, credit.Register(types))
	y := &fixture{pool: storetest.OpenPool(t, storetest.NewDatabase(t))}
	y.events = eventstore.New(y.pool, types, nil)
	y.jobs, y.queues, y.credits = jobstore.New(y.pool, y.events), accountstore.NewGates(y.pool, y.events),
		accountstore.NewCredits(y.pool, y.events)
	return y
}

func (y *fixture) set(t *testing.T, scope string, mode gate.Mode) gate.State {
	t.Helper()
	st, err := y.queues.Set(t.Context(), gate.Change{Account: scope, Mode: mode, Actor: "ops", Reason: "because"})
	require.NoError(t, err)
	require.Equal(t, mode, st.Mode)
	return st
}

func (y *fixture) submit(t *testing.T, n job.NewJob) (job.Job, error) {
	t.Helper()
	n.ID = job.NewID()
	if n.Account == "" {
		n.Account = account.LocalID
	}
	if n.Bounds == (job.Bounds{}) {
		n.Bounds = job.Bounds{Slots: 2, QueueDepth: 100}
	}
	n.Operation = "jobs"
	a, err := y.jobs.Submit(t.Context(), n)
	return a.Job, err
}

func (y *fixture) must(t *testing.T, n job.NewJob) job.Job {
	t.Helper()
	j, err := y.submit(t, n)
	require.NoError(t, err)
	return j
}

func (y *fixture) end(t *testing.T, j job.Job, slots int) {
	t.Helper()
	ended, err := y.jobs.End(t.Context(), job.Ending{
		ID: j.ID, Account: j.Account, Run: 1, Type: job.TypeSucceeded, Data: job.SucceededV1{Run: 1}, Bounds: job.Bounds{Slots: slots},
	})
	require.NoError(t, err)
	require.True(t, ended.Applied)
}

func (y *fixture) withSlot(t *testing.T, scope string) []job.ID {
	t.Helper()
	ids, err := y.jobs.WithSlot(t.Context(), scope)
	require.NoError(t, err)
	return ids
}

func TestAPausedQueueAcceptsAndStartsNothing(t *testing.T) {
	t.Parallel()
	for name, scope := range map[string]string{"its own": account.LocalID, "all": gate.All} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newFixture(t)
			running := y.must(t, job.NewJob{})
			require.Equal(t, job.Running, running.State)
			y.set(t, scope, gate.Paused)
			waiting := y.must(t, job.NewJob{})
			require.Equal(t, job.Queued, waiting.State)
			y.end(t, running, 2)
			require.Empty(t, y.withSlot(t, account.LocalID), "an ending hands no slot on")
			require.NoError(t, y.jobs.Admit(t.Context(), account.LocalID, job.Bounds{Slots: 2}))
			require.Empty(t, y.withSlot(t, account.LocalID), "nor does the sweep")
			accounts, err := y.jobs.Queued(t.Context(), "", 10)
			require.NoError(t, err)
			require.Empty(t, accounts)
			y.set(t, scope, gate.Open)
			accounts, err = y.jobs.Queued(t.Context(), "", 10)
			require.NoError(t, err)
			require.Equal(t, []string{account.LocalID}, accounts)
			late := y.must(t, job.NewJob{Bounds: job.Bounds{Slots: 1, QueueDepth: 9}})
			require.Equal(t, job.Queued, late.State, "nobody goes before those that wait")
			require.NoError(t, y.jobs.Admit(t.Context(), account.LocalID, job.Bounds{Slots: 1}))
			require.Equal(t, []job.ID{waiting.ID}, y.withSlot(t, account.LocalID))
		})
	}
}

func TestDrainedQueueRefusesNewJobsAndFinishesWaitingOnes(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	bounds := job.Bounds{Slots: 1, QueueDepth: 9}
	first, second := y.must(t, job.NewJob{Bounds: bounds}), y.must(t, job.NewJob{Bounds: bounds})
	y.set(t, account.LocalID, gate.Draining)
	_, err := y.submit(t, job.NewJob{Bounds: bounds, IdempotencyKey: "k"})
	require.Equal(t, fault.CodeDeploymentNotReady, fault.CodeOf(err))
	var f *fault.Error
	require.ErrorAs(t, err, &f)
	require.Positive(t, f.RetryAfter)
	require.Equal(t, job.Running, y.must(t, job.NewJob{Account: "another", Bounds: bounds}).State)
	y.end(t, first, 1)
	require.Equal(t, []job.ID{second.ID}, y.withSlot(t, account.LocalID), "what waits is worked off")
	y.set(t, account.LocalID, gate.Open)
	y.must(t, job.NewJob{Bounds: bounds, IdempotencyKey: "k"}) // the refusal did not use the key up
	_, err = y.submit(t, job.NewJob{Bounds: bounds, IdempotencyKey: "k"})
	require.Equal(t, fault.CodeIdempotencyKeyReuse, fault.CodeOf(err))
}

func TestStoppedQueueAcceptsAndStartsNothing(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	bounds := job.Bounds{Slots: 1, QueueDepth: 9}
	first := y.must(t, job.NewJob{Bounds: bounds})
	y.must(t, job.NewJob{Bounds: bounds})
	y.set(t, gate.All, gate.Stopped)
	y.set(t, account.LocalID, gate.Draining)
	_, err := y.submit(t, job.NewJob{})
	require.Equal(t, fault.CodeDeploymentStopped, fault.CodeOf(err), "the stricter of the two counts")
	var f *fault.Error
	require.ErrorAs(t, err, &f)
	require.Zero(t, f.RetryAfter, "coming back does not help")
	y.end(t, first, 1)
	require.Empty(t, y.withSlot(t, account.LocalID))
}

func TestQueueChangesAreRecorded(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	y.must(t, job.NewJob{})
	st := y.set(t, account.LocalID, gate.Paused)
	require.Equal(t, "ops", st.Actor)
	require.Equal(t, "because", st.Reason)
	require.Equal(t, int64(1), st.Running)
	require.NotNil(t, st.Since)
	y.set(t, account.LocalID, gate.Paused)
	y.set(t, account.LocalID, gate.Stopped)
	y.set(t, account.LocalID, gate.Open)
	events, err := y.events.ReadStream(t.Context(), gate.Stream(account.LocalID), 0, 10)
	require.NoError(t, err)
	var kinds []string
	for _, event := range events {
		kinds = append(kinds, event.Type)
	}
	require.Equal(t, []string{gate.TypePaused, gate.TypeStopped, gate.TypeResumed}, kinds, "a repeat records nothing")
	require.JSONEq(t, `{"was":"paused"}`, string(events[1].Data))
	all, err := y.queues.States(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, gate.State{Account: gate.All, Mode: gate.Open, Running: 1}, all[0])
	for name, c := range map[string]gate.Change{
		"no such account": {Account: "nobody", Mode: gate.Paused, Actor: "ops", Reason: "because"},
		"no reason":       {Account: gate.All, Mode: gate.Paused, Actor: "ops"},
		"no such mode":    {Account: gate.All, Mode: "closed", Actor: "ops", Reason: "because"},
	} {
		_, err := y.queues.Set(t.Context(), c)
		require.Contains(t, []fault.Kind{fault.NotFound, fault.Invalid}, fault.KindOf(err), name)
	}
}

// Once a pause has returned nothing of the account is admitted, however many submissions race with it.
func TestPauseIsInForceWhenItReturns(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	bounds := job.Bounds{Slots: 1000, QueueDepth: 1000}
	var group sync.WaitGroup
	paused := make(chan struct{})
	for range 8 {
		group.Go(func() {
			for range 20 {
				over := false
				select {
				case <-paused:
					over = true
				default:
				}
				j, err := y.submit(t, job.NewJob{Bounds: bounds})
				if err != nil || over && j.State != job.Queued {
					t.Errorf("submitted after the pause: %s, %v", j.State, err)
				}
			}
		})
	}
	group.Go(func() {
		defer close(paused)
		if _, err := y.queues.Set(t.Context(), gate.Change{
			Account: account.LocalID, Mode: gate.Paused, Actor: "ops",
			Reason: "because",
		}); err != nil {
			t.Error(err)
		}
	})
	group.Wait()
	st, err := y.queues.State(t.Context(), account.LocalID)
	require.NoError(t, err)
	require.Equal(t, int64(160), st.Queued+st.Running)
	require.Positive(t, st.Queued)
}

func TestAMeteredAccountNeedsCreditToSubmit(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	y.must(t, job.NewJob{})
	require.NoError(t, y.credits.Grant(t.Context(), account.LocalID, 0, "ops", "metered from now"))
	_, err := y.submit(t, job.NewJob{IdempotencyKey: "k"})
	require.Equal(t, fault.CodeInsufficientCredits, fault.CodeOf(err))
	_, err = y.submit(t, job.NewJob{Bounds: job.Bounds{}, Account: "another"})
	require.NoError(t, err)
	require.NoError(t, y.credits.Grant(t.Context(), account.LocalID, 1, "ops", "trial"))
	y.must(t, job.NewJob{IdempotencyKey: "k"})
	_, err = y.events.Write(t.Context(), eventstore.Decision{
		What: "reserve credit",
		Decide: func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
			reserved, err := y.credits.Reserve(ctx, tx, account.LocalID, "call", 1)
			if err == nil {
				err = c.Append(reserved...)
			}
			return err
		},
	})
	require.NoError(t, err)
	_, err = y.submit(t, job.NewJob{IdempotencyKey: "k"})
	require.Equal(t, fault.CodeIdempotencyKeyReuse, fault.CodeOf(err), "a used key is reported before the lack of credit")
	full := job.Bounds{QueueDepth: -1}
	_, err = y.submit(t, job.NewJob{Bounds: full})
	require.Equal(t, fault.CodeInsufficientCredits, fault.CodeOf(err), "the lack of credit is reported before a full queue")
}
