package service

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// A process is at rest when it allocates at most restAllocation bytes within restPeriod.
const (
	restPeriod     = time.Minute
	restAllocation = 64 << 20
)

// releaseAtRest returns unused memory to the system when the process comes to rest after work. The runtime keeps what
// the heap needed under load, because it may need it again, and collects little while little is allocated.
// It runs until ctx ends.
func releaseAtRest(ctx context.Context) { releaseWhile(ctx, allocated, debug.FreeOSMemory) }

// releaseWhile calls release once after each time that allocated, the bytes allocated so far, grows and then rests.
func releaseWhile(ctx context.Context, allocated func() uint64, release func()) {
	before, worked := allocated(), true // the start is work
	for range pause.Every(ctx, restPeriod) {
		now := allocated()
		rests := now-before <= restAllocation
		before = now
		if rests && worked {
			release()
		}
		worked = !rests
	}
}

// allocated returns the bytes that the process has allocated on its heap since its start.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
