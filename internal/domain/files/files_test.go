package files_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

type bundle struct {
	pool     *pgxpool.Pool
	files    *files.Service
	blobs    *mem.Store
	events   *eventstore.Store
	registry *eventlog.Registry
}

func setup(t testing.TB, opts files.Options) *bundle {
	t.Helper()
	pool, err := postgres.Open(t.Context(), pgtest.Migrated(t, postgres.Migrate), postgres.PoolOptions{})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	b := &bundle{pool: pool, blobs: mem.New(), registry: eventlog.NewRegistry()}
	require.NoError(t, asset.Register(b.registry))
	b.events = eventstore.New(pool, b.registry, nil)
	b.files = files.New(assetstore.New(pool, b.events), b.blobs, opts)
	return b
}

func (b *bundle) asset(t testing.TB, id asset.ID) asset.Asset {
	t.Helper()
	recorded, err := b.events.ReadStream(t.Context(), id.Stream(), 0, 100)
	require.NoError(t, err)
	var a asset.Asset
	for _, rec := range recorded {
		data, err := b.registry.Decode(rec.Type, rec.Data)
		require.NoError(t, err)
		a = asset.Fold(a, rec, data)
	}
	return a
}

func newRun(account string) job.RunRef { return job.RunRef{Job: job.NewID(), Account: account, Run: 1} }

func png(index int) node.Save {
	return node.Save{
		Folder: node.FolderOutput, Prefix: "ComfyUI", Suffix: "_.png", ContentType: "image/png", Index: index, Width: 4,
		Height: 2,
	}
}

func content(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func TestSavedFilesAreCountedNamedAndRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Options{})
	run := newRun("a1")
	nf := b.files.ForNode(run, "9")
	for i := range 3 {
		f, err := nf.Save(t.Context(), png(i), content(fmt.Sprint("image ", i)))
		require.NoError(t, err)
		require.Equal(t, node.File{Filename: fmt.Sprintf("ComfyUI_%05d_.png", i+1), Folder: node.FolderOutput}, f)
	}
	saved := nf.Saved()
	require.Len(t, saved, 3)
	a := b.asset(t, asset.ID(saved[1].Asset))
	require.Equal(t, asset.Live, a.State)
	require.Equal(t, "a1", a.Account)
	require.Equal(t, blob.Sum([]byte("image 1")), a.Hash)
	require.Equal(t, saved[1].Hash, a.Hash.String())
	require.Equal(t, &asset.Producer{Job: string(run.Job), Run: 1, Node: "9", Index: 1}, a.Producer)
	require.Equal(t, [2]int{4, 2}, [2]int{a.Width, a.Height})

	c, err := b.files.ForAccount("a1").Open(t.Context(), "ComfyUI_00002_.png [output]")
	require.NoError(t, err)
	defer c.Close()
	got, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Equal(t, "image 1", string(got))
	require.Equal(t, node.Info{Name: "ComfyUI_00002_.png", Hash: a.Hash.String(), Size: 7, ContentType: "image/png", Pixels: 8}, c.Info())
}

func TestAnotherAttemptGetsTheSameNameAndRecordsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Options{})
	run := newRun("a1")
	first, err := b.files.ForNode(run, "9").Save(t.Context(), png(0), content("one"))
	require.NoError(t, err)
	again := b.files.ForNode(run, "9")
	second, err := again.Save(t.Context(), png(0), content("another"))
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.Equal(t, blob.Sum([]byte("one")).String(), again.Saved()[0].Hash, "what was recorded first stays")
	require.EqualValues(t, 1, b.asset(t, asset.ID(again.Saved()[0].Asset)).Version)

	run.Run = 2
	third, err := b.files.ForNode(run, "9").Save(t.Context(), png(0), content("one"))
	require.NoError(t, err)
	require.Equal(t, "ComfyUI_00002_.png", third.Filename, "another run is another call")
}

