package assetstore_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// assetBundle is the asset store over a real database, with blobs in memory.
type assetBundle struct {
	pool   *pgxpool.Pool
	store  *assetstore.Store
	files  *files.Service
	jobs   *jobstore.Store
	blobs  *mem.Store
	events *eventstore.Store

	delivered delivered
}

// delivered are the intents that were delivered after their commit.
type delivered struct {
	mu  sync.Mutex
	all []outbox.Intent
}

func (d *delivered) add(intents []outbox.Intent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, intents...)
}

// take returns the kinds of the intents that were delivered since it was called last.
func (d *delivered) take() (kinds []outbox.Kind) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, in := range d.all {
		kinds = append(kinds, in.Kind)
	}
	d.all = nil
	return kinds
}

// ingested reports whether the ingestion of a new asset was delivered, as it is recorded.
func (b *assetBundle) ingested(t *testing.T, made asset.Stored) bool {
	t.Helper()
	b.delivered.mu.Lock()
	defer b.delivered.mu.Unlock()
	var ids []int64
	for _, in := range b.delivered.all {
		if in.WorkflowID == made.Asset.ID.WorkflowID() {
			ids = append(ids, in.ID)
		}
	}
	require.Equal(t, len(ids), b.count(t, `select count(*) from outbox where workflow_id = $1`, made.Asset.ID.WorkflowID()))
	require.Equal(t, len(ids), b.count(t, `select count(*) from outbox where id = any($1)`, ids))
	require.LessOrEqual(t, len(ids), 1)
	return len(ids) == 1
}

func newAssets(t *testing.T) *assetBundle {
	t.Helper()
	b := &assetBundle{pool: storetest.OpenPool(t, storetest.NewDatabase(t)), blobs: mem.New()}
	b.events = b.eventsOf(t, b.pool)
	b.store, b.jobs = assetstore.New(b.pool, b.events), jobstore.New(b.pool, b.events)
	b.files = files.New(b.store, b.blobs, files.Options{})
	return b
}

// eventsOf returns an event store whose intents are delivered to the bundle.
func (b *assetBundle) eventsOf(t *testing.T, pool *pgxpool.Pool) *eventstore.Store {
	t.Helper()
	registry := eventlog.NewRegistry()
	require.NoError(t, asset.Register(registry))
	require.NoError(t, job.Register(registry))
	events := eventstore.New(pool, registry, nil)
	events.DeliverBy(b.delivered.add)
	return events
}

func (b *assetBundle) create(t *testing.T, path, data string, deadline *time.Time) asset.Asset {
	t.Helper()
	ref, err := blob.PutBytes(t.Context(), b.blobs, []byte(data))
	require.NoError(t, err)
	made, err := b.store.Create(t.Context(), asset.New{
		Account: "acme", Origin: asset.Uploaded, Hash: ref, Size: int64(len(data)), ContentType: "image/png", FilePath: &path,
		Place: &asset.Place{Folder: "input", Filename: path}, Deadline: deadline,
	})
	require.NoError(t, err)
	return made.Asset
}

func (b *assetBundle) state(t *testing.T, id asset.ID) asset.State {
	t.Helper()
	a, _, err := b.store.Get(t.Context(), "acme", id)
	require.NoError(t, err)
	return a.State
}

// submit records a job that loads the named files, as validation sees them.
func (b *assetBundle) submit(t *testing.T, names ...string) (job.ID, error) {
	t.Helper()
	seen := b.files.ForAccount("acme")
	for _, name := range names {
		_, err := seen.Stat(t.Context(), name)
		require.NoError(t, err)
	}
	id := job.NewID()
	_, err := b.jobs.Submit(t.Context(), job.NewJob{
		ID: id, Account: "acme", Submitted: job.SubmittedV1{Targets: []string{"1"}}, Bounds: job.Bounds{Slots: 1, QueueDepth: 10},
		Pins: seen.(interface{ Pinned() []string }).Pinned(),
	})
	return id, err
}

