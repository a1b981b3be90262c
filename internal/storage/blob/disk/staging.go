package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
)

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
