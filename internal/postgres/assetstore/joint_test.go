package assetstore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// uploading is a call that makes an asset.
type uploading struct {
	asset.New
	got asset.Stored
	err error
}

func (b *assetBundle) uploading(name, data string, n asset.New) *uploading {
	n.Account, n.Origin, n.ContentType = "acme", asset.Uploaded, "image/png"
	n.Hash, n.Size, n.FilePath = blob.Sum([]byte(data)), int64(len(data)), &name
	n.Place = &asset.Place{Folder: "input", Filename: name}
	return &uploading{New: n}
}

// lockOfName takes the lock of a name in the input folder; release gives it back.
func (b *assetBundle) lockOfName(t *testing.T, name string) (release func()) {
	t.Helper()
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }) // it has ended, unless the test failed
	_, err = tx.Exec(t.Context(), `select pg_advisory_xact_lock(hashtextextended($1, 3))`, "acme\x1finput\x1f/"+name)
	require.NoError(t, err)
	return func() { require.NoError(t, tx.Rollback(t.Context())) }
}

// joined makes assets so that they are one joint transaction, and returns when each has an outcome. The storage limit may be nil.
func (b *assetBundle) joined(t *testing.T, limit *accountstore.Storage, all ...*uploading) {
	t.Helper()
	store := assetstore.New(b.pool, b.events).Within(limit)
	commands := make([]func(), len(all))
	for i, u := range all {
		commands[i] = func() { u.got, u.err = store.Create(t.Context(), u.New) }
	}
	b.joinedAs(t, store, commands...)
}

// joinedAs carries out commands in order so that they are one joint transaction, and returns when each has an outcome.
func (b *assetBundle) joinedAs(t *testing.T, store *assetstore.Store, commands ...func()) {
	t.Helper()
	var running sync.WaitGroup
	release := b.lockOfName(t, "first")
	first := b.uploading("first", "first", asset.New{})
	running.Go(func() { first.got, first.err = store.Create(t.Context(), first.New) })
	b.until(t, func() bool {
		return b.count(t, `select count(*) from pg_locks where not granted and database = (select oid from pg_database
			where datname = current_database())`) > 0
	})
	for i, command := range commands {
		running.Go(command)
		b.until(t, func() bool { return store.Joining("acme") == i+1 })
	}
	release()
	running.Wait()
	require.NoError(t, first.err)
}

// until waits for a condition.
func (b *assetBundle) until(t *testing.T, is func() bool) {
	t.Helper()
	for !is() {
		require.NoError(t, pause.For(t.Context(), time.Millisecond))
	}
}

func (b *assetBundle) count(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, b.pool.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

func TestUploadsThatWaitAreCommittedTogether(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	older := b.create(t, "name", "older", nil)
	soon, later := time.Now().Add(time.Hour).Truncate(time.Millisecond).UTC(), time.Now().Add(2*time.Hour).Truncate(time.Millisecond).UTC()
	all := []*uploading{
		b.uploading("a", "a", asset.New{Tags: []string{"x", `y"z`}, Width: 3, Height: 4}),
		b.uploading("b", "b", asset.New{About: asset.About{Name: "B"}}),
		b.uploading("name", "1", asset.New{}),
		b.uploading("name", "2", asset.New{}), // the newest of the name
		b.uploading("c", "same", asset.New{Deadline: &later}),
		b.uploading("d", "same", asset.New{Deadline: &soon}), // bytes of the one before, which are kept as long
	}
	b.joined(t, nil, all...)
	var streams []string
	for i, u := range all {
		require.NoError(t, u.err)
		require.Equal(t, i == 5, u.got.HadBytes, "%d", i)
		require.Equal(t, u.FilePath, u.got.Asset.FilePath, "%d", i)
		require.True(t, b.ingested(t, u.got))
		a, there, err := b.store.Get(t.Context(), "acme", u.got.Asset.ID)
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, u.got.Asset, a)
		streams = append(streams, a.ID.Stream())
	}
	require.Equal(t, 1, b.count(t, `select count(distinct xmin::text) from streams where id = any($1)`, streams), "one transaction")
	require.Equal(t, []string{"x", `y"z`}, all[0].got.Asset.Tags)
	require.Equal(t, 1, b.count(t, `select count(*) from files where asset_id = $1 and tags = $2 and width = 3 and height = 4`,
		all[0].got.Asset.ID, all[0].Tags))
	require.Equal(t, "B", all[1].got.Asset.Name)
	require.Equal(t, &later, all[4].got.Asset.ExpiresAt)
	require.Equal(t, &later, all[5].got.Asset.ExpiresAt)
	require.Equal(t, 1, b.count(t, `select count(*) from files where filename = 'name' and named and asset_id = $1`, all[3].got.Asset.ID))
	require.Equal(t, 3, b.count(t, `select count(*) from files where filename = 'name'`), "the older ones stay")
	require.Equal(t, asset.Live, b.state(t, older.ID))
}