// The worker may die between saving a file and telling of it; what is deleted meanwhile stays deleted, and the next
// attempt tells of it as the first would have.
func TestADeletedFileStaysDeletedWhenItsNodeRunsAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Options{OutputRetention: time.Hour})
	assets := assetstore.New(b.pool, b.events)
	for name, end := range map[string]func(t *testing.T, id asset.ID) asset.State{
		"deleted": func(t *testing.T, id asset.ID) asset.State {
			require.NoError(t, assets.Delete(t.Context(), "a1", id, asset.By{}, "r"))
			return asset.Deleted
		},
		"expired": func(t *testing.T, id asset.ID) asset.State {
			_, err := b.pool.Exec(t.Context(), `update files set expires_at = now() - interval '1 hour' where asset_id = $1`, string(id))
			require.NoError(t, err)
			ended, failed, err := assets.Expire(t.Context(), 10, nil)
			require.NoError(t, err)
			require.Empty(t, failed)
			require.Equal(t, 1, ended)
			return asset.Expired
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := newRun("a1")
			save := png(0)
			save.Prefix = name
			lost := b.files.ForNode(run, "9")
			first, err := lost.Save(t.Context(), save, content("one"))
			require.NoError(t, err)
			id := asset.ID(lost.Saved()[0].Asset)
			state := end(t, id)

			again := b.files.ForNode(run, "9")
			second, err := again.Save(t.Context(), save, content("another"))
			require.NoError(t, err, "the run goes on")
			require.Equal(t, first, second)
			answer, before := again.Saved()[0], lost.Saved()[0]
			require.WithinDuration(t, before.SavedAt, answer.SavedAt, time.Minute)
			answer.SavedAt = before.SavedAt
			require.Equal(t, before, answer)
			require.Equal(t, state, b.asset(t, id).State)
			_, err = b.files.Lookup(t.Context(), "a1", asset.Place{Folder: string(first.Folder), Filename: first.Filename})
			require.True(t, fault.Is(err, fault.NotFound), "%v", err)
			var rows int
			require.NoError(t, b.pool.QueryRow(t.Context(), `select count(*) from files where asset_id = $1`, string(id)).Scan(&rows))
			require.Zero(t, rows)

			save.Index = 1
			next, err := again.Save(t.Context(), save, content("two"))
			require.NoError(t, err)
			require.Equal(t, name+"_00002_.png", next.Filename, "no number was spent on what was not saved")
		})
	}
}

// A worker that was taken for dead may still be at work when its job has ended, or begun again.
func TestAnAttemptThatOutlivedItsRunSavesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Options{})
	require.NoError(t, job.Register(b.registry))
	jobs := jobstore.New(b.pool, b.events)
	run := newRun("a1")
	_, err := jobs.Submit(t.Context(), job.NewJob{ID: run.Job, Account: "a1", Bounds: job.Bounds{Slots: 1, QueueDepth: 1}})
	require.NoError(t, err)
	zombie := b.files.ForNode(run, "9")
	_, err = zombie.Save(t.Context(), png(0), content("one"))
	require.NoError(t, err)
	other := run
	other.Run = 2
	_, err = b.files.ForNode(other, "9").Save(t.Context(), png(1), content("two"))
	require.Equal(t, fault.CodeRunOver, fault.CodeOf(err), "of a run that has no slot")
	_, err = jobs.End(t.Context(), job.Ending{ID: run.Job, Account: "a1", Run: 1, Type: job.TypeCanceled, Data: job.CanceledV1{Run: 1}})
	require.NoError(t, err)
	_, err = zombie.Save(t.Context(), png(1), content("two"))
	require.Equal(t, fault.CodeRunOver, fault.CodeOf(err))
	require.Len(t, zombie.Saved(), 1)
	var n int
	require.NoError(t, b.pool.QueryRow(t.Context(), `select count(*) from files`).Scan(&n))
	require.Equal(t, 1, n)
}

func TestParallelSavesGetDistinctNumbers(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Options{})
	const writers, each = 8, 10
	var mu sync.Mutex
	names := map[string]int{}
	var wg sync.WaitGroup
	for range writers {
		run := newRun("a1")
		wg.Go(func() {
			nf := b.files.ForNode(run, "9")
			for i := range each {
				// Two attempts of the same call at once: a worker that was taken for dead.
				var twice sync.WaitGroup
				for range 2 {
					twice.Go(func() {
						f, err := nf.Save(t.Context(), png(i), content(string(run.Job)+fmt.Sprint(i)))
						mu.Lock()
						defer mu.Unlock()
						if err == nil {
							names[f.Filename]++
						}
					})
				}
				twice.Wait()
			}
		})
	}
	wg.Wait()
	require.Len(t, names, writers*each)
	for i := range writers * each {
		require.Equal(t, 2, names[fmt.Sprintf("ComfyUI_%05d_.png", i+1)], "number %d", i+1)
	}
}

