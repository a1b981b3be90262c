package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// clone makes a file that shares the blocks of another one.
func clone(from *os.File, path string) error {
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	err = errors.Join(unix.IoctlFileClone(int(to.Fd()), int(from.Fd())), to.Close())
	if err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
