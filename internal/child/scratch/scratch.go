//go:build unix

// Package scratch makes directories for files that a process needs for a while, and for tests that need more
// than a test's own: shared by a process, or entered by another user. A process that is killed removes nothing;
// so whoever makes the next directory of the same name removes those whose process is gone. It touches nothing
// that it did not make.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace-dev/millrace/internal/child"
)

// Dir is a directory of this process. It must be kept reachable while it is used: its lock tells other
// processes that it has an owner, and would be given back with it.
type Dir struct {
	Path string

	lock *child.Lock
}

// lockName is the file in a directory whose lock its process holds.
const lockName = "owner.lock"

// young is the age below which a directory without a lock may be about to get one.
const young = time.Minute

// New makes a directory below the one for temporary files, whose name begins with name and a hyphen. Other
// users may pass through it. Remove gives it up.
func New(name string) (*Dir, error) { return NewIn(os.TempDir(), name) }

// NewIn is New below another directory.
func NewIn(parent, name string) (*Dir, error) {
	if err := sweep(parent, name); err != nil {
		return nil, fmt.Errorf("remove what earlier processes left: %w", err)
	}
	path, err := os.MkdirTemp(parent, name+"-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o711); err != nil { //nolint:gosec // root's PostgreSQL runs as another user
		return nil, err
	}
	lock, err := child.Acquire(filepath.Join(path, lockName))
	if err != nil {
		return nil, err
	}
	return &Dir{Path: path, lock: lock}, nil
}

// Remove removes the directory with all that is in it.
func (d *Dir) Remove() error {
	return errors.Join(os.RemoveAll(d.Path), d.lock.Release())
}

// sweep removes the directories of processes that are gone.
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

// removeIfAbandoned leaves alone what is young, has no lock file and so was not made here, or has an owner.
func removeIfAbandoned(path string) error {
	info, err := os.Lstat(filepath.Join(path, lockName))
	if err != nil || time.Since(info.ModTime()) < young {
		return nil //nolint:nilerr // not there counts as somebody else's
	}
	lock, err := child.Acquire(filepath.Join(path, lockName))
	var held *child.HeldError
	if errors.As(err, &held) || errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) {
		return nil // in use, another user's, or removed by another process at this moment
	}
	if err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(path), lock.Release())
}
