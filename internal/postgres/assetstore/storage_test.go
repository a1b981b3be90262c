package assetstore_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/userdata"
)

// keeper is everything that adds to what an account keeps, within limits.
type keeper struct {
	*assetBundle
	storage *accountstore.Storage
	user    *accountstore.Userdata
}

func newKeeper(t *testing.T, standard int64) *keeper {
	t.Helper()
	b := newAssets(t)
	k := &keeper{assetBundle: b, storage: accountstore.NewStorage(b.pool, standard)}
	b.store = b.store.Within(k.storage)
	b.files = files.New(b.store, b.blobs, files.Options{})
	k.user = accountstore.NewUserdata(b.pool, b.events).Within(k.storage)
	return k
}

// upload records an asset of so many bytes of one letter.
func (k *keeper) upload(ctx context.Context, owner, letter string, size int, deadline *time.Time) (asset.Asset, error) {
	data := []byte(strings.Repeat(letter, size))
	made, err := k.store.Create(ctx, asset.New{
		Account: owner, Origin: asset.Uploaded, Hash: blob.Sum(data), Size: int64(size), ContentType: "image/png", Deadline: deadline,
		Place: &asset.Place{Folder: "input", Filename: letter + ".png"},
	})
	return made.Asset, err
}

// post records an upload of the cloud routes.
func (k *keeper) post(ctx context.Context, owner, letter string, size int) error {
	data := []byte(strings.Repeat(letter, size))
	_, err := k.store.Upload(ctx, files.Upload{
		Account: owner, Place: asset.Place{Folder: "input", Filename: letter + ".png"}, Hash: blob.Sum(data), Size: int64(size),
		ContentType: "image/png",
	})
	return err
}

