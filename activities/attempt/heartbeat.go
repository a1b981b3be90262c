package attempt

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// heartbeatEvery is a third of the heartbeat timeout: two may be lost before a worker counts as dead.
const heartbeatEvery = 3 * time.Second

// Heartbeat tells Temporal that the activity goes on, until ctx ends; the answers carry cancellation.
func Heartbeat(ctx context.Context) {
	tick := time.NewTicker(heartbeatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			activity.RecordHeartbeat(ctx)
		}
	}
}
