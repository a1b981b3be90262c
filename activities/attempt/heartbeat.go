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
	// heartbeatEvery is a third of the heartbeat timeout: a worker counts as dead only after two lost heartbeats.
	heartbeatEvery = 3 * time.Second
	// heartbeatWithin bounds one heartbeat. After this time, Temporal has ended the attempt or is down.
	heartbeatWithin = 10 * time.Second
)

// Heartbeat sends heartbeats to Temporal until ctx ends. The activity is canceled when Temporal answers that it must
// end or that another attempt has begun. A heartbeat without an answer changes nothing: Temporal may be restarting,
// and the finished work is kept if Temporal returns in time.
//
// The heartbeats of the SDK do not have this property: the SDK cancels the activity when a heartbeat takes longer
// than the interval.
func Heartbeat(ctx context.Context) {
	tick := time.NewTicker(heartbeatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if isOver(sendHeartbeat(ctx)) {
				activity.RecordHeartbeat(ctx) // the SDK gets the same answer and cancels the activity
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
