package service

import (
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// lazyCollection is the heap growth between two garbage collections while memory is plentiful. A service of small
// jobs has a small live heap and would otherwise spend much of its time on collections.
const lazyCollection = 200

// tuneMemory makes garbage collections rare below half of the machine's memory and frequent near its limit, so that
// pictures in memory cannot pile up. GOGC and GOMEMLIMIT take precedence.
func tuneMemory() {
	var info unix.Sysinfo_t
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" || unix.Sysinfo(&info) != nil {
		return
	}
	total := int64(info.Totalram) * int64(info.Unit) // far below 63 bits; types differ by platform
	debug.SetMemoryLimit(total / 2)
	debug.SetGCPercent(lazyCollection)
}
