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

// Modes of the lock of a folder: Commit and Touch share it, Remove holds it exclusively.
const (
	shared    = unix.LOCK_SH
	exclusive = unix.LOCK_EX
)

// locked runs fn with the open folder of the blob, locked in the mode against all processes.
func (s *Store) locked(ref blob.Ref, mode int, fn func(dir *os.File) error) error {
	dir, err := os.Open(s.folder(ref))
	if err != nil {
		return classify(ref, "lock", err)
	}
	defer dir.Close() // also releases the lock, which belongs to this open folder
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

// makeFolders creates the folders of blobs.
func (s *Store) makeFolders() error {
	for i := range 256 {
		if err := os.MkdirAll(filepath.Join(s.blobs(), hex.EncodeToString([]byte{byte(i)})), 0o700); err != nil {
			return fmt.Errorf("create the blob store: %w", err)
		}
	}
	return syncDirs(s.blobs())
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

// classify converts a file system error to a fault; nil stays nil.
func classify(ref blob.Ref, verb string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return blob.Missing(ref)
	case diskFull(err):
		return fault.Wrap(err, fault.Exhausted, fault.CodeDiskFull, "no space left to store files")
	case temporary(err):
		return fault.Wrap(fmt.Errorf("%s blob %s: %w", verb, ref, err), fault.Unavailable, "", "the file store is not available")
	default:
		return fmt.Errorf("%s blob %s: %w", verb, ref, err)
	}
}

// diskFull reports whether err means that the disk or a quota is full.
func diskFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

// temporary reports whether err means that the device or the mount fails temporarily, or that the process has no free file
// descriptors.
func temporary(err error) bool {
	for _, errno := range []error{unix.EIO, unix.EROFS, unix.ESTALE, unix.ENOTCONN, unix.ETIMEDOUT, unix.ENODEV, unix.EMFILE, unix.ENFILE} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// CheckSpace fails if fewer than reserve bytes are free on the disk of dir.
func CheckSpace(dir string, reserve int64) error {
	lacks, err := Lacking(dir, reserve)
	if lacks > 0 {
		err = fmt.Errorf("%d bytes are free in %s, less than the reserve of %d bytes", reserve-lacks, dir, reserve)
	}
	return err
}

// Lacking returns how many more bytes must be free on the disk of dir for size bytes to be free.
func Lacking(dir string, size int64) (int64, error) {
	free, err := freeBytes(filepath.Clean(dir))
	if err != nil || free >= uint64(max(size, 0)) {
		return 0, err
	}
	return size - int64(free), nil
}

func freeBytes(path string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", path, err)
	}
	return st.Bavail * uint64(st.Bsize), nil
}
