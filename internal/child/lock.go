//go:build unix

package child

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Lock is the exclusive right to a resource of this machine. It ends with the process.
type Lock struct{ file *os.File }

// LockedError reports that another process has a lock.
type LockedError struct {
	Path string
	PID  int // 0 = unknown
}

// Error implements error.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return e.Path + " is locked by another process"
	}
	return fmt.Sprintf("%s is locked by process %d", e.Path, e.PID)
}

// Acquire locks the file at path, which it creates if needed, and writes this process's id into it. If another process has
// the lock, the error is a *LockedError.
func Acquire(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = &LockedError{Path: path, PID: holder(f)}
	}
	if err == nil {
		err = writePID(f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Lock{f}, nil
}

// flock is syscall.Flock, repeated when a signal interrupts it.
func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func holder(f *os.File) int {
	b := make([]byte, 20)
	n, _ := f.ReadAt(b, 0) // a short read is the normal case
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	if err != nil {
		return 0
	}
	return pid
}

// Release releases the lock, also if a child process that was just forked has the file still open. The file stays: if it
// were removed, two processes could lock two files of the same name.
func (l *Lock) Release() error {
	return errors.Join(flock(l.file, syscall.LOCK_UN), l.file.Close())
}