func past() *time.Time { at := time.Now().Add(-time.Minute); return &at }

func TestAnAssetThatAnUnfinishedJobNeedsIsNotDeleted(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	a := b.create(t, "a.png", "x", nil)
	running, err := b.submit(t, "a.png", "asset:"+string(a.ID))
	require.NoError(t, err)
	waiting, err := b.submit(t, "a.png")
	require.NoError(t, err)
	inUse := func() {
		err := b.store.Delete(t.Context(), "acme", a.ID, asset.By{}, "r")
		require.Equal(t, fault.CodeAssetInUse, fault.CodeOf(err), "%v", err)
	}
	inUse()
	_, err = b.jobs.Cancel(t.Context(), job.CancelRequest{Account: "acme", IDs: []job.ID{waiting}})
	require.NoError(t, err)
	inUse()
	_, err = b.jobs.End(t.Context(), job.Ending{ID: running, Account: "acme", Run: 1, Type: job.TypeSucceeded, Data: job.SucceededV1{Run: 1}})
	require.NoError(t, err)
	require.NoError(t, b.store.Delete(t.Context(), "acme", a.ID, asset.By{}, "r"))
	require.Equal(t, asset.Deleted, b.state(t, a.ID))
	require.Equal(t, fault.NotFound, fault.KindOf(b.store.Delete(t.Context(), "acme", a.ID, asset.By{}, "r")), "a second time")
	require.NoError(t, b.store.Forget(t.Context()))
	var holds int
	require.NoError(t, b.pool.QueryRow(t.Context(), `select count(*) from asset_holds`).Scan(&holds))
	require.Zero(t, holds)
}

func TestAJobWhoseFileIsDeletedMeanwhileIsRefused(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	a := b.create(t, "a.png", "x", nil)
	require.NoError(t, b.store.Delete(t.Context(), "acme", a.ID, asset.By{}, "r"))
	_, err := b.jobs.Submit(t.Context(), job.NewJob{
		ID: job.NewID(), Account: "acme", Bounds: job.Bounds{Slots: 1, QueueDepth: 1}, Pins: []string{string(a.ID)},
	})
	require.Equal(t, fault.CodeMissingAsset, fault.CodeOf(err))
}

func TestExpiredAssetsEndUnlessAJobNeedsThem(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	soon := time.Now().Add(time.Hour)
	kept, needed := b.create(t, "kept.png", "1", &soon), b.create(t, "needed.png", "2", &soon)
	id, err := b.submit(t, "needed.png")
	require.NoError(t, err)
	gone := b.create(t, "gone.png", "3", past())
	_, err = b.pool.Exec(t.Context(), `update files set expires_at = $1 where asset_id = $2`, past(), string(needed.ID))
	require.NoError(t, err)

	n, _, err := b.store.Expire(t.Context(), 10, nil)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, asset.Expired, b.state(t, gone.ID))
	require.Equal(t, asset.Live, b.state(t, needed.ID))
	require.Equal(t, asset.Live, b.state(t, kept.ID))
	_, err = b.files.ForAccount("acme").Stat(t.Context(), "needed.png")
	require.Equal(t, fault.NotFound, fault.KindOf(err), "others see it end")
	_, err = b.files.ForNode(job.RunRef{Job: id, Account: "acme", Run: 1}, "1").Stat(t.Context(), "needed.png")
	require.NoError(t, err, "its job does not")
	_, err = b.jobs.Cancel(t.Context(), job.CancelRequest{Account: "acme", IDs: []job.ID{id}})
	require.NoError(t, err)
	_, err = b.jobs.End(t.Context(), job.Ending{ID: id, Account: "acme", Run: 1, Type: job.TypeCanceled, Data: job.CanceledV1{}})
	require.NoError(t, err)
	n, _, err = b.store.Expire(t.Context(), 10, nil)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, asset.Expired, b.state(t, needed.ID))
}

