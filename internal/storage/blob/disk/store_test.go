package disk_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest"
	"github.com/millrace-dev/millrace/internal/storage/blob/disk"
)

func open(t testing.TB, root string, opts disk.Options) *disk.Store {
	t.Helper()
	s, err := disk.Open(t.Context(), root, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func path(root string, ref blob.Ref) string {
	hex := ref.Hex()
	return filepath.Join(root, "blobs", hex[:2], hex)
}

func damage(t testing.TB, root string, ref blob.Ref) {
	t.Helper()
	f, err := os.OpenFile(path(root, ref), os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	b := make([]byte, 1)
	at := info.Size() / 2
	_, err = f.ReadAt(b, at)
	require.NoError(t, err)
	b[0] ^= 0x10
	_, err = f.WriteAt(b, at)
	require.NoError(t, err)
}

func staged(t testing.TB, root string) int {
	t.Helper()
	n := 0
	require.NoError(t, filepath.WalkDir(filepath.Join(root, "staging"), func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != ".lock" {
			n++
		}
		return err
	}))
	return n
}

func TestConformance(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t testing.TB) blobtest.Harness {
		root := t.TempDir()
		return blobtest.Harness{
			Store:     open(t, root, disk.Options{}),
			Damage:    func(t testing.TB, ref blob.Ref) { damage(t, root, ref) },
			Leftovers: func(t testing.TB) int { return staged(t, root) },
			Huge:      96 << 20,
		}
	})
}

func TestADamagedBlobIsTakenOutOfServiceAndHealedByTheNextUpload(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := open(t, root, disk.Options{})
	data := bytes.Repeat([]byte("millrace "), 10_000)
	ref, err := blob.PutBytes(t.Context(), s, data)
	require.NoError(t, err)
	damage(t, root, ref)
	_, err = blob.Verify(t.Context(), s, ref)
	require.ErrorIs(t, err, blob.ErrCorrupt)
	_, err = s.Open(t.Context(), ref)
	require.Equal(t, fault.NotFound, fault.KindOf(err), "the damaged file serves nobody any more")
	kept, err := os.ReadDir(filepath.Join(root, "damaged"))
	require.NoError(t, err)
	require.Len(t, kept, 1, "it is kept for the operator")
	_, err = blob.PutBytes(t.Context(), s, data)
	require.NoError(t, err)
	_, err = blob.Verify(t.Context(), s, ref)
	require.NoError(t, err)
}

// A damaged file that nobody has read since is not taken for the bytes of an upload, however large it is.
func TestADamagedBlobThatWasNotReadIsReplacedByTheNextUpload(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10_000, 3 << 20} {
		root := t.TempDir()
		data := bytes.Repeat([]byte{9}, size)
		ref, err := blob.PutBytes(t.Context(), open(t, root, disk.Options{}), data)
		require.NoError(t, err)
		damage(t, root, ref)
		s := open(t, root, disk.Options{})
		stored, err := blob.Put(t.Context(), s, blob.Durable, bytes.NewReader(data))
		require.NoError(t, err)
		require.True(t, stored.Created)
		_, err = blob.Verify(t.Context(), s, ref)
		require.NoError(t, err, "%d bytes", size)
	}
}

func TestATruncatedFileIsReplacedByTheNextUpload(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := open(t, root, disk.Options{})
	data := bytes.Repeat([]byte{7}, 50_000)
	ref, err := blob.PutBytes(t.Context(), s, data)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path(root, ref), 100))
	stored, err := blob.Put(t.Context(), s, blob.Durable, bytes.NewReader(data))
	require.NoError(t, err)
	require.True(t, stored.Created)
	_, err = blob.Verify(t.Context(), s, ref)
	require.NoError(t, err)
}

func TestAVerifiedFileIsTrustedUntilItChanges(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := open(t, root, disk.Options{})
	ref, err := blob.PutBytes(t.Context(), s, bytes.Repeat([]byte{1}, 10_000))
	require.NoError(t, err)
	require.Nil(t, file(t, s, ref, false), "nothing was checked yet")
	require.NotNil(t, file(t, s, ref, true), "checked while it was read")
	require.NotNil(t, file(t, s, ref, false), "checked a moment ago")
	damage(t, root, ref)
	require.Nil(t, file(t, s, ref, false), "changed since")
}

