//go:build unix

// Package scratch makes temporary directories of a process. Tests may share them or let another user enter them. A
// killed process cannot remove its directory, so the next directory of the same name removes the directories of
// processes that no longer exist. The package removes only directories that it has made.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace-dev/millrace/internal/child"
)

// Dir is a directory of this process. Its lock tells other processes that it has an owner. Keep the Dir reachable while it
// is used: the garbage collector would release the lock.
type Dir struct {
	Path string

	lock *child.Lock
}

// lockName is the file in a directory that its process has locked.
const lockName = "owner.lock"

// minAge is the age below which a directory without a lock may be about to get one.
const minAge = time.Minute

// New makes a directory in os.TempDir whose name begins with name and a hyphen. Other users may pass through it. Remove
// removes it.
func New(name string) (*Dir, error) { return NewIn(os.TempDir(), name) }

// NewIn makes a directory like New, but below dir.
func NewIn(parent, name string) (*Dir, error) {
	if err := sweep(parent, name); err != nil {
		return nil, fmt.Errorf("remove directories of earlier processes: %w", err)
	}
	path, err := os.MkdirTemp(parent, name+"-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o711); err != nil { // root's PostgreSQL runs as another user
		return nil, err
	}
	lock, err := child.Acquire(filepath.Join(path, lockName))
	if err != nil {
		return nil, err
	}
	return &Dir{Path: path, lock: lock}, nil
}

// Remove removes the directory with its content.
func (d *Dir) Remove() error {
	return errors.Join(os.RemoveAll(d.Path), d.lock.Release())
}

// sweep removes the directories of processes that no longer exist.
func sweep(parent, name string) error {
	found, err := filepath.Glob(filepath.Join(parent, name+"-*"))
	if err != nil {
		return err
	}
	for _, path := range found {
		if err := removeIfAbandoned(path); err != nil {
			return err
		}
	}
	return nil
}

// removeIfAbandoned removes a directory, unless it is young, has an owner, or has no lock file, which means that another
// program made it.
func removeIfAbandoned(path string) error {
	info, err := os.Lstat(filepath.Join(path, lockName))
	if err != nil || time.Since(info.ModTime()) < minAge {
		return nil //nolint:nilerr // a missing lock file means that another program made the directory
	}
	lock, err := child.Acquire(filepath.Join(path, lockName))
	var locked *child.LockedError
	if errors.As(err, &locked) || errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) {
		return nil // in use, owned by another user, or just removed by another process
	}
	if err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(path), lock.Release())
}
