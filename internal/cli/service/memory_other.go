//go:build !linux

package service

// tuneMemory does nothing, because the size of the machine's memory is not known.
func tuneMemory() {}