func file(t *testing.T, s *disk.Store, ref blob.Ref, readAll bool) *os.File {
	t.Helper()
	r, err := s.Open(t.Context(), ref)
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	if readAll {
		_, err = io.Copy(io.Discard, r)
		require.NoError(t, err)
	}
	return r.(blob.Filer).File()
}

func TestStagingOfEndedProcessesIsCleared(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	living := open(t, root, disk.Options{})
	w, err := living.Create(t.Context(), blob.Durable)
	require.NoError(t, err)
	_, err = w.Write([]byte("unfinished"))
	require.NoError(t, err)

	dead := filepath.Join(root, "staging", "dead")
	require.NoError(t, os.MkdirAll(dead, 0o700))
	for _, name := range []string{".lock", "leftover"} {
		require.NoError(t, os.WriteFile(filepath.Join(dead, name), []byte("x"), 0o600))
	}
	open(t, root, disk.Options{})
	require.NoDirExists(t, dead)
	stored, err := w.Commit(t.Context())
	require.NoError(t, err)
	_, err = blob.Verify(t.Context(), living, stored.Ref)
	require.NoError(t, err)
}

// A file that this process has synced is not synced again; one that it has only written, or that something has touched, is.
func TestAStoredBlobIsSyncedOnce(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), disk.Options{})
	syncs := 0
	s.SyncBy(func(*os.File) error { syncs++; return nil })
	for size, after := range map[int][]int{100: {0, 1, 1, 1, 1}, 2 << 20: {0, 1, 1, 1, 1}} {
		data := bytes.Repeat([]byte{5}, size)
		syncs = 0
		for i, how := range []blob.Durability{blob.Relaxed, blob.Durable, blob.Relaxed, blob.Durable, blob.Durable} {
			stored, err := blob.Put(t.Context(), s, how, bytes.NewReader(data))
			require.NoError(t, err)
			require.Equal(t, i == 0, stored.Created)
			require.Equal(t, after[i], syncs, "%d of %d bytes", i, size)
		}
		require.NoError(t, s.Touch(t.Context(), blob.Sum(data)))
		_, err := blob.PutBytes(t.Context(), s, data)
		require.NoError(t, err)
		require.Equal(t, 2, syncs)
	}
}

// A file is made only of bytes that the store lacks, or that are too many for memory. Where none can be made, the bytes can still be read.
func TestFewBytesOfAStoredBlobNeedNoFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := open(t, root, disk.Options{})
	held := bytes.Repeat([]byte{1}, blob.SpoolMemory)
	_, err := blob.PutBytes(t.Context(), s, held)
	require.NoError(t, err)
	folders, err := filepath.Glob(filepath.Join(root, "staging", "*"))
	require.NoError(t, err)
	require.Len(t, folders, 1)
	require.NoError(t, os.RemoveAll(folders[0]))

	stored, err := blob.Put(t.Context(), s, blob.Durable, bytes.NewReader(held))
	require.NoError(t, err)
	require.False(t, stored.Created)
	for size, fails := range map[int]string{blob.SpoolMemory: "commit", blob.SpoolMemory + 2: "write"} {
		w, err := s.Create(t.Context(), blob.Durable)
		require.NoError(t, err)
		data := bytes.Repeat([]byte{2}, size-1)
		n, err := w.Write(data[:blob.SpoolMemory-1])
		require.NoError(t, err)
		if m, err := w.Write(data[n:]); fails == "write" {
			require.Error(t, err)
			require.Zero(t, m)
		}
		_, err = w.Commit(t.Context())
		require.Error(t, err)
		sum, count := w.Sum()
		back, err := io.ReadAll(io.NewSectionReader(w, 0, count))
		require.NoError(t, err)
		require.Equal(t, data[:n], back, fails)
		require.Equal(t, blob.Sum(back), sum)
		_, err = w.Write([]byte{3})
		require.Error(t, err, "after a failure nothing more is taken")
		require.NoError(t, w.Abort())
	}
}

