package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// datasync puts the bytes and the size on stable storage; times may lag.
func datasync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
