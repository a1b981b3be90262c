//go:build !linux

package cloud

// memory returns the machine's total and free memory in bytes, 0 when unknown.
func memory() (total, free uint64) { return 0, 0 }