// TestKilledWriters kills a process that writes blobs without pause, many times. Afterwards every blob is complete, and the
// next start removes all staging files.
func TestKilledWriters(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for range 5 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestWriterProcess$")
		cmd.Env = append(os.Environ(), "MILLRACE_TEST_WRITER="+root)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = io.ReadFull(out, make([]byte, 20)) // the process has stored some blobs and goes on writing
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
	}
	s := open(t, root, disk.Options{})
	require.Zero(t, staged(t, root))
	n := 0
	require.NoError(t, s.Walk(t.Context(), func(e blob.Entry) error {
		n++
		_, err := blob.Verify(t.Context(), s, e.Ref)
		return err
	}))
	require.GreaterOrEqual(t, n, 20)
}

func TestWriterProcess(t *testing.T) {
	root := os.Getenv("MILLRACE_TEST_WRITER")
	if root == "" {
		t.Skip("the child of TestKilledWriters")
	}
	s, err := disk.Open(t.Context(), root, disk.Options{})
	require.NoError(t, err)
	for i := time.Now().UnixNano(); ; i++ {
		data := bytes.Repeat([]byte{byte(i), byte(i >> 8), byte(i >> 16), byte(i >> 24)}, 30_000)
		_, err := blob.PutBytes(t.Context(), s, data)
		require.NoError(t, err)
		_, err = os.Stdout.Write([]byte{'.'})
		require.NoError(t, err)
	}
}

// Several stores on one folder start in the same instant and clear staging folders concurrently.
func TestStoresStartedConcurrentlyShareAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var group errgroup.Group
	for range 16 {
		group.Go(func() error {
			for range 20 {
				s, err := disk.Open(t.Context(), dir, disk.Options{})
				if err != nil {
					return err
				}
				_, err = blob.PutBytes(t.Context(), s, []byte("written by everyone"))
				if err := errors.Join(err, s.Close()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
}

// A small file has its name when it is synced, so that one sync writes both. Nothing refers to it until then.
func TestOnlySmallFilesAreNamedBeforeTheyAreSynced(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := open(t, root, disk.Options{})
	for size, named := range map[int]bool{1 << 20: true, 1<<20 + 1: false} {
		data, seen := bytes.Repeat([]byte{7}, size), 0
		s.SyncBy(func(*os.File) error {
			_, err := os.Stat(path(root, blob.Sum(data)))
			require.Equal(t, named, err == nil, "%d", size)
			seen++
			return nil
		})
		_, err := blob.PutBytes(t.Context(), s, data)
		require.NoError(t, err)
		require.Equal(t, 1, seen)
	}
}

func TestAFileWhoseBytesCannotBeSyncedLosesItsName(t *testing.T) {
	t.Parallel()
	root, broken := t.TempDir(), errors.New("broken disk")
	s := open(t, root, disk.Options{})
	data := []byte("small")
	s.SyncBy(func(*os.File) error { return broken })
	_, err := blob.PutBytes(t.Context(), s, data)
	require.ErrorIs(t, err, broken)
	_, err = s.Stat(t.Context(), blob.Sum(data))
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)

	s.SyncBy(func(*os.File) error { // another writer has replaced the file meanwhile
		other := filepath.Join(root, "other")
		require.NoError(t, os.WriteFile(other, data, 0o600))
		require.NoError(t, os.Rename(other, path(root, blob.Sum(data))))
		return broken
	})
	_, err = blob.PutBytes(t.Context(), s, data)
	require.ErrorIs(t, err, broken)
	_, err = s.Stat(t.Context(), blob.Sum(data))
	require.NoError(t, err, "the file of the other writer")
}

// After an error nothing is stored, unless another writer of the same bytes uses the file.
func TestAFileWhoseFolderCannotBeSyncedLosesItsName(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small": 10, "large": 1<<20 + 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, broken := t.TempDir(), errors.New("broken disk")
			s, other := open(t, root, disk.Options{}), open(t, root, disk.Options{})
			data := bytes.Repeat([]byte{7}, size)
			put := func() error {
				stored, err := blob.Put(t.Context(), s, blob.Durable, bytes.NewReader(data))
				require.False(t, stored.Created)
				return err
			}
			s.SyncFoldersBy(func(*os.File) error { return broken })
			require.ErrorIs(t, put(), broken)
			_, err := s.Stat(t.Context(), blob.Sum(data))
			require.True(t, fault.Is(err, fault.NotFound), "%v", err)
			require.NoFileExists(t, path(root, blob.Sum(data)))

			s.SyncFoldersBy(func(*os.File) error { // another writer is done with the same bytes meanwhile
				_, err := blob.PutBytes(t.Context(), other, data)
				require.NoError(t, err)
				return broken
			})
			require.ErrorIs(t, put(), broken)
			_, err = s.Stat(t.Context(), blob.Sum(data))
			require.NoError(t, err, "the other writer's blob stays")
		})
	}
}

