package disk

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Create implements blob.Store.
func (s *Store) Create(_ context.Context, d blob.Durability) (blob.Writer, error) {
	f, err := s.staging.create()
	if err != nil {
		return nil, classify(blob.Ref{}, "stage", err)
	}
	failed := func(err error) error { return classify(blob.Ref{}, "write", err) }
	return &writer{Spool: blob.NewSpool(f, failed), s: s, durability: d}, nil
}

// writer fills one staging file.
type writer struct {
	*blob.Spool
	s          *Store
	durability blob.Durability
	stored     blob.Stored // what Commit stores
	replaces   bool        // there is a file of the blob that adopt does not use
}

// Commit implements blob.Writer.
func (w *writer) Commit(ctx context.Context) (blob.Stored, error) {
	defer w.Abort()
	var err error
	if w.stored, err = w.Whole(ctx); err != nil {
		return blob.Stored{}, err
	}
	err = w.s.locked(w.stored.Ref, shared, w.publish)
	return w.stored, err
}

// publish links the staged bytes to their name in dir, unless the store has them already. In both cases it syncs bytes and
// name.
func (w *writer) publish(dir *os.File) error {
	ref := w.stored.Ref
	for _, path := range []string{w.s.path(ref), w.s.formerPath(ref)} {
		held, err := w.adopt(path)
		if held && err == nil {
			err = w.sync(func() error { return syncDirs(filepath.Dir(path), dir.Name()) })
		}
		if held || err != nil {
			return classify(ref, "adopt", err)
		}
	}
	var err error
	if w.stored.Created, err = w.link(w.s.path(ref)); err == nil {
		err = w.sync(dir.Sync)
	}
	if err == nil && w.stored.Created {
		err = w.s.markWritten(ref, w.File())
	}
	return classify(ref, "commit", err)
}

// link syncs the staged bytes and links them to path. A small file of which the store has none has its name first: its sync then
// writes both to the disk. Nothing refers to the blob until then, and what a crash of the machine leaves of it is no file that
// adopt uses. link reports whether the bytes were stored.
func (w *writer) link(path string) (bool, error) {
	named := false
	if w.small() && !w.replaces {
		err := os.Link(w.File().Name(), path)
		if named = err == nil; !named && !errors.Is(err, fs.ErrExist) {
			return false, err
		}
	}
	err := w.sync(func() error { return w.s.datasync(w.File()) })
	switch {
	case err != nil && named:
		return false, errors.Join(err, w.unlink(path))
	case err != nil || named:
		return named, err
	}
	return w.linkSynced(path)
}

// linkSynced links the synced file to path. If another writer of the same bytes was faster, it adopts that file; it
// replaces atomically what it cannot adopt.
func (w *writer) linkSynced(path string) (bool, error) {
	err := os.Link(w.File().Name(), path)
	if !errors.Is(err, fs.ErrExist) {
		return err == nil, err
	}
	held, err := w.adopt(path)
	if err != nil || held {
		return false, err
	}
	return true, os.Rename(w.File().Name(), path)
}

// unlink takes the name from the staged file, unless another writer has replaced it.
func (w *writer) unlink(path string) error {
	own, err := w.File().Stat()
	if err != nil {
		return err
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(own, now) {
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
// it, because its writer may have died before. For bytes that must survive a crash of the machine, a small file that this
// process has not written must be older than a moment, and is read.
func (w *writer) adopt(path string) (bool, error) {
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
	now := time.Now()
	if err := os.Chtimes(path, now, now); err != nil {
		return false, err
	}
	if err := w.sync(func() error { return w.s.datasync(f) }); err != nil {
		return true, err
	}
	return true, w.s.markWritten(w.stored.Ref, f)
}

// distrusts reports whether a file of the right size may not have the bytes, or its writer may not be able to sync them. A blob
// that need not survive a crash of the machine replaces no such file, which may be one that has to.
func (w *writer) distrusts(f *os.File, info fs.FileInfo) bool {
	return w.durability != blob.Relaxed && w.small() && !w.s.written.holds(w.stored.Ref, info) &&
		(time.Since(info.ModTime()) < unsettled || !contains(f, w.stored.Ref))
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
	if f == nil {
		return nil
	}
	err := errors.Join(w.Close(), os.Remove(f.Name()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the staging folder has been removed already
	}
	return classify(blob.Ref{}, "drop the staging file of", err)
}
