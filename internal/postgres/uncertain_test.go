package postgres_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/call"
	"github.com/millrace-dev/millrace/internal/credit"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/job"
	"github.com/millrace-dev/millrace/internal/outbox"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// behind is a service behind a network that loses what the database answers.
type behind struct {
	proxy   *pgtest.Proxy
	pool    *pgxpool.Pool // not through it
	jobs    *postgres.Jobs
	calls   *postgres.Calls
	credits *postgres.Credits
}

func startBehind(t *testing.T) behind {
	t.Helper()
	dsn := newDatabase(t)
	types := eventlog.NewRegistry()
	require.NoError(t, errors.Join(job.Register(types), call.Register(types), credit.Register(types)))
	b := behind{proxy: pgtest.NewProxy(t, dsn), pool: openPool(t, dsn)}
	lossy := openPool(t, b.proxy.URL())
	events := postgres.NewEventStore(lossy, types, nil)
	b.jobs, b.credits = postgres.NewJobs(lossy, events), postgres.NewCredits(lossy, events)
	b.calls = postgres.NewCalls(lossy, events, b.credits)
	return b
}

func (b behind) count(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, b.pool.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

// A submission that was committed and whose answer was lost is answered as accepted: a client that was told of a
// failure would submit it again, and one with a key would be told that it had used it.
func TestASubmissionWhoseCommitIsNotAnsweredIsToldAsItIs(t *testing.T) {
	t.Parallel()
	b := startBehind(t)
	for name, n := range map[string]job.NewJob{
		"admitted":           {Account: "a", Bounds: job.Bounds{Slots: 1}},
		"with a key":         {Account: "b", Bounds: job.Bounds{Slots: 1}, IdempotencyKey: "k", Operation: "jobs"},
		"waits":              {Account: "c", Bounds: job.Bounds{QueueDepth: 5}},
		"had the last place": {Account: "d", Bounds: job.Bounds{QueueDepth: 1}, IdempotencyKey: "k", Operation: "jobs"},
	} {
		n.ID = job.NewID()
		lost := b.proxy.LoseAnswer("COMMIT")
		got, err := b.jobs.Submit(t.Context(), n)
		require.NoError(t, err, name)
		<-lost
		require.Equal(t, n.ID, got.Job.ID, name)
		require.Equal(t, n.Bounds.Slots > 0, got.Job.State == job.Running, name)
		require.Equal(t, 1, b.count(t, `select count(*) from events where stream = $1 and type = $2`, n.ID.Stream(), job.TypeSubmitted), name)
	}
	require.Equal(t, 4, b.count(t, `select count(*) from events where type = $1`, job.TypeSubmitted))
	require.Equal(t, 2, b.count(t, `select count(*) from outbox where kind = $1`, outbox.StartRunGraph))
}

// What was lost before its commit arrived is done by the attempt after it, once.
func TestASubmissionWhoseCommitIsLostIsDoneOnce(t *testing.T) {
	t.Parallel()
	b := startBehind(t)
	n := job.NewJob{ID: job.NewID(), Account: "a", Bounds: job.Bounds{Slots: 1}, IdempotencyKey: "k", Operation: "jobs"}
	lost := b.proxy.LoseStatement("commit")
	got, err := b.jobs.Submit(t.Context(), n)
	<-lost
	require.NoError(t, err)
	require.Equal(t, n.ID, got.Job.ID)
	require.Equal(t, 1, b.count(t, `select count(*) from events where type = $1`, job.TypeSubmitted))
	_, err = b.jobs.Submit(t.Context(), job.NewJob{ID: job.NewID(), Account: "a", IdempotencyKey: "k", Operation: "jobs"})
	require.Equal(t, "idempotency_key_reuse", fault.CodeOf(err), "the key is used now")
}

// The same of calls of models, which cost money.
func TestACallWhoseCommitIsNotAnsweredIsToldAsItIs(t *testing.T) {
	t.Parallel()
	b := startBehind(t)
	for name, c := range map[string]struct {
		key  string
		mode call.Mode
	}{
		"without a key": {"", call.Sync},
		"with a key":    {"k", call.Sync},
		"queued":        {"q", call.Queued},
	} {
		n := newCall(c.key, 5)
		n.Fact.Mode = c.mode
		lost := b.proxy.LoseAnswer("COMMIT")
		got, err := b.calls.Accept(t.Context(), n)
		<-lost
		require.NoError(t, err, name)
		require.Equal(t, call.Admitted, got.Call.State, name)
	}
	require.Equal(t, 3, b.count(t, `select count(*) from events where type = $1`, call.TypeAccepted))
	require.Equal(t, 3, b.count(t, `select in_flight from call_lanes where account = 'a'`))
	require.Equal(t, 15, b.count(t, `select committed from call_lanes where account = 'a'`))
}

// Whoever ends a run or a call tries until the end is recorded: an attempt behind one whose answer was lost changes
// nothing, neither lanes nor ledgers.
func TestEndsWhoseCommitsAreNotAnsweredCountOnce(t *testing.T) {
	t.Parallel()
	b := startBehind(t)
	require.NoError(t, b.credits.Grant(t.Context(), "a", 100, "operator", "test"))
	n := newCall("k", 5)
	_, err := b.calls.Accept(t.Context(), n)
	require.NoError(t, err)
	lost := b.proxy.LoseAnswer("COMMIT")
	_, err = b.calls.End(t.Context(), succeeded(n, 3))
	<-lost
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	_, err = b.calls.End(t.Context(), succeeded(n, 3))
	require.NoError(t, err)
	require.Equal(t, 97, b.count(t, `select available from credit_balances where account = 'a'`))
	require.Equal(t, 0, b.count(t, `select in_flight from call_lanes where account = 'a'`))
	require.Equal(t, 3, b.count(t, `select spent from call_lanes where account = 'a'`))

	one := job.NewJob{ID: job.NewID(), Account: "a", Bounds: job.Bounds{Slots: 1}}
	_, err = b.jobs.Submit(t.Context(), one)
	require.NoError(t, err)
	end := job.Ending{ID: one.ID, Account: "a", Run: 1, Type: job.TypeSucceeded, Fact: job.SucceededV1{Run: 1}, Bounds: one.Bounds}
	lost = b.proxy.LoseAnswer("COMMIT")
	_, err = b.jobs.End(t.Context(), end)
	<-lost
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	ended, err := b.jobs.End(t.Context(), end)
	require.NoError(t, err)
	require.True(t, ended.Applied, "by the attempt before")
	require.Equal(t, 0, b.count(t, `select running from job_lanes where account = 'a'`))
	require.Equal(t, 1, b.count(t, `select count(*) from events where type = $1`, job.TypeSucceeded))
}

// An operator who is told of a failure grants again: credit must not be given twice.
func TestAGrantWhoseCommitIsNotAnsweredIsToldAsItIs(t *testing.T) {
	t.Parallel()
	b := startBehind(t)
	for i := range 2 {
		lost := b.proxy.LoseAnswer("COMMIT")
		require.NoError(t, b.credits.Grant(t.Context(), "a", 100, "operator", uuid.NewString()))
		<-lost
		require.Equal(t, 100*(i+1), b.count(t, `select available from credit_balances where account = 'a'`))
		require.Equal(t, i+1, b.count(t, `select count(*) from events where type = $1`, credit.TypeGranted))
	}
}