// A crash of the machine may leave a small name without its bytes. An upload uses no file that may be such a one.
func TestAnUploadReplacesAFileThatMayNotBeWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content string
		age     time.Duration
		held    bool
	}{
		"old":                  {"the bytes", time.Hour, true},
		"young":                {"the bytes", 0, false},
		"old, without bytes":   {"\x00\x00\x00\x00\x00\x00\x00\x00\x00", time.Hour, false},
		"young, without bytes": {"\x00\x00\x00\x00\x00\x00\x00\x00\x00", 0, false},
		"empty":                {"", time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			s := open(t, root, disk.Options{})
			ref := blob.Sum([]byte("the bytes"))
			require.NoError(t, os.WriteFile(path(root, ref), []byte(c.content), 0o600))
			made := time.Now().Add(-c.age)
			require.NoError(t, os.Chtimes(path(root, ref), made, made))
			before, err := os.Stat(path(root, ref))
			require.NoError(t, err)
			for range 2 { // the second finds what the first has stored
				stored, err := blob.Put(t.Context(), s, blob.Durable, strings.NewReader("the bytes"))
				require.NoError(t, err)
				after, err := os.Stat(path(root, ref))
				require.NoError(t, err)
				require.Equal(t, c.held, os.SameFile(before, after))
				require.Equal(t, !c.held, stored.Created)
				before, c.held = after, true
			}
			_, err = blob.Verify(t.Context(), s, ref)
			require.NoError(t, err)
			require.Zero(t, staged(t, root))
		})
	}
}

// Bytes that need not survive a crash of the machine never take the place of a file that may have to.
func TestARelaxedBlobReplacesNoFile(t *testing.T) {
	t.Parallel()
	root, data := t.TempDir(), "the bytes"
	_, err := blob.Put(t.Context(), open(t, root, disk.Options{}), blob.Durable, strings.NewReader(data)) // by another process
	require.NoError(t, err)
	before, err := os.Stat(path(root, blob.Sum([]byte(data))))
	require.NoError(t, err)
	s := open(t, root, disk.Options{})
	synced := 0
	s.SyncBy(func(*os.File) error { synced++; return nil })
	stored, err := blob.Put(t.Context(), s, blob.Relaxed, strings.NewReader(data))
	require.NoError(t, err)
	require.False(t, stored.Created)
	after, err := os.Stat(path(root, blob.Sum([]byte(data))))
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after))
	require.Zero(t, synced)

	other, err := blob.Put(t.Context(), s, blob.Relaxed, strings.NewReader("others"))
	require.NoError(t, err)
	stored, err = blob.Put(t.Context(), s, blob.Durable, strings.NewReader("others"))
	require.NoError(t, err)
	require.Equal(t, other.Ref, stored.Ref)
	require.Equal(t, 1, synced, "a durable blob is synced, whoever wrote the file")
}

// While the store has a file of the blob, new bytes are synced before they have the name.
func TestAReplacementIsSyncedBeforeItHasTheName(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := open(t, root, disk.Options{})
	ref := blob.Sum([]byte("the bytes"))
	named := path(root, ref)
	require.NoError(t, os.MkdirAll(filepath.Dir(named), 0o700))
	require.NoError(t, os.WriteFile(named, []byte("the bytes"), 0o600)) // young: its writer may not have synced it
	young, err := os.Stat(named)
	require.NoError(t, err)
	synced := false
	s.SyncBy(func(*os.File) error {
		now, err := os.Stat(named)
		require.NoError(t, err)
		require.True(t, os.SameFile(young, now), "the name is still that of the young file")
		synced = true
		return nil
	})
	stored, err := blob.PutBytes(t.Context(), s, []byte("the bytes"))
	require.NoError(t, err)
	require.Equal(t, ref, stored)
	require.True(t, synced)
	now, err := os.Stat(named)
	require.NoError(t, err)
	require.False(t, os.SameFile(young, now), "replaced")
}