func TestCollectorKeepsReferencedBlobs(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	a := b.create(t, "a.png", "x", nil)
	thumbnail, document, nobody := blob.Sum([]byte("thumbnail")), blob.Sum([]byte("document")), blob.Sum([]byte("nobody"))
	require.NoError(t, b.store.RecordScan(t.Context(), "acme", a.ID, asset.Scan{Verdict: asset.Clean, Thumbnail: thumbnail}))
	_, err := b.jobs.Submit(t.Context(), job.NewJob{
		ID: job.NewID(), Account: "acme", Bounds: job.Bounds{Slots: 1, QueueDepth: 1},
		Submitted: job.SubmittedV1{Document: job.Document{Blob: document.String()}},
	})
	require.NoError(t, err)
	needed, err := b.store.Referenced(t.Context(), []blob.Ref{a.Hash, thumbnail, document, nobody})
	require.NoError(t, err)
	require.Equal(t, map[blob.Ref]bool{a.Hash: true, thumbnail: true, document: true}, needed)
	require.NoError(t, b.store.Delete(t.Context(), "acme", a.ID, asset.By{}, "r"))
	needed, err = b.store.Referenced(t.Context(), []blob.Ref{a.Hash, thumbnail, document, nobody})
	require.NoError(t, err)
	require.Equal(t, map[blob.Ref]bool{document: true}, needed)
}

func TestRejectedAssetIsNotServedAndNotReferenced(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	a := b.create(t, "a.png", "x", nil)
	require.NoError(t, b.store.RecordVerified(t.Context(), "acme", a.ID, asset.VerifiedV1{OK: true, Size: 1}))
	require.NoError(t, b.store.RecordScan(t.Context(), "acme", a.ID, asset.Scan{Verdict: asset.Rejects, Reason: "no"}))
	require.NoError(t, b.store.RecordScan(t.Context(), "acme", a.ID, asset.Scan{Verdict: asset.Rejects, Reason: "no"}), "another attempt")
	require.Equal(t, asset.Rejected, b.state(t, a.ID))
	_, err := b.files.ForAccount("acme").Stat(t.Context(), "a.png")
	require.Equal(t, fault.NotFound, fault.KindOf(err))
	_, err = b.files.Linked(t.Context(), a.ID, a.Hash)
	require.Equal(t, fault.NotFound, fault.KindOf(err))
	held, err := b.store.HasBytes(t.Context(), "acme", a.Hash)
	require.NoError(t, err)
	require.False(t, held)
	names, err := b.files.ForAccount("acme").List(t.Context(), node.FolderInput, 10)
	require.NoError(t, err)
	require.Empty(t, names)
	require.NoError(t, b.store.Delete(t.Context(), "acme", a.ID, asset.By{}, "r"))
	require.NoError(t, b.store.RecordScan(t.Context(), "acme", a.ID, asset.Scan{Verdict: asset.Clean}), "of an asset that ended")
	require.Equal(t, asset.Deleted, b.state(t, a.ID))
}

func TestThumbnailsAreServedByTheLinkOfTheirAsset(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	a := b.create(t, "a.png", "x", nil)
	stored, err := blob.Put(t.Context(), b.blobs, blob.Durable, bytes.NewReader([]byte("small")))
	require.NoError(t, err)
	require.NoError(t, b.store.RecordScan(t.Context(), "acme", a.ID,
		asset.Scan{Verdict: asset.Clean, Thumbnail: stored.Ref, Width: 4, Height: 2}))
	e, err := b.files.Linked(t.Context(), a.ID, stored.Ref)
	require.NoError(t, err)
	require.Equal(t, stored.Ref, e.Hash)
	require.Equal(t, [2]int{4, 2}, [2]int{e.Width, e.Height})
	_, err = b.files.Linked(t.Context(), a.ID, blob.Sum([]byte("other")))
	require.Equal(t, fault.NotFound, fault.KindOf(err))
}

