package disk

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Modes of a shard lock: committers and touchers share it, removers have it alone.
const (
	shared    = unix.LOCK_SH
	exclusive = unix.LOCK_EX
)

// locked runs fn while the blob's shard folder is locked in that mode, against all processes. fn
// is given the open folder. An absent folder is NotFound; makeShard makes it.
func (s *Store) locked(ref blob.Ref, mode int, fn func(dir *os.File) error) error {
	dir, err := os.Open(s.shard(ref))
	if err != nil {
		return classify(ref, "lock", err)
	}
	defer dir.Close() // also ends the lock, which belongs to this open folder
	if err := flock(dir, mode); err != nil {
		return classify(ref, "lock", err)
	}
	return fn(dir)
}

func flock(f *os.File, mode int) error {
	for {
		err := unix.Flock(int(f.Fd()), mode)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// makeFolders creates the first level of shard folders at once, so that a new blob has one folder less
// to create and to sync.
func (s *Store) makeFolders() error {
	for i := range 256 {
		if err := os.MkdirAll(filepath.Join(s.blobs(), hex.EncodeToString([]byte{byte(i)})), 0o700); err != nil {
			return fmt.Errorf("create the blob store: %w", err)
		}
	}
	return syncDirs(s.blobs())
}

// makeShard creates the blob's shard folder, unless it is there.
func (s *Store) makeShard(ref blob.Ref) error {
	err := os.Mkdir(s.shard(ref), 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return classify(ref, "create the folder of", err)
}

// settleShard puts the name of the blob's shard folder on stable storage, once in each process: whoever
// made the folder may not have come that far. It comes last in a commit: the syncs before it wrote the
// journal, and it has hardly anything left to wait for. Folders are never removed.
func (s *Store) settleShard(ref blob.Ref) error {
	word, bit := &s.settled[uint(ref[0])<<3|uint(ref[1])>>5], uint32(1)<<(ref[1]&31)
	if word.Load()&bit != 0 {
		return nil
	}
	if err := syncDirs(filepath.Dir(s.shard(ref))); err != nil {
		return err
	}
	word.Or(bit)
	return nil
}

func syncDirs(dirs ...string) error {
	for _, dir := range dirs {
		if err := syncDir(dir); err != nil {
			return fmt.Errorf("sync folder %s: %w", dir, err)
		}
	}
	return nil
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// classify turns a file system error into a fault; nil stays nil.
func classify(ref blob.Ref, verb string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return blob.Missing(ref)
	case full(err):
		return fault.Wrap(err, fault.Exhausted, "disk_full", "no space left to store files")
	case away(err):
		return fault.Wrap(fmt.Errorf("%s blob %s: %w", verb, ref, err), fault.Unavailable, "", "the file store is not available")
	default:
		return fmt.Errorf("%s blob %s: %w", verb, ref, err)
	}
}

// full reports whether err means that the disk or the quota is used up.
func full(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

// away reports whether err means that the device or the mount fails for now, or that the process is out of descriptors.
func away(err error) bool {
	for _, errno := range []error{unix.EIO, unix.EROFS, unix.ESTALE, unix.ENOTCONN, unix.ETIMEDOUT, unix.ENODEV, unix.EMFILE, unix.ENFILE} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

func freeBytes(path string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", path, err)
	}
	return st.Bavail * uint64(st.Bsize), nil
}
