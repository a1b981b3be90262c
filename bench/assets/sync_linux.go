package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// datasync is the policy of the store that is measured: data and size, not the times.
func datasync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
