package assetstore_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// exportBundle is the export store over a real database, where accounts may keep 1,000 bytes.
type exportBundle struct {
	*assetBundle
	exports *assetstore.Exports
}

func newExports(t *testing.T) *exportBundle {
	t.Helper()
	b := newAssets(t)
	registry := eventlog.NewRegistry()
	require.NoError(t, errors.Join(asset.Register(registry), export.Events.Register(registry)))
	b.events = eventstore.New(b.pool, registry, nil)
	b.events.DeliverBy(b.delivered.add)
	b.store = assetstore.New(b.pool, b.events)
	return &exportBundle{b, assetstore.NewExports(b.pool, b.events, accountstore.NewStorage(b.pool, 1000))}
}

// ask has the account "acme" ask for an export of a file of that name.
func (b *exportBundle) ask(t *testing.T, of string) (export.Export, error) {
	t.Helper()
	r := export.Request{Assets: []asset.PublicID{asset.PublicID(of)}, Naming: export.Preserve}
	return b.exports.Create(t.Context(), "acme", task.NewID(), export.RequestedV1{Name: of + ".zip", Request: r, Files: 1, Bytes: 7}, "r")
}

func (b *exportBundle) accepted(t *testing.T, of string) task.Ref {
	t.Helper()
	e, err := b.ask(t, of)
	require.NoError(t, err)
	require.Equal(t, []outbox.Kind{outbox.StartExport}, b.delivered.take())
	return task.Ref{Task: e.ID, Account: "acme", Bytes: 7}
}

func archive(size int64) asset.New {
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	return asset.New{
		Origin: asset.Archived, Hash: blob.Sum([]byte("zip")), Size: size, ContentType: "application/zip", Deadline: &until,
		About: asset.About{Name: "x.zip"},
	}
}

func TestAnAcceptedExportIsKeptUntilItIsOver(t *testing.T) {
	t.Parallel()
	b := newExports(t)
	ref := b.accepted(t, "x")
	e, err := b.exports.Get(t.Context(), "acme", ref.Task)
	require.NoError(t, err)
	require.Equal(t, task.Created, e.State)
	require.Equal(t, "x.zip", e.Requested.Name)
	_, err = b.exports.Get(t.Context(), "other", ref.Task)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)

	for range 2 { // a second attempt records nothing new
		state, open, err := b.exports.Begin(t.Context(), ref)
		require.NoError(t, err)
		require.True(t, open)
		require.Equal(t, task.Running, state.State)
		require.EqualValues(t, 2, state.Version)
	}
	_, open, err := b.exports.Begin(t.Context(), task.Ref{Task: ref.Task, Account: "other"})
	require.NoError(t, err)
	require.False(t, open)

	require.NoError(t, b.exports.Complete(t.Context(), ref, archive(500), export.CompletedV1{Name: "x.zip", Size: 500, Files: 1, Packed: 1}))
	require.Equal(t, []outbox.Kind{outbox.StartIngest}, b.delivered.take(), "the archive is looked into like any file")
	e, err = b.exports.Get(t.Context(), "acme", ref.Task)
	require.NoError(t, err)
	require.Equal(t, task.Completed, e.State)
	a, there, err := b.store.Get(t.Context(), "acme", e.Done.Asset)
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, "x.zip", a.Title())
	require.Equal(t, []string{asset.LabelExport}, a.Labels(), "editors list it neither as input nor as output")
	require.Equal(t, a.ExpiresAt, e.Done.ExpiresAt)

	// What comes behind the end changes nothing.
	require.NoError(t, b.exports.Complete(t.Context(), ref, archive(500), export.CompletedV1{}))
	require.Empty(t, b.delivered.take())
	require.NoError(t, b.exports.Fail(t.Context(), ref, export.FailedV1{}))
	_, open, err = b.exports.Begin(t.Context(), ref)
	require.NoError(t, err)
	require.False(t, open)
	again, err := b.exports.Get(t.Context(), "acme", ref.Task)
	require.NoError(t, err)
	require.Equal(t, e, again)
	kept, err := accountstore.NewStorage(b.pool, 0).Usage(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, account.Storage{Bytes: 500, Files: 1}, kept)
}

