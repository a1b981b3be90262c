package activities

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/stream"
)

// reportWithin bounds the time to report why a job waits.
const reportWithin = 5 * time.Second

// reportWaiting publishes that a node waits for the end of an outage before its next attempt. It is best effort,
// because the outage may also affect the report.
func (c *chain) reportWaiting(ctx context.Context, cause error) {
	if c.current == nil || fault.Is(cause, fault.Canceled) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportWithin)
	defer cancel()
	c.g.Log.Warn("node waits for an outage to end", "job_id", c.params.Job, "node_id", c.current.Node, "error", cause)
	if err := c.events.flush(ctx); err != nil {
		c.g.Log.Warn("finished nodes of a waiting batch not recorded; they run again", "job_id", c.params.Job, "error", err)
		return
	}
	frame := stream.Frame{
		Account: c.params.Account, Job: c.params.Job, Run: c.params.Run, Node: c.current.Node, Attempt: c.attempt,
		Kind: stream.FrameWaiting, Data: []byte(publicMessage(cause)),
	}
	if err := c.g.Bus.Publish(ctx, frame); err != nil {
		c.g.Log.Debug("frame dropped", "job_id", c.params.Job, "node_id", c.current.Node, "error", err)
	}
}
