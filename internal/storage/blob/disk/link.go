package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/millrace-dev/millrace/internal/storage/blob"
)

var _ blob.Linker = (*Store)(nil)

// Link implements blob.Linker: the file shares the blocks of the blob if the file system can do that, else it is the file of the blob.
func (s *Store) Link(ctx context.Context, ref blob.Ref, path string) (way string, err error) {
	if !sameDisk(s.root, filepath.Dir(path)) { // before the bytes are read in vain
		return "", errors.ErrUnsupported
	}
	opened, err := s.Open(ctx, ref)
	if err != nil {
		return "", err
	}
	defer opened.Close() // read only
	if err := opened.Check(); err != nil {
		return "", err
	}
	if r, ok := opened.(*reader); ok && clone(r.f, path) == nil {
		return "clone", nil
	}
	err = s.locked(ref, shared, func(*os.File) error { return os.Link(s.path(ref), path) })
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOSPC) {
		return "", err
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return "link", os.Chmod(path, 0o444) // other users reach the file here, not in the folder of the blobs
}

// sameDisk reports whether two directories are on one file system.
func sameDisk(a, b string) bool {
	var of [2]unix.Stat_t
	return unix.Stat(a, &of[0]) == nil && unix.Stat(b, &of[1]) == nil && of[0].Dev == of[1].Dev
}
