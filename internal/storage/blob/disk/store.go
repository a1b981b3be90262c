// Package disk stores blobs as files: root/blobs/ab/<hash>; blobs that earlier versions stored stay in root/blobs/ab/cd. A
// blob is written to a staging file and linked to its name when it is complete. It promises that a file under blobs/ has all
// its bytes, even if processes are killed, and that a durable blob survives a crash of the machine once it is committed.
// Several processes of one machine may share a root.
package disk

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Options tune a Store. The zero value is safe.
type Options struct {
	Log *slog.Logger // log for damaged blobs; nil = slog.Default()
	// VerifiedTTL is how long a file that passed a check is served without another check, unless its size or modification
	// time changes. 0 = 10 minutes; negative = every read is checked.
	VerifiedTTL time.Duration
}

// Store stores blobs below one directory. It implements blob.Store.
type Store struct {
	root     string
	staging  *staging
	log      *slog.Logger
	verified *verifiedFiles
	written  *verifiedFiles       // files that this process has written, or read to adopt them
	datasync func(*os.File) error // syncs the bytes of a file
}

var _ blob.Store = (*Store)(nil)

const defaultVerifiedTTL = 10 * time.Minute

// Open returns the store below root, which it creates if absent. It removes the staging files of processes that have ended.
// Close releases the staging folder.
func Open(ctx context.Context, root string, opts Options) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &Store{root: root, log: opts.Log, verified: newVerifiedFiles(opts.VerifiedTTL), written: newVerifiedFiles(0), datasync: datasync}
	if s.log == nil {
		s.log = slog.Default()
	}
	for _, dir := range []string{s.blobs(), s.damaged()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("create the blob store: %w", err)
		}
	}
	if err := s.makeFolders(); err != nil {
		return nil, err
	}
	var err error
	if s.staging, err = openStaging(filepath.Join(root, "staging")); err != nil {
		return nil, err
	}
	return s, syncDirs(root, filepath.Dir(root))
}

// Close removes the staging folder. Blobs that are being written are lost.
func (s *Store) Close() error { return s.staging.close() }

func (s *Store) blobs() string   { return filepath.Join(s.root, "blobs") }
func (s *Store) damaged() string { return filepath.Join(s.root, "damaged") }

// folder returns the folder in which a blob is stored, and whose lock it has.
func (s *Store) folder(ref blob.Ref) string {
	return filepath.Join(s.blobs(), hex.EncodeToString(ref[:1]))
}

func (s *Store) path(ref blob.Ref) string { return filepath.Join(s.folder(ref), ref.Hex()) }

// formerPath returns where earlier versions stored a blob: in one of 65,536 folders, most of which had a single file.
func (s *Store) formerPath(ref blob.Ref) string {
	return filepath.Join(s.folder(ref), hex.EncodeToString(ref[1:2]), ref.Hex())
}

// at calls fn with the path of a blob, and with the former one if there is no file.
func (s *Store) at(ref blob.Ref, fn func(path string) error) error {
	err := fn(s.path(ref))
	if errors.Is(err, fs.ErrNotExist) {
		return fn(s.formerPath(ref))
	}
	return err
}

// Free returns the free space in bytes.
func (s *Store) Free() (uint64, error) { return freeBytes(s.root) }

// Open implements blob.Store.
func (s *Store) Open(_ context.Context, ref blob.Ref) (blob.Reader, error) {
	var f *os.File
	err := s.at(ref, func(path string) (err error) {
		f, err = os.Open(path)
		return err
	})
	if err != nil {
		return nil, classify(ref, "open", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(classify(ref, "stat", err), f.Close())
	}
	path := f.Name()
	verdict := func(ok bool) {
		if ok {
			s.verified.add(ref, info)
			return
		}
		s.quarantine(ref, path, info)
	}
	return &reader{blob.NewReader(ref, f, info.Size(), s.verified.holds(ref, info), verdict), f}, nil
}

// reader implements blob.Filer.
type reader struct {
	*blob.VerifyingReader
	f *os.File
}

var _ blob.Filer = (*reader)(nil)

// File implements blob.Filer.
func (r *reader) File() *os.File {
	if !r.Checked() {
		return nil
	}
	return r.f
}

// quarantine moves a damaged file aside, so that the next upload of the bytes restores the blob.
func (s *Store) quarantine(ref blob.Ref, path string, seen fs.FileInfo) {
	to := filepath.Join(s.damaged(), fmt.Sprintf("%s.%d", ref.Hex(), time.Now().UnixNano()))
	err := s.locked(ref, exclusive, func(*os.File) error {
		now, err := os.Stat(path)
		if err != nil || !os.SameFile(now, seen) {
			return err
		}
		return os.Rename(path, to)
	})
	s.log.Error("damaged blob taken out of service", "blob", ref.String(), "moved_to", to, "error", err)
}

// Stat implements blob.Store.
func (s *Store) Stat(_ context.Context, ref blob.Ref) (size int64, err error) {
	err = s.at(ref, func(path string) error {
		info, err := os.Stat(path)
		if err == nil {
			size = info.Size()
		}
		return err
	})
	return size, classify(ref, "stat", err)
}

// Touch implements blob.Store.
func (s *Store) Touch(_ context.Context, ref blob.Ref) error {
	return s.locked(ref, shared, func(*os.File) error {
		now := time.Now()
		return classify(ref, "touch", s.at(ref, func(path string) error { return os.Chtimes(path, now, now) }))
	})
}

// markWritten remembers that a file has the bytes of a blob: this process has written or read them.
func (s *Store) markWritten(ref blob.Ref, f *os.File) error {
	info, err := f.Stat()
	if err == nil {
		s.written.add(ref, info)
	}
	return err
}

// Remove implements blob.Store.
func (s *Store) Remove(_ context.Context, ref blob.Ref, cutoff time.Time) (gone bool, err error) {
	err = s.locked(ref, exclusive, func(*os.File) error {
		for _, path := range []string{s.path(ref), s.formerPath(ref)} {
			info, err := os.Stat(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err != nil:
				return classify(ref, "stat", err)
			case !info.ModTime().Before(cutoff):
				return nil
			}
			if err := os.Remove(path); err != nil {
				return classify(ref, "remove", err)
			}
		}
		gone = true
		return nil
	})
	if fault.Is(err, fault.NotFound) { // the folder is absent
		return true, nil
	}
	return gone && err == nil, err
}

// Walk implements blob.Store.
func (s *Store) Walk(ctx context.Context, fn func(blob.Entry) error) error {
	return filepath.WalkDir(s.blobs(), func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed while walking
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || d.IsDir() {
			return err
		}
		ref, unknown := blob.ParseRef("blake3:" + d.Name())
		if unknown != nil {
			return nil //nolint:nilerr // not a file of the store: an operator's file is skipped
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return classify(ref, "stat", err)
		}
		return fn(blob.Entry{Ref: ref, Size: info.Size(), Touched: info.ModTime()})
	})
}
