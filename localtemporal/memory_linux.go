package main

import (
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// Bounds of the memory, which three programs share. What the server needs at once is far less than the least.
const (
	lazyCollection = 400 // heap growth between two collections, in percent, below the bound
	memoryShare    = 16  // of the machine's memory
	leastMemory    = 192 << 20
	mostMemory     = 224 << 20
)

// tuneMemory lets the collector be lazy up to a bound: the live heap of a small server is small, and it would
// spend a good part of its time collecting it. GOGC and GOMEMLIMIT win.
func tuneMemory() {
	var info unix.Sysinfo_t
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" || unix.Sysinfo(&info) != nil {
		return
	}
	total := int64(info.Totalram) * int64(info.Unit) // far below 63 bits; types differ by platform
	debug.SetMemoryLimit(min(max(leastMemory, total/memoryShare), mostMemory))
	debug.SetGCPercent(lazyCollection)
}
