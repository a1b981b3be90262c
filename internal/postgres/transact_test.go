package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// behind is a service behind a network that loses what the database answers.
type behind struct {
	proxy   *pgtest.Proxy
	pool    *pgxpool.Pool // not through it
	events  *eventstore.Store
	lossy   *pgxpool.Pool // through it
	jobs    *jobstore.Store
	calls   *callstore.Store
	credits *accountstore.Credits
}

func startBehind(t *testing.T) behind {
	t.Helper()
	dsn := storetest.NewDatabase(t)
	types := eventlog.NewRegistry()
	require.NoError(t, errors.Join(job.Register(types), call.Register(types), credit.Register(types), asset.Register(types)))
	b := behind{proxy: pgtest.NewProxy(t, dsn), pool: storetest.OpenPool(t, dsn)}
	b.lossy = storetest.OpenPool(t, b.proxy.URL())
	b.events = eventstore.New(b.lossy, types, nil)
	b.jobs, b.credits = jobstore.New(b.lossy, b.events), accountstore.NewCredits(b.lossy, b.events)
	b.calls = callstore.New(b.lossy, b.events, b.credits)
	return b
}

func (b behind) count(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, b.pool.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

// A submission that was committed and whose answer was lost is answered as accepted: a client that heard of a
// failure would submit it again, and one with a key would learn that it had used it.
func TestAmbiguousCommitOfASubmissionIsResolved(t *testing.T) {
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
func TestSubmissionWithLostCommitIsRecordedOnce(t *testing.T) {
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
	require.Equal(t, fault.CodeIdempotencyKeyReuse, fault.CodeOf(err), "the key is used now")
}

// The same of calls of models, which cost money.
func TestAmbiguousCommitOfACallIsResolved(t *testing.T) {
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
		n.Accepted.Mode = c.mode
		lost := b.proxy.LoseAnswer("COMMIT")
		got, err := b.calls.Accept(t.Context(), n)
		<-lost
		require.NoError(t, err, name)
		require.Equal(t, call.Admitted, got.Call.State, name)
	}
	require.Equal(t, 3, b.count(t, `select count(*) from events where type = $1`, call.TypeAccepted))
	require.Equal(t, 3, b.count(t, `select in_flight from call_admissions where account = 'a'`))
	require.Equal(t, 15, b.count(t, `select committed from call_admissions where account = 'a'`))
}

// Whoever ends a run or a call tries until the end is recorded: an attempt behind one whose answer was lost changes
// nothing, neither counts nor ledgers.
func TestAmbiguousCommitsOfEndsCountOnce(t *testing.T) {
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
	require.Equal(t, 0, b.count(t, `select in_flight from call_admissions where account = 'a'`))
	require.Equal(t, 3, b.count(t, `select spent from call_admissions where account = 'a'`))

	one := job.NewJob{ID: job.NewID(), Account: "a", Bounds: job.Bounds{Slots: 1}}
	_, err = b.jobs.Submit(t.Context(), one)
	require.NoError(t, err)
	end := job.Ending{ID: one.ID, Account: "a", Run: 1, Type: job.TypeSucceeded, Data: job.SucceededV1{Run: 1}, Bounds: one.Bounds}
	lost = b.proxy.LoseAnswer("COMMIT")
	_, err = b.jobs.End(t.Context(), end)
	<-lost
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	ended, err := b.jobs.End(t.Context(), end)
	require.NoError(t, err)
	require.True(t, ended.Applied, "by the attempt before")
	require.Equal(t, 0, b.count(t, `select running from job_admissions where account = 'a'`))
	require.Equal(t, 1, b.count(t, `select count(*) from events where type = $1`, job.TypeSucceeded))
}

// An operator who hears of a failure grants again: credit must not be given twice.
func TestAmbiguousCommitOfAGrantIsResolved(t *testing.T) {
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

// The attempt behind one that was committed is not refused for what that one has taken: the account's last bytes.
func TestAmbiguousCommitOfAnUploadAtTheLimitIsResolved(t *testing.T) {
	t.Parallel()
	b := startBehind(t)
	storage := accountstore.NewStorage(b.lossy, 4)
	for _, path := range []string{"1.png", "2.png"} {
		ref := blob.Sum([]byte(path))
		lost := b.proxy.LoseAnswer("COMMIT")
		made, err := assetstore.New(b.lossy, b.events).Within(storage).Create(t.Context(), asset.New{
			Account: "a", Key: path, Origin: asset.Uploaded, Hash: ref, Size: 2, ContentType: "image/png", FilePath: &path,
			Place: &asset.Place{Folder: "input", Filename: path},
		})
		<-lost
		require.NoError(t, err)
		require.False(t, made.HadBytes)
		require.Equal(t, asset.Live, made.Asset.State)
		require.Equal(t, path, *made.Asset.FilePath)
	}
	require.Equal(t, 4, b.count(t, `select sum(bytes)::int from account_storage where account = 'a'`))
	require.Equal(t, 2, b.count(t, `select count(*) from events where type = $1`, asset.TypeCreated))
}

// An id that the account has chosen before is refused, also when it is not known at first whether it was ours.
func TestTakenIDIsRefusedAfterALostCommit(t *testing.T) {
	t.Parallel()
	b := startBehind(t)
	n := asset.New{Chosen: asset.PublicID(asset.NewID()), Account: "a", Origin: asset.Uploaded, Hash: blob.Sum(nil), ContentType: "image/png"}
	_, err := assetstore.New(b.pool, b.events).Create(t.Context(), n)
	require.NoError(t, err)
	lost := b.proxy.LoseStatement("commit") // of a batch that is refused before
	_, err = assetstore.New(b.lossy, b.events).Create(t.Context(), n)
	<-lost
	require.Equal(t, fault.CodeAssetIDTaken, fault.CodeOf(err))
	require.Equal(t, 1, b.count(t, `select count(*) from events where type = $1`, asset.TypeCreated))
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
