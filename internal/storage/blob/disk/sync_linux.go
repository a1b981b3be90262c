package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// datasync syncs the bytes and the size of a file; its times may lag behind.
func datasync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
