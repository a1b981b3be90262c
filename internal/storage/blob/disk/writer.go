package disk

import (
	"context"
	"errors"
	"io/fs"
	"os"
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
}

// Commit implements blob.Writer.
func (w *writer) Commit(ctx context.Context) (blob.Stored, error) {
	defer w.Abort()
	stored, err := w.Whole(ctx)
	if err != nil {
		return blob.Stored{}, err
	}
	if err := w.s.makeShard(stored.Ref); err != nil {
		return blob.Stored{}, err
	}
	err = w.s.locked(stored.Ref, shared, func(dir *os.File) error {
		var err error
		stored.Created, err = w.publish(stored.Ref, dir)
		return err
	})
	if err == nil {
		err = w.sync(func() error { return w.s.syncShard(stored.Ref) })
	}
	return stored, err
}

// publish links the staged bytes to their name, unless the store has them already. In both cases it syncs bytes and
// name. It reports whether the bytes were stored.
func (w *writer) publish(ref blob.Ref, dir *os.File) (bool, error) {
	path := w.s.path(ref)
	held, err := w.adopt(path)
	if err != nil || held {
		return false, classify(ref, "adopt", errors.Join(err, w.sync(dir.Sync)))
	}
	if err := w.sync(func() error { return datasync(w.File()) }); err != nil {
		return false, classify(ref, "sync", err)
	}
	created, err := w.name(path)
	if err == nil {
		err = w.sync(dir.Sync)
	}
	return created, classify(ref, "commit", err)
}

// name links the staged file to path. If another writer of the same bytes was faster, it adopts that file; it
// replaces a file of the wrong size atomically.
func (w *writer) name(path string) (bool, error) {
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

// adopt uses an existing file of the right size as the blob. It touches the file, so that no collector removes it, and syncs
// it, because its writer may have died before.
func (w *writer) adopt(path string) (bool, error) {
	_, size := w.Sum()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() != size {
		return false, err
	}
	now := time.Now()
	if err := os.Chtimes(path, now, now); err != nil {
		return false, err
	}
	return true, w.sync(func() error { return datasync(f) })
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