// Uploads of one name that are decided together get the names that they would have got one after the other.
func TestUploadsOfOneNameThatAreJoinedGetNamesInOrder(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	store := assetstore.New(b.pool, b.events)
	contents := []string{"one", "two", "three", "two", "four"} // the fourth has the bytes of the second, whose name it gets
	made, failed := make([]files.Entry, len(contents)), make([]error, len(contents))
	commands := make([]func(), len(contents))
	for i, data := range contents {
		commands[i] = func() {
			made[i], failed[i] = store.Upload(t.Context(), files.Upload{
				Account: "acme", Place: asset.Place{Folder: "input", Filename: "picture.png"}, Hash: blob.Sum([]byte(data)),
				Fresh: true, Size: int64(len(data)), ContentType: "image/png",
			})
		}
	}
	b.joinedAs(t, store, commands...)
	for i, want := range []string{"picture.png", "picture (1).png", "picture (2).png", "picture (1).png", "picture (3).png"} {
		require.NoError(t, failed[i], "%d", i)
		require.Equal(t, want, made[i].Place.Filename, "%d", i)
	}
	require.Equal(t, made[1].Asset, made[3].Asset)
	require.Equal(t, 5, b.count(t, `select count(*) from files where named`), "four and the one before")
}

func TestEachUploadOfAJointTransactionHasItsOwnOutcome(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 1000)
	mine, twice := asset.PublicID(uuid.NewString()), asset.PublicID(uuid.NewString())
	before := k.uploading("before", "before", asset.New{Chosen: mine})
	_, err := k.store.Create(t.Context(), before.New)
	require.NoError(t, err)
	all := []*uploading{
		k.uploading("a", "a", asset.New{}),
		k.uploading("large", strings.Repeat("l", 1001), asset.New{}),
		k.uploading("b", "b", asset.New{Chosen: twice}),
		k.uploading("c", "c", asset.New{Chosen: twice}),
		k.uploading("d", "d", asset.New{Chosen: mine}),
		k.uploading("most", strings.Repeat("m", 900), asset.New{}),
		k.uploading("rest", strings.Repeat("r", 200), asset.New{}), // which the one before leaves no space for
		k.uploading("e", "e", asset.New{}),
	}
	k.joined(t, k.storage, all...)
	codes := map[int]fault.Code{
		1: fault.CodeStorageQuotaExceeded, 3: fault.CodeAssetIDTaken, 4: fault.CodeAssetIDTaken, 6: fault.CodeStorageQuotaExceeded,
	}
	for i, u := range all {
		if code, refused := codes[i]; refused {
			require.Equal(t, code, fault.CodeOf(u.err), "%d: %v", i, u.err)
			require.Zero(t, k.count(t, `select count(*) from files where filename = $1`, u.Place.Filename))
			continue
		}
		require.NoError(t, u.err, "%d", i)
		require.Equal(t, 1, k.count(t, `select count(*) from files where asset_id = $1`, u.got.Asset.ID), "%d", i)
	}
	require.Equal(t, int64(len("first")+len("before")+900+len("abe")), k.requireCounted(t, "acme").Bytes)
	require.Equal(t, 6, k.count(t, `select count(*) from events where type = $1`, asset.TypeCreated))
	require.Equal(t, 6, k.count(t, `select count(*) from outbox`))
}