func TestTheCounterFollowsTheHighestNameOfThePrefix(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Options{})
	upload(t, b, "a1", "ComfyUI_00041_.png", node.FolderOutput, "x")
	upload(t, b, "a1", "ComfyUI_x_.png", node.FolderOutput, "y")
	upload(t, b, "a2", "ComfyUI_00077_.png", node.FolderOutput, "z")
	upload(t, b, "a1", "other_00099_.png", node.FolderOutput, "w")
	save := func(prefix string) string {
		f, err := b.files.ForNode(newRun("a1"), "9").Save(t.Context(),
			node.Save{Folder: node.FolderOutput, Prefix: prefix, Suffix: "_.png", ContentType: "image/png"}, content("c"))
		require.NoError(t, err)
		return Path(f)
	}
	require.Equal(t, "ComfyUI_00042_.png", save("ComfyUI"))
	require.Equal(t, "sub/dir/ComfyUI_00001_.png", save("sub/dir/ComfyUI"))
	upload(t, b, "a1", "ComfyUI_00100_.png", node.FolderOutput, "v")
	require.Equal(t, "ComfyUI_00101_.png", save("ComfyUI"), "an upload moves the counter too")
	upload(t, b, "a1", "ComfyUI_99999_.png", node.FolderOutput, "u")
	require.Equal(t, "ComfyUI_100000_.png", save("ComfyUI"), "numbers beyond five digits grow")
	require.Equal(t, "a_00005_00001_.png", save("a_00005"))
	require.Equal(t, "a_00006_.png", save("a"))
	require.Equal(t, "100%_'x_00001_.png", save("100%_'x"))
}

// Path returns the path of a file below its folder.
func Path(f node.File) string {
	if f.Subfolder == "" {
		return f.Filename
	}
	return f.Subfolder + "/" + f.Filename
}

func TestUnsafeSavesAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Options{})
	for _, prefix := range []string{"../x", "/etc/x", "a/../../x", `..\x`, "c:/x", "a\x00b", string(bytes.Repeat([]byte("n"), 300))} {
		_, err := b.files.ForNode(newRun("a1"), "9").Save(t.Context(),
			node.Save{Folder: node.FolderOutput, Prefix: prefix, Suffix: "_.png"}, content("c"))
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%q: %v", prefix, err)
	}
	_, err := b.files.ForNode(newRun("a1"), "9").Save(t.Context(), node.Save{Folder: "models", Prefix: "x"}, content("c"))
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	_, err = b.files.ForNode(newRun("a1"), "9").Save(t.Context(), png(8192), content("c"))
	require.Equal(t, fault.CodeTooManyFiles, fault.CodeOf(err), "a list of batches would be millions")
	_, err = b.files.ForAccount("a1").Save(t.Context(), png(0), content("c"))
	require.Equal(t, fault.Denied, fault.KindOf(err))
}

func TestAFailedWriteRecordsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Options{})
	broken := fault.New(fault.Exhausted, "", "too many pixels")
	nf := b.files.ForNode(newRun("a1"), "9")
	_, err := nf.Save(t.Context(), png(0), func(io.Writer) error { return broken })
	require.ErrorIs(t, err, broken)
	require.Empty(t, nf.Saved())
	names, err := nf.List(t.Context(), node.FolderOutput, 10)
	require.NoError(t, err)
	require.Empty(t, names)
}

func upload(t testing.TB, b *bundle, account, name string, folder node.Folder, text string, change ...func(*files.Upload)) files.Entry {
	t.Helper()
	stored, err := blob.Put(t.Context(), b.blobs, blob.Durable, bytes.NewReader([]byte(text)))
	require.NoError(t, err)
	place, err := files.NewPlace(folder, name)
	require.NoError(t, err)
	u := files.Upload{Account: account, Place: place, Hash: stored.Ref, Size: stored.Size, ContentType: "image/png"}
	for _, c := range change {
		c(&u)
	}
	e, err := b.files.Upload(t.Context(), u)
	require.NoError(t, err)
	return e
}

func TestUploadNames(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Options{})
	first := upload(t, b, "a1", "photo.png", node.FolderInput, "one")
	require.Equal(t, "photo.png", first.Place.Filename)
	require.Equal(t, first, upload(t, b, "a1", "photo.png", node.FolderInput, "one"), "same bytes, same file")
	second := upload(t, b, "a1", "photo.png", node.FolderInput, "two")
	require.Equal(t, "photo (1).png", second.Place.Filename)
	require.Equal(t, second, upload(t, b, "a1", "photo.png", node.FolderInput, "two"))
	require.Equal(t, "photo (2).png", upload(t, b, "a1", "photo.png", node.FolderInput, "three").Place.Filename)
	require.Equal(t, "photo.png", upload(t, b, "a2", "photo.png", node.FolderInput, "two").Place.Filename, "accounts do not meet")
	require.Equal(t, "photo.png", upload(t, b, "a1", "photo.png", node.FolderTemp, "two").Place.Filename, "folders do not meet")

	over := upload(t, b, "a1", "photo.png", node.FolderInput, "four", func(u *files.Upload) { u.Overwrite = true })
	require.Equal(t, "photo.png", over.Place.Filename)
	require.NotEqual(t, first.Asset, over.Asset)
	now, err := b.files.Lookup(t.Context(), "a1", over.Place)
	require.NoError(t, err)
	require.Equal(t, blob.Sum([]byte("four")), now.Hash)
	old, err := b.files.ForAccount("a1").Stat(t.Context(), files.AssetName(first.Public))
	require.NoError(t, err, "the overwritten asset lives on under its id")
	require.Equal(t, blob.Sum([]byte("one")).String(), old.Hash)
	require.Equal(t, asset.Uploaded, b.asset(t, over.Asset).Origin)
}

func TestManyUploadsOfOneNameAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Options{})
	var mu sync.Mutex
	var names []string
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			data := []byte(fmt.Sprint(i % 20)) // every content twice
			stored, err := blob.Put(t.Context(), b.blobs, blob.Durable, bytes.NewReader(data))
			if err != nil {
				return
			}
			e, err := b.files.Upload(t.Context(), files.Upload{
				Account: "a1", Place: asset.Place{Folder: "input", Filename: "p.png"}, Hash: stored.Ref, Size: stored.Size, ContentType: "image/png",
			})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				names = append(names, e.Place.Filename)
			}
		})
	}
	wg.Wait()
	require.Len(t, names, 40)
	slices.Sort(names)
	require.Len(t, slices.Compact(names), 20)
}

func TestReads(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Options{})
	e := upload(t, b, "a1", "sub/photo.png", node.FolderInput, "one")
	mine, theirs := b.files.ForAccount("a1"), b.files.ForAccount("a2")
	for name, want := range map[string]fault.Kind{
		"sub/photo.png":                  0,
		"sub/photo.png [input]":          0,
		files.AssetName(e.Public):        0,
		e.Hash.String():                  0,
		"sub/photo.png [output]":         fault.NotFound,
		"photo.png":                      fault.NotFound,
		"asset:nonsense":                 fault.NotFound,
		"asset:" + uuid.NewString():      fault.NotFound,
		"blake3:12":                      fault.NotFound,
		"../photo.png":                   fault.Invalid,
		"/sub/photo.png":                 fault.Invalid,
		"sub//photo.png":                 fault.Invalid,
		"":                               fault.Invalid,
		" [input]":                       fault.Invalid,
		"sub/photo.png [models]":         fault.NotFound,
		blob.Sum([]byte("no")).String():  fault.NotFound,
		"sub/photo.png [input] [output]": fault.NotFound,
	} {
		_, err := mine.Stat(t.Context(), name)
		if want == 0 {
			require.NoError(t, err, name)
		} else {
			require.Equal(t, want, fault.KindOf(err), "%q: %v", name, err)
		}
		_, err = theirs.Stat(t.Context(), name)
		require.Error(t, err, "another account sees nothing: %q", name)
	}
	upload(t, b, "a1", "mask.png", node.FolderInput, "two")
	upload(t, b, "a1", "out.png", node.FolderOutput, "three")
	_, err := mine.Stat(t.Context(), "clipspace/mask.png")
	require.NoError(t, err, "clients name a mask with a subfolder that had no effect")
	_, err = mine.Stat(t.Context(), "clipspace/out.png [output]")
	require.True(t, fault.Is(err, fault.NotFound), "an output has one name")
	names, err := mine.List(t.Context(), node.FolderInput, 10)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"sub/photo.png", "mask.png"}, names)
	names, err = theirs.List(t.Context(), node.FolderInput, 10)
	require.NoError(t, err)
	require.Empty(t, names)
}

func TestADeadlineEndsReadsAndIsOnlyExtended(t *testing.T) {
	t.Parallel()
	clock := time.Now().UTC().Add(-2 * time.Hour)
	b := setup(t, files.Options{InputRetention: time.Hour, OutputRetention: time.Hour, Now: func() time.Time { return clock }})
	e := upload(t, b, "a1", "photo.png", node.FolderInput, "one")
	_, err := b.files.Lookup(t.Context(), "a1", e.Place)
	require.Equal(t, fault.NotFound, fault.KindOf(err), "its hour has passed")

	clock = time.Now().UTC()
	fresh := upload(t, b, "a1", "photo.png", node.FolderInput, "one")
	require.Equal(t, "photo.png", fresh.Place.Filename, "the name of an expired file is free")
	require.NotEqual(t, e.Asset, fresh.Asset)
	clock = clock.Add(-30 * time.Minute)
	require.Equal(t, fresh.ExpiresAt, upload(t, b, "a1", "photo.png", node.FolderInput, "one").ExpiresAt, "never brought nearer")
	clock = clock.Add(time.Hour)
	later := upload(t, b, "a1", "photo.png", node.FolderInput, "one")
	require.Equal(t, fresh.Asset, later.Asset)
	require.Equal(t, 30*time.Minute, later.ExpiresAt.Sub(*fresh.ExpiresAt).Round(time.Second))
	require.Equal(t, later.ExpiresAt, b.asset(t, later.Asset).ExpiresAt, "an event says so")
}
