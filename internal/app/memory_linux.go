package app

import (
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// lazyCollection is the heap growth between two collections while memory is plenty. A service of small
// jobs has a small live heap, and would otherwise spend a good part of its time collecting it.
const lazyCollection = 200

// tuneMemory lets the collector be lazy below half of the machine's memory and eager towards it, so
// that pictures in flight cannot pile up. GOGC and GOMEMLIMIT win.
func tuneMemory() {
	var info unix.Sysinfo_t
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" || unix.Sysinfo(&info) != nil {
		return
	}
	total := int64(info.Totalram) * int64(info.Unit) // far below 63 bits; types differ by platform
	debug.SetMemoryLimit(total / 2)
	debug.SetGCPercent(lazyCollection)
}
