// Package disk stores blobs as files: root/blobs/ab/<hash>. A blob is written to a staging file and linked to its name when
// it is complete. It promises that a file under blobs/ has all its bytes, even if processes are killed, and that a durable
// blob survives a crash of the machine once it is committed. Several processes of one machine may share a root.
package disk

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
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
	synced   *verifiedFiles       // those whose bytes and name it has synced
	datasync func(*os.File) error // syncs the bytes of a file
	dirsync  func(*os.File) error // syncs the names in a folder
}

var _ blob.Store = (*Store)(nil)

const defaultVerifiedTTL = 10 * time.Minute

// Open returns the store below root, which it creates if absent. It removes the staging files of processes that have ended.
// Close releases the staging folder.
func Open(ctx context.Context, root string, opts Options) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &Store{
		root: root, log: opts.Log,
		verified: newVerifiedFiles(opts.VerifiedTTL), written: newVerifiedFiles(0), synced: newVerifiedFiles(0),
		datasync: datasync, dirsync: (*os.File).Sync,
	}
	s.log = cmp.Or(s.log, slog.Default())
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

// Free returns the free space in bytes.
func (s *Store) Free() (uint64, error) { return freeBytes(s.root) }

// Open implements blob.Store.
func (s *Store) Open(_ context.Context, ref blob.Ref) (blob.Reader, error) {
	f, err := os.Open(s.path(ref))
	if err != nil {
		return nil, classify(ref, "open", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(classify(ref, "stat", err), f.Close())
	}
	verdict := func(ok bool) {
		if ok {
			s.verified.add(ref, info)
			return
		}
		s.quarantine(ref, info)
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
func (s *Store) quarantine(ref blob.Ref, seen fs.FileInfo) {
	to := filepath.Join(s.damaged(), fmt.Sprintf("%s.%d", ref.Hex(), time.Now().UnixNano()))
	err := s.locked(ref, exclusive, func(*os.File) error {
		now, err := os.Stat(s.path(ref))
		if err != nil || !os.SameFile(now, seen) {
			return err
		}
		return os.Rename(s.path(ref), to)
	})
	s.log.Error("damaged blob taken out of service", "blob", ref.String(), "moved_to", to, "error", err)
}

// Stat implements blob.Store.
func (s *Store) Stat(_ context.Context, ref blob.Ref) (int64, error) {
	info, err := os.Stat(s.path(ref))
	if err != nil {
		return 0, classify(ref, "stat", err)
	}
	return info.Size(), nil
}

// Touch implements blob.Store.
func (s *Store) Touch(_ context.Context, ref blob.Ref) error {
	return s.locked(ref, shared, func(*os.File) error {
		now := time.Now()
		return classify(ref, "touch", os.Chtimes(s.path(ref), now, now))
	})
}

// markWritten remembers that a file has the bytes of a blob: this process has written or read them, and perhaps synced them.
func (s *Store) markWritten(ref blob.Ref, f *os.File, synced bool) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	s.written.add(ref, info)
	if synced {
		s.synced.add(ref, info)
	}
	return nil
}

// Remove implements blob.Store.
func (s *Store) Remove(_ context.Context, ref blob.Ref, cutoff time.Time) (gone bool, err error) {
	err = s.locked(ref, exclusive, func(*os.File) error {
		info, err := os.Stat(s.path(ref))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return classify(ref, "stat", err)
		case !info.ModTime().Before(cutoff):
			return nil
		default:
			if err := os.Remove(s.path(ref)); err != nil {
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

// verifiedFiles remembers for a while which files passed a check, so that a popular blob is not hashed again for every range
// and reader.
type verifiedFiles struct {
	ttl time.Duration

	mu    sync.Mutex // guards files
	files map[blob.Ref]checkedFile
}

type checkedFile struct {
	size     int64
	modified time.Time
	until    time.Time
}

// maxVerified bounds the memory of trust to under a megabyte.
const maxVerified = 4096

func newVerifiedFiles(ttl time.Duration) *verifiedFiles {
	ttl = cmp.Or(ttl, defaultVerifiedTTL)
	return &verifiedFiles{ttl: ttl, files: map[blob.Ref]checkedFile{}}
}

func (t *verifiedFiles) add(ref blob.Ref, info fs.FileInfo) {
	if t.ttl < 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.files) >= maxVerified {
		for old := range t.files { // any entry: checking a file again is cheap
			delete(t.files, old)
			break
		}
	}
	t.files[ref] = checkedFile{size: info.Size(), modified: info.ModTime(), until: time.Now().Add(t.ttl)}
}

func (t *verifiedFiles) holds(ref blob.Ref, info fs.FileInfo) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.files[ref]
	if !ok {
		return false
	}
	if c.size != info.Size() || !c.modified.Equal(info.ModTime()) || time.Now().After(c.until) {
		delete(t.files, ref)
		return false
	}
	return true
}