func (k *keeper) save(ctx context.Context, owner, text string, index int) error {
	_, err := k.files.ForNode(job.RunRef{Job: job.NewID(), Account: owner, Run: 1}, "9").Save(ctx, node.Save{
		Folder: node.FolderOutput, Prefix: "a", Suffix: "_.png", ContentType: "image/png", Index: index,
	}, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	return err
}

func (k *keeper) put(ctx context.Context, owner string, path string, size int64) error {
	_, err := k.user.Put(ctx, owner, userdata.File{Path: userdata.Path(path), Hash: blob.Sum([]byte(path)), Size: size}, true, 1000)
	return err
}

func (k *keeper) requireCounted(t *testing.T, owner string) account.Storage {
	t.Helper()
	counted, kept, err := k.storage.Recount(t.Context(), owner)
	require.NoError(t, err)
	require.Equal(t, counted, kept, owner)
	return kept
}

// Whatever is added and taken, by several at once, refused, given up half-way or cut off by a dying connection:
// what is kept count of is what the records add up to.
func TestStoredBytesAreCountedExactly(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 4000)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	owners := []string{"a", "b", "c"}
	var mu sync.Mutex
	var made []asset.Asset
	var group errgroup.Group
	for worker := range 6 {
		group.Go(func() error {
			r := rand.New(rand.NewPCG(seed, uint64(worker)))
			for range 60 {
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if r.IntN(8) == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(3000))*time.Microsecond)
				}
				owner, letter, size := owners[r.IntN(3)], string(rune('a'+r.IntN(5))), 1+r.IntN(300)
				switch r.IntN(9) {
				case 0, 1:
					var deadline *time.Time
					if r.IntN(2) == 0 {
						deadline = past()
					}
					if a, err := k.upload(ctx, owner, letter, size, deadline); err == nil {
						mu.Lock()
						made = append(made, a)
						mu.Unlock()
					}
				case 2:
					_ = k.post(ctx, owner, letter, size) // refusals and cut connections are part of it
				case 3:
					_ = k.save(ctx, owner, strings.Repeat("o", size), 0)
				case 4:
					_ = k.put(ctx, owner, letter, int64(size))
				case 5:
					if r.IntN(2) == 0 {
						_ = k.user.Delete(ctx, owner, userdata.Path(letter))
					} else {
						_, _ = k.user.Move(ctx, owner, userdata.Path(letter), userdata.Path(letter+letter), true)
					}
				case 6:
					mu.Lock()
					var a asset.Asset
					if len(made) > 0 {
						a = made[r.IntN(len(made))]
					}
					mu.Unlock()
					if r.IntN(2) == 0 {
						_ = k.store.Delete(ctx, a.Account, a.ID, asset.By{}, "r")
					} else {
						path := letter
						_, _, _ = k.store.Reference(ctx, asset.New{Account: a.Account, Origin: asset.Referenced, Hash: a.Hash, FilePath: &path})
					}
				case 7:
					_, _, _ = k.store.Expire(ctx, 10, nil)
				case 8:
					_, _ = k.pool.Exec(ctx, `select pg_terminate_backend(pid) from (select pid from pg_stat_activity
						where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle' order by random() limit 1) s`)
				}
				cancel()
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	var all int64
	for _, owner := range owners {
		all += k.requireCounted(t, owner).Files
	}
	require.NotZero(t, all)
	kept, err := k.storage.All(t.Context())
	require.NoError(t, err)
	for owner, sum := range kept {
		require.Equal(t, k.requireCounted(t, owner).Bytes, sum.Bytes)
		require.Equal(t, int64(4000), sum.Limit)
	}
}

// However many uploads come at once, what is accepted is within the limit, and nothing that fits is refused.
func TestUploadsAtOnceStayWithinTheLimit(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 1000)
	var mu sync.Mutex
	accepted, refused := 0, 0
	var group errgroup.Group
	for i := range 24 {
		group.Go(func() error {
			var err error
			switch letter := string(rune('a' + i)); i % 3 {
			case 0:
				_, err = k.upload(t.Context(), "acme", letter, 100, nil)
			case 1:
				err = k.post(t.Context(), "acme", letter, 100)
			case 2:
				err = k.put(t.Context(), "acme", letter, 100)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				accepted++
				return nil
			}
			refused++
			if fault.CodeOf(err) != fault.CodeStorageQuotaExceeded || !fault.Is(err, fault.Denied) {
				return fmt.Errorf("upload %d: %w", i, err)
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.Equal(t, 10, accepted)
	require.Equal(t, 14, refused)
	require.Equal(t, account.Storage{Bytes: 1000, Files: 10}, k.requireCounted(t, "acme"))
	require.Error(t, k.storage.Fits(t.Context(), "acme", 1))
	require.NoError(t, k.storage.Fits(t.Context(), "others", 1000))
	require.Error(t, k.storage.Fits(t.Context(), "others", 1001))
}

// Small uploads of an account far below its limit do not wait for each other's commits; on the way to it they do, and
// however they are mixed, what is accepted is within the limit and nothing that fits is refused.
func TestSmallUploadsAtOnceStayWithinTheLimit(t *testing.T) {
	t.Parallel()
	const limit, small, large = 256 * 8, 8, 100
	k := newKeeper(t, limit)
	var accepted atomic.Int64
	var group errgroup.Group
	group.SetLimit(24)
	for i := range limit/small + 24 {
		group.Go(func() error {
			size := small
			if i%64 == 63 {
				size = large // too large to be added beside others
			}
			data := []byte(fmt.Sprintf("%*d", size, i))
			_, err := k.store.Create(t.Context(), asset.New{
				Account: "acme", Origin: asset.Uploaded, Hash: blob.Sum(data), Size: int64(size), ContentType: "image/png",
			})
			if err == nil {
				accepted.Add(int64(size))
				return nil
			}
			if fault.CodeOf(err) != fault.CodeStorageQuotaExceeded {
				return fmt.Errorf("upload %d: %w", i, err)
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	kept := k.requireCounted(t, "acme").Bytes
	require.Equal(t, accepted.Load(), kept)
	require.LessOrEqual(t, kept, int64(limit))
	require.Greater(t, kept, int64(limit-small), "what is left has room for none of those that were refused")
}

// Far below the limit an upload is committed beside one that is not yet; close to it, it waits for what that comes to.
func TestUploadsWaitForEachOtherOnlyNearTheLimit(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 1024)
	slot := 100 // which no session takes by itself: here nothing may wait for a row
	begin := func(size int64) pgx.Tx {
		tx, err := k.pool.Begin(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }) // of one that a failure has left
		slot++
		_, err = tx.Exec(t.Context(), `insert into account_storage (account, slot, bytes, files) values ('acme', $1, $2, 1)`, slot, size)
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), `select within_storage_by('acme', 1024, $1)`, size)
		require.NoError(t, err)
		return tx
	}
	waiting := make(chan error, 1)
	upload := func(letter string, size int) {
		go func() {
			_, err := k.upload(t.Context(), "acme", letter, size, nil)
			waiting <- err
		}()
		k.awaitWaiting(t, waiting)
	}
	first := begin(4)
	second := begin(3) // beside the first
	upload("a", 1018)  // too large for that
	require.NoError(t, first.Rollback(t.Context()))
	require.NoError(t, second.Commit(t.Context()))
	require.NoError(t, <-waiting, "there is room when the first has come to nothing")

	third := begin(2)
	upload("b", 2)
	require.NoError(t, third.Commit(t.Context()))
	require.Equal(t, fault.CodeStorageQuotaExceeded, fault.CodeOf(<-waiting))
	kept, err := k.storage.Usage(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, account.Storage{Bytes: 1023, Files: 3, Limit: 1024}, kept)
}

// awaitWaiting returns when a session waits for an advisory lock. What is done instead of that comes by over.
func (k *keeper) awaitWaiting(t *testing.T, over <-chan error) {
	t.Helper()
	for waits := false; !waits; {
		select {
		case err := <-over:
			require.FailNow(t, "nothing waits", "%v", err)
		default:
		}
		require.NoError(t, k.pool.QueryRow(t.Context(), `select exists (select from pg_locks
			where locktype = 'advisory' and not granted and database = (select oid from pg_database
				where datname = current_database()))`).Scan(&waits))
	}
}

// Nothing that was accepted is lost: jobs and calls keep what they make, and only then the door is shut.
func TestOutputsAreKeptBeyondTheLimit(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 100)
	first, err := k.upload(t.Context(), "acme", "a", 90, nil)
	require.NoError(t, err)
	require.NoError(t, k.save(t.Context(), "acme", strings.Repeat("o", 50), 0))
	_, err = k.store.Create(t.Context(), asset.New{
		Account: "acme", Origin: asset.Hosted, Hash: blob.Sum([]byte("h")), Size: 1000,
		ContentType: "image/png",
	})
	require.NoError(t, err)
	require.Equal(t, int64(1140), k.requireCounted(t, "acme").Bytes)

	path := "again.png"
	_, _, err = k.store.Reference(t.Context(), asset.New{Account: "acme", Origin: asset.Referenced, Hash: first.Hash, FilePath: &path})
	require.Equal(t, fault.CodeStorageQuotaExceeded, fault.CodeOf(err))
	_, err = k.upload(t.Context(), "acme", "b", 1, nil)
	require.Equal(t, fault.CodeStorageQuotaExceeded, fault.CodeOf(err))
	require.Equal(t, int64(3), k.requireCounted(t, "acme").Files, "and nothing of what was refused")
	var streams int
	require.NoError(t, k.pool.QueryRow(t.Context(), `select count(*) from streams where id like 'asset-%'`).Scan(&streams))
	require.Equal(t, 3, streams)
}

// A limit of an account's own takes the place of the deployment's, also when there is none, with its event.
func TestAnAccountHasALimitOfItsOwn(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 100)
	registry := eventlog.NewRegistry()
	require.NoError(t, account.Register(registry))
	events := eventstore.New(k.pool, registry, nil)
	subscriptions := accountstore.NewSubscriptions(events)
	set := func(bytes *int64) {
		t.Helper()
		_, err := subscriptions.Change(t.Context(), account.Change{
			Account: account.LocalID, Actor: "kim", Reason: "r",
			Storage: &account.StorageLimit{Bytes: bytes},
		})
		require.NoError(t, err)
	}
	fits := func(bytes int64) bool {
		return accountstore.NewStorage(k.pool, 100).Fits(t.Context(), account.LocalID, bytes) == nil
	}
	none, some, negative := int64(0), int64(500), int64(-1)
	require.True(t, fits(100))
	require.False(t, fits(101))
	set(&some)
	set(&some)
	require.True(t, fits(500))
	require.False(t, fits(501))
	set(&none)
	require.True(t, fits(1<<50))
	set(nil)
	require.False(t, fits(101))
	_, err := subscriptions.Change(t.Context(), account.Change{
		Account: account.LocalID, Actor: "kim",
		Storage: &account.StorageLimit{Bytes: &negative},
	})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	recorded, err := events.ReadStream(t.Context(), account.Stream(account.LocalID), 0, 10)
	require.NoError(t, err)
	require.Len(t, recorded, 3, "what is in force already is not recorded again")
	require.JSONEq(t, `{"bytes":500,"was":null}`, string(recorded[0].Data))
	require.JSONEq(t, `{"bytes":null,"was":0}`, string(recorded[2].Data))
}

// A change counts within a second, in processes that know the limit from before.
func TestAChangedLimitIsLearned(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 0)
	require.NoError(t, k.storage.Fits(t.Context(), account.LocalID, 10))
	_, err := k.pool.Exec(t.Context(), `update accounts set storage_limit = 5 where id = 'local'`)
	require.NoError(t, err)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for k.storage.Fits(t.Context(), account.LocalID, 10) == nil {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it was never learned")
		}
	}
}

// The size of a record never changes, which is why updates of files need no counting.
func TestARecordKeepsItsSize(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 0)
	_, err := k.upload(t.Context(), "acme", "a", 10, nil)
	require.NoError(t, err)
	_, err = k.pool.Exec(t.Context(), `update files set size = size + 1`)
	require.ErrorContains(t, err, "do not change")
	_, err = k.pool.Exec(t.Context(), `update files set size = size, named = false`)
	require.NoError(t, err)
	require.Equal(t, int64(10), k.requireCounted(t, "acme").Bytes)
}
