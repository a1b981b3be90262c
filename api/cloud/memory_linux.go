package cloud

import (
	"golang.org/x/sys/unix"
)

// memory returns the machine's total and free memory in bytes, 0 when unknown.
func memory() (total, free uint64) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, 0
	}
	unit := uint64(info.Unit)
	return uint64(info.Totalram) * unit, uint64(info.Freeram) * unit //nolint:unconvert // 32 bits wide on some machines
}
