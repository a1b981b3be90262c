package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Create implements blob.Store.
func (s *Store) Create(_ context.Context, d blob.Durability) (blob.Writer, error) {
	failed := func(err error) error { return classify(blob.Ref{}, "write", err) }
	return &writer{Spool: blob.NewSpool(s.staging.create, failed), s: s, durability: d}, nil
}

// writer stages the bytes of one blob.
type writer struct {
	*blob.Spool
	s          *Store
	durability blob.Durability
	stored     blob.Stored // what Commit stores
	replaces   bool        // there is a file of the blob that adopt does not use
	staged     fs.FileInfo // of the whole staged file
}

// Commit implements blob.Writer.
func (w *writer) Commit(ctx context.Context) (blob.Stored, error) {
	var err error
	if w.stored, err = w.Whole(ctx); err != nil {
		return blob.Stored{}, err
	}
	if err = w.s.locked(w.stored.Ref, shared, w.publish); err == nil {
		_ = w.Abort() // a sweep clears the staging folder
	}
	return w.stored, err
}

// publish links the staged bytes to their name in dir, unless the store has them already. In both cases it syncs bytes and
// name.
func (w *writer) publish(dir *os.File) error {
	ref := w.stored.Ref
	adopted, err := w.adopt(dir, w.s.path(ref))
	if adopted || err != nil {
		return classify(ref, "adopt", err)
	}
	f, err := w.Spill()
	if err != nil {
		return err
	}
	if w.staged, err = f.Stat(); err != nil {
		return classify(ref, "commit", err)
	}
	named, err := w.link(dir, w.s.path(ref))
	if err == nil {
		err = w.sync(func() error { return w.s.dirsync(dir) })
	}
	if err == nil && named {
		err = w.s.markWritten(ref, f, w.durability != blob.Relaxed)
	}
	if err != nil && named {
		err = errors.Join(err, w.withdraw(dir, w.s.path(ref)))
	}
	w.stored.Created = named && err == nil
	return classify(ref, "commit", err)
}

// link syncs the staged bytes and links them to path. A small blob that the store lacks is linked before it is synced, so that
// one sync writes bytes and name. Nothing refers to the blob until then, and adopt does not use the file that a crash of the
// machine may leave. link reports whether the staged file has the name, also when it fails.
func (w *writer) link(dir *os.File, path string) (bool, error) {
	named := false
	if w.small() && !w.replaces {
		err := os.Link(w.File().Name(), path)
		if named = err == nil; !named && !errors.Is(err, fs.ErrExist) {
			return false, err
		}
	}
	err := w.sync(func() error { return w.s.datasync(w.File()) })
	if err != nil || named {
		return named, err
	}
	return w.linkSynced(dir, path)
}

// linkSynced links the synced file to path. If another writer of the same bytes was faster, it adopts that file; it
// replaces atomically what it cannot adopt.
func (w *writer) linkSynced(dir *os.File, path string) (bool, error) {
	err := os.Link(w.File().Name(), path)
	if !errors.Is(err, fs.ErrExist) {
		return err == nil, err
	}
	adopted, err := w.adopt(dir, path)
	if err != nil || adopted {
		return false, err
	}
	err = os.Rename(w.File().Name(), path)
	return err == nil, err
}

// withdraw takes the name from the staged file after a failed sync, unless another writer has replaced or adopted the file,
// or a reader of its bytes has touched it. The exclusive lock waits for writers that are adopting the file.
func (w *writer) withdraw(dir *os.File, path string) error {
	if err := flock(dir, exclusive); err != nil {
		return err
	}
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !os.SameFile(now, w.staged) || !now.ModTime().Equal(w.staged.ModTime()) {
		return err
	}
	return os.Remove(path)
}

// smallFile is the most bytes of a file that is read again, where that saves a sync.
const smallFile = 1 << 20

func (w *writer) small() bool { return w.stored.Size <= smallFile }

// unsettled is the age of a file whose writer may not have synced it yet. An older one is synced, or its writer was killed.
const unsettled = time.Minute