func TestReferenceInheritsSizeAndScanOfItsBytes(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	a := b.create(t, "a.png", "x", nil)
	reference := func(path string) asset.Stored {
		made, same, err := b.store.Reference(t.Context(), asset.New{Account: "acme", Origin: asset.Referenced, Hash: a.Hash, FilePath: &path})
		require.NoError(t, err)
		require.False(t, same)
		return made
	}
	early := reference("early.png")
	require.True(t, b.ingested(t, early), "nothing is known yet")
	thumbnail := blob.Sum([]byte("small"))
	require.NoError(t, b.store.RecordVerified(t.Context(), "acme", a.ID, asset.VerifiedV1{OK: true, Size: 1}))
	require.NoError(t, b.store.RecordScan(t.Context(), "acme", a.ID,
		asset.Scan{Verdict: asset.Clean, Width: 4, Height: 2, Thumbnail: thumbnail}))
	require.NoError(t, b.store.Delete(t.Context(), "acme", early.Asset.ID, asset.By{}, "r"))
	late := reference("late.png")
	require.False(t, b.ingested(t, late), "there is nothing to find out")
	require.Equal(t, thumbnail, late.Asset.Scan.Thumbnail)
	require.NotNil(t, late.Asset.VerifiedAt)
	require.Equal(t, 4, late.Asset.Width)
	_, err := b.files.Linked(t.Context(), late.Asset.ID, thumbnail)
	require.NoError(t, err)
}

func TestUploadOfUnverifiedBytesIsIngested(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	first := b.create(t, "a.png", "x", nil)
	upload := func(account, path string) asset.Stored {
		made, err := b.store.Create(t.Context(), asset.New{
			Account: account, Origin: asset.Uploaded, Hash: first.Hash, Size: 1, ContentType: "a/b", FilePath: &path,
		})
		require.NoError(t, err)
		return made
	}
	require.True(t, b.ingested(t, upload("acme", "early.png")), "nothing is known yet")
	require.NoError(t, b.store.RecordVerified(t.Context(), "acme", first.ID, asset.VerifiedV1{OK: true, Size: 1}))
	require.NoError(t, b.store.RecordScan(t.Context(), "acme", first.ID, asset.Scan{Verdict: asset.Clean, Width: 4, Height: 2}))
	require.True(t, b.ingested(t, upload("other", "b.png")), "another account's finding says nothing here")
}

func TestUploadOfBytesThatTheNewestAssetKnowsIsComplete(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	first := b.create(t, "a.png", "x", nil)
	require.NoError(t, b.store.RecordVerified(t.Context(), "acme", first.ID,
		asset.VerifiedV1{OK: true, Size: 1, Scan: &asset.Scan{Verdict: asset.Clean, Width: 4, Height: 2}}))
	path := "again.png"
	again, err := b.store.Create(t.Context(), asset.New{
		Account: "acme", Origin: asset.Uploaded, Hash: first.Hash, Size: 1, ContentType: "a/b",
		FilePath: &path,
	})
	require.NoError(t, err)
	require.True(t, again.HadBytes)
	require.False(t, b.ingested(t, again))
	require.NotNil(t, again.Asset.VerifiedAt)
	require.Equal(t, asset.Clean, again.Asset.Scan.Verdict)
	require.Equal(t, []int{4, 2}, []int{again.Asset.Width, again.Asset.Height})
	open, err := b.store.Uningested(t.Context(), "", 0, 10)
	require.NoError(t, err)
	require.Empty(t, open)

	fresh, path := asset.New{Account: "acme", Origin: asset.Uploaded, Hash: first.Hash, Size: 1, ContentType: "a/b", Fresh: true}, "fresh.png"
	fresh.FilePath = &path
	written, err := b.store.Create(t.Context(), fresh)
	require.NoError(t, err)
	require.True(t, b.ingested(t, written), "nobody has read these bytes since they were written")
}
