//go:build !linux

package main

import "os"

// datasync is the policy of the store that is measured.
func datasync(f *os.File) error { return f.Sync() }
