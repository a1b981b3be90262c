package main

import (
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// Bounds of the heap, as a share of the machine's memory: the server is one of three programs that share it.
const (
	lazyCollection = 400 // heap growth between two collections, in percent, while memory is plenty
	memoryShare    = 8
	leastMemory    = 256 << 20
)

// tuneMemory lets the collector be lazy while memory is plenty: the live heap of a small server is small, and it would
// spend a good part of its time collecting it. GOGC and GOMEMLIMIT win.
func tuneMemory() {
	var info unix.Sysinfo_t
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" || unix.Sysinfo(&info) != nil {
		return
	}
	total := int64(info.Totalram) * int64(info.Unit) // far below 63 bits; types differ by platform
	debug.SetMemoryLimit(max(leastMemory, total/memoryShare))
	debug.SetGCPercent(lazyCollection)
}
