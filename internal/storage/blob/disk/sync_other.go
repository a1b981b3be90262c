//go:build !linux

package disk

import "os"

// datasync puts the file on stable storage.
func datasync(f *os.File) error { return f.Sync() }