// adopt uses an existing file of the right size as the blob. It touches the file, so that no collector removes it, and syncs
// it and its name, because its writer may have died before; a file that this process has synced needs no more syncs. For bytes that
// must survive a crash of the machine, a file that this process has not written is read once, and a small one must be older than a
// moment.
func (w *writer) adopt(dir *os.File, path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if info.Size() != w.stored.Size || w.distrusts(f, info) {
		w.replaces = true
		return false, nil
	}
	synced := w.s.synced.holds(w.stored.Ref, info)
	now := time.Now()
	if err := os.Chtimes(path, now, now); err != nil {
		return false, err
	}
	if !synced && w.durability != blob.Relaxed {
		if err := w.s.datasync(f); err != nil {
			return true, err
		}
		if err := dir.Sync(); err != nil {
			return true, err
		}
		synced = true
	}
	return true, w.s.markWritten(w.stored.Ref, f, synced)
}

// distrusts reports whether a file of the right size may not have the bytes, or its writer may not be able to sync them. A blob
// that need not survive a crash of the machine replaces no such file, which may be one that has to.
func (w *writer) distrusts(f *os.File, info fs.FileInfo) bool {
	return w.durability != blob.Relaxed && !w.s.written.holds(w.stored.Ref, info) &&
		(w.small() && time.Since(info.ModTime()) < unsettled || !contains(f, w.stored.Ref))
}

// contains reports whether a file has the bytes of a blob.
func contains(f *os.File, ref blob.Ref) bool {
	h := blob.NewHash()
	_, err := io.Copy(h, f)
	return err == nil && blob.RefOf(h) == ref
}

// sync runs fn if the blob must survive a crash of the machine.
func (w *writer) sync(fn func() error) error {
	if w.durability == blob.Relaxed {
		return nil
	}
	return fn()
}

// Abort implements blob.Writer.
func (w *writer) Abort() error {
	f := w.File()
	err := w.Close()
	if f == nil {
		return err
	}
	err = errors.Join(err, os.Remove(f.Name()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the staging folder has been removed already
	}
	return classify(blob.Ref{}, "drop the staging file of", err)
}

// staging is this process's folder of unfinished blobs. Its lock file is locked while the process lives, so that
// other processes can recognise abandoned folders.
type staging struct {
	dir  string
	lock *os.File
}

const lockName = ".lock"

func openStaging(root string) (*staging, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("create the staging folder: %w", err)
	}
	if err := clearStaging(root); err != nil {
		return nil, err
	}
	for range maxClaims {
		st, err := claim(root)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.EWOULDBLOCK) {
			return st, err
		}
	}
	return nil, fmt.Errorf("claim the staging folder: other processes cleared it %d times", maxClaims)
}

// maxClaims bounds how often a claim is repeated. A claim is lost only if another process, starting in the same instant,
// clears the folder between the creation of the lock file and its lock.
const maxClaims = 20

// claim creates a folder under a hidden name and renames it after locking it.
func claim(root string) (*staging, error) {
	id := uuid.NewString()
	made := filepath.Join(root, "."+id)
	if err := os.Mkdir(made, 0o700); err != nil {
		return nil, fmt.Errorf("create the staging folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(made, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("claim the staging folder: %w", err)
	}
	dir := filepath.Join(root, id)
	if err = flock(lock, unix.LOCK_EX|unix.LOCK_NB); err == nil {
		err = os.Rename(made, dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("claim the staging folder: %w", err), lock.Close())
	}
	return &staging{dir: dir, lock: lock}, nil
}

// clearStaging removes the folders of processes that have ended.
func clearStaging(root string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return fmt.Errorf("read the staging folder: %w", err)
	}
	for _, e := range entries {
		if err := clearOne(filepath.Join(root, e.Name())); err != nil {
			return fmt.Errorf("clear the staging folder: %w", err)
		}
	}
	return nil
}

func clearOne(dir string) error {
	lock, err := os.Open(filepath.Join(dir, lockName))
	if errors.Is(err, fs.ErrNotExist) {
		return removeUnlocked(dir)
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := flock(lock, unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return nil // the process is alive
	} else if err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// removeUnlocked removes an old folder without a lock file, which a process leaves if it is killed at the beginning of
// openStaging. A living process has locked its folder by then.
func removeUnlocked(dir string) error {
	err := os.Remove(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func (s *staging) create() (*os.File, error) { return os.CreateTemp(s.dir, "") }

func (s *staging) close() error {
	err := os.RemoveAll(s.dir)
	return errors.Join(err, s.lock.Close())
}
