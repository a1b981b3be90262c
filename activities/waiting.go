package activities

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/stream"
)

// reportWithin bounds the time to report why a job waits.
const reportWithin = 5 * time.Second

// reportWaiting publishes why a node waits for its next attempt, if another one follows: an outage, or an error without a known
// reason. It is best effort, because an outage may also affect the report.
func (c *chain) reportWaiting(ctx context.Context, cause error) {
	unclassified := isUnclassified(cause)
	if fault.Is(cause, fault.Canceled) || !unclassified && !attempt.IsOutage(cause) {
		return
	}
	message := "an unexpected error of the service; the operator's log has the details"
	if !unclassified {
		message = publicMessage(cause)
	}
	at := c.current
	if at == nil { // the error is not that of a node: the batch waits
		at = c.plan.rootOf(c.params.Units[0])
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportWithin)
	defer cancel()
	c.g.Log.Warn("node waits for its next attempt", "job_id", c.params.Job, "node_id", at.Node, "error", cause)
	if err := c.events.flush(ctx); err != nil {
		c.g.Log.Warn("finished nodes of a waiting batch not recorded; they run again", "job_id", c.params.Job, "error", err)
		return
	}
	frame := stream.Frame{
		Account: c.params.Account, Job: c.params.Job, Run: c.params.Run, Node: at.Node, Attempt: c.attempt,
		Kind: stream.FrameWaiting, Data: []byte(message),
	}
	if err := c.g.Bus.Publish(ctx, frame); err != nil {
		c.g.Log.Debug("frame dropped", "job_id", c.params.Job, "node_id", at.Node, "error", err)
	}
}