func TestArchiveOverTheStorageLimitIsNotKept(t *testing.T) {
	t.Parallel()
	b := newExports(t)
	ref := b.accepted(t, "x")
	err := b.exports.Complete(t.Context(), ref, archive(2000), export.CompletedV1{})
	require.Equal(t, fault.CodeStorageQuotaExceeded, fault.CodeOf(err), "%v", err)
	e, err := b.exports.Get(t.Context(), "acme", ref.Task)
	require.NoError(t, err)
	require.Equal(t, task.Created, e.State, "the event that follows informs who asked")
	require.NoError(t, b.exports.Fail(t.Context(), ref, export.FailedV1{Code: string(fault.CodeStorageQuotaExceeded), Message: "m", Files: 1}))
	e, err = b.exports.Get(t.Context(), "acme", ref.Task)
	require.NoError(t, err)
	require.Equal(t, task.Failed, e.State)
	require.Equal(t, string(fault.CodeStorageQuotaExceeded), e.Failure.Code)
}

func TestEqualConcurrentExportsAreOne(t *testing.T) {
	t.Parallel()
	b := newExports(t)
	var mu sync.Mutex
	var group sync.WaitGroup
	seen := map[task.ID]bool{}
	for range 8 {
		group.Go(func() {
			e, err := b.ask(t, "x")
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			seen[e.ID] = true
		})
	}
	group.Wait()
	require.Len(t, seen, 1)
	require.Len(t, b.delivered.take(), 1)
	for id := range seen {
		require.NoError(t, b.exports.Fail(t.Context(), task.Ref{Task: id, Account: "acme"}, export.FailedV1{}))
		later := b.accepted(t, "x")
		require.NotEqual(t, id, later.Task, "one that is over is no answer to a new request")
	}
}

func TestConcurrentExportsAreBounded(t *testing.T) {
	t.Parallel()
	b := newExports(t)
	first := b.accepted(t, "0")
	for _, of := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		b.accepted(t, of)
	}
	_, err := b.ask(t, "one too many")
	require.Equal(t, fault.CodeTooManyExports, fault.CodeOf(err), "%v", err)
	_, err = b.ask(t, "7")
	require.NoError(t, err, "one that is under way is joined all the same")
	require.NoError(t, b.exports.Fail(t.Context(), first, export.FailedV1{}))
	b.accepted(t, "one too many")
}

func TestExportWithoutAWorkflowIsRestarted(t *testing.T) {
	t.Parallel()
	b := newExports(t)
	ref := b.accepted(t, "x")
	waiting := func() []task.Ref {
		found, err := b.exports.Unfinished(t.Context(), "", 0, 10)
		require.NoError(t, err)
		return found
	}
	require.Empty(t, waiting(), "it waits for its intent")
	_, err := b.pool.Exec(t.Context(), `delete from outbox`)
	require.NoError(t, err)
	require.Equal(t, []task.Ref{ref}, waiting())
	young, err := b.exports.Unfinished(t.Context(), "", time.Hour, 10)
	require.NoError(t, err)
	require.Empty(t, young)

	again, err := b.exports.Restart(t.Context(), ref, "sweeper", "gone")
	require.NoError(t, err)
	require.True(t, again)
	require.Equal(t, []outbox.Kind{outbox.StartExport}, b.delivered.take())
	require.NoError(t, b.exports.Fail(t.Context(), ref, export.FailedV1{}))
	again, err = b.exports.Restart(t.Context(), ref, "sweeper", "gone")
	require.NoError(t, err)
	require.False(t, again)
	require.Empty(t, b.delivered.take())
	e, err := b.exports.Get(t.Context(), "acme", ref.Task)
	require.NoError(t, err)
	require.EqualValues(t, 3, e.Version, "requested, requeued, failed")
}