// Uploads take names from older files while these are ingested: both lock several files.
func TestUploadsThatReplaceFilesDoNotBlockTheirIngestion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		locked         int // of the files in order of their ids
		names, ingests []int
	}{
		"ingested backwards": {0, []int{0, 1}, []int{1, 0}},
		"replaced backwards": {1, []int{1, 0}, []int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newAssets(t)
			older := []asset.Asset{b.create(t, "x", "x", nil), b.create(t, "y", "y", nil)}
			slices.SortFunc(older, func(a, b asset.Asset) int { return strings.Compare(string(a.ID), string(b.ID)) })
			var newer []*uploading
			var found []asset.Ingested
			for i := range older {
				newer = append(newer, b.uploading(*older[c.names[i]].FilePath, fmt.Sprint(i), asset.New{}))
				found = append(found, asset.Ingested{
					Asset:    older[c.ingests[i]].ID,
					Verified: asset.VerifiedV1{OK: true, Scan: &asset.Scan{Verdict: asset.Clean}},
				})
			}
			tx, err := b.pool.Begin(t.Context())
			require.NoError(t, err)
			_, err = tx.Exec(t.Context(), `select from files where asset_id = $1 for update`, older[c.locked].ID)
			require.NoError(t, err)
			waits := func(statement string) func() bool {
				return func() bool {
					return b.count(t, `select count(*) from pg_stat_activity where query like $1 and wait_event_type = 'Lock'
						and datname = current_database()`, statement) > 0
				}
			}
			var running sync.WaitGroup
			running.Go(func() { b.joined(t, nil, newer...) })
			b.until(t, waits(`update files set named%`))
			var ingested error
			running.Go(func() { ingested = b.store.RecordAll(t.Context(), "acme", found) })
			b.until(t, waits(`update files set ingest_since%`))
			require.NoError(t, tx.Rollback(t.Context()))
			running.Wait()
			require.NoError(t, ingested)
			for _, u := range newer {
				require.NoError(t, u.err)
			}
		})
	}
}

// Several ask at once whether an account has bytes: each is answered of its own.
func TestEachQuestionForBytesIsAnsweredByItself(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	b.create(t, "mine", "mine", nil)
	b.create(t, "expired", "expired", past())
	var asking sync.WaitGroup
	for range 40 {
		for data, want := range map[string]bool{"mine": true, "expired": false, "other": false} {
			asking.Go(func() {
				held, err := b.store.HasBytes(t.Context(), "acme", blob.Sum([]byte(data)))
				if err != nil || held != want {
					t.Errorf("%s: %v, %v", data, held, err)
				}
				if held, err = b.store.HasBytes(t.Context(), "other", blob.Sum([]byte(data))); err != nil || held {
					t.Errorf("%s of another account: %v, %v", data, held, err)
				}
			})
		}
	}
	asking.Wait()
}

// Files of one prefix that jobs save at the same time have one transaction, and numbers without a gap. A file that is refused takes no
// number.
func TestFilesOfOnePrefixThatWaitAreSavedTogether(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	store := assetstore.New(b.pool, b.events)
	saving := func(content string) files.Saving {
		p := asset.Producer{Job: string(job.NewID()), Run: 1, Node: "9"}
		return files.Saving{
			Asset: asset.OutputID(p.Job, 1, "9", 0), Account: "acme", Folder: node.FolderOutput, Prefix: "a", Suffix: "_.png", Producer: p,
			Hash: blob.Sum([]byte(content)), Size: 1, ContentType: "image/png",
		}
	}
	first := saving("first")
	saved, err := store.Save(t.Context(), first)
	require.NoError(t, err)
	require.Equal(t, "a_00001_.png", saved.Place.Filename)

	over := saving("over")
	_, err = b.pool.Exec(t.Context(), `insert into streams (id, account, version, closed) values ($1, 'acme', 1, true)`,
		job.ID(over.Producer.Job).Stream())
	require.NoError(t, err)
	all := []files.Saving{saving("2"), first, saving("3"), over, saving("4")} // the second is repeated

	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }) // it has ended, unless the test failed
	_, err = tx.Exec(t.Context(), `select from file_counters for update`)
	require.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() { _, _ = store.Save(t.Context(), saving("0")) }) // the others wait behind it
	b.until(t, func() bool {
		return b.count(t, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`) > 0
	})
	got, failed := make([]files.Entry, len(all)), make([]error, len(all))
	for i, f := range all {
		running.Go(func() { got[i], failed[i] = store.Save(t.Context(), f) })
		b.until(t, func() bool { return store.Saving(f) == i+1 })
	}
	require.NoError(t, tx.Rollback(t.Context()))
	running.Wait()
	var made, streams []string
	for i, e := range got {
		if all[i].Asset == over.Asset {
			require.Equal(t, fault.CodeRunOver, fault.CodeOf(failed[i]))
			continue
		}
		require.NoError(t, failed[i], "%d", i)
		require.Equal(t, all[i].Hash, e.Hash, "%d", i)
		made = append(made, e.Place.Filename)
		if all[i].Asset != first.Asset {
			streams = append(streams, all[i].Asset.Stream())
		}
	}
	require.ElementsMatch(t, []string{"a_00001_.png", "a_00003_.png", "a_00004_.png", "a_00005_.png"}, made, "they waited for 2")
	require.Equal(t, 1, b.count(t, `select count(distinct xmin::text) from streams where id = any($1)`, streams), "one transaction")
}
