package attempt

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

const (
	// heartbeatEvery is a third of the heartbeat timeout: two may be lost before a worker counts as dead.
	heartbeatEvery = 3 * time.Second
	// heartbeatWithin bounds one heartbeat. By then Temporal has given the attempt up, or is itself away.
	heartbeatWithin = 10 * time.Second
)

// Heartbeat tells Temporal that the activity goes on, until ctx ends. The activity is canceled when Temporal answers that
// it is to end, or that another attempt has begun. A heartbeat without an answer changes nothing: Temporal may be
// restarting, and the work that was done so far counts if it is back in time.
//
// The heartbeats of the SDK are not used for that. It cancels the activity when one of them takes longer than the
// interval between two.
func Heartbeat(ctx context.Context) {
	tick := time.NewTicker(heartbeatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if isOver(sendHeartbeat(ctx)) {
				activity.RecordHeartbeat(ctx) // gets the same answer, and cancels the activity as the SDK does
			}
		}
	}
}

func sendHeartbeat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeatWithin)
	defer cancel()
	return activity.GetClient(ctx).RecordActivityHeartbeat(ctx, activity.GetInfo(ctx).TaskToken)
}

// isOver reports whether the answer to a heartbeat ends the activity.
func isOver(err error) bool {
	var absent *serviceerror.NotFound
	return temporal.IsCanceledError(err) || errors.As(err, &absent) ||
		errors.Is(err, activity.ErrActivityPaused) || errors.Is(err, activity.ErrActivityReset)
}
