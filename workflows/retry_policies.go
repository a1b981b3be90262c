// Package workflows holds the deterministic orchestration: what runs when. It
// reads no clock, no random numbers and no maps in their own order, and touches the
// world only through activities. Names and parameters are stored in histories:
// fields are only added, and a change of the sequence of commands needs a version
// gate and a recorded history that replays.
package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// retryForever retries without end, because an accepted job must survive any outage. Errors that retrying cannot help
// have the type attempt.ErrFinal. Ten seconds bounds the time until a part that works again is used again.
var retryForever = temporal.RetryPolicy{
	InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second,
}

// noEnd is longer than any outage. Without ScheduleToCloseTimeout a local activity would take the bound of one attempt
// as the bound of all, and its retries would end with the first.
const noEnd = 10 * 365 * 24 * time.Hour

// bookkeeping is for activities of a few database round trips. Fifteen seconds covers a database
// that restarts; the attempt after it finds what the first one recorded.
var bookkeeping = workflow.LocalActivityOptions{
	StartToCloseTimeout:    15 * time.Second,
	ScheduleToCloseTimeout: noEnd,
	RetryPolicy:            &retryForever,
}

// cheapNodes is for a fused chain, which the planner bounds to two seconds; the rest is slack for a busy machine. A
// chain that does not end within a minute, retries included, runs with longNodes.
var cheapNodes = workflow.LocalActivityOptions{
	StartToCloseTimeout: 60 * time.Second,
	RetryPolicy:         &retryForever,
}

// longNodes is for nodes that may take minutes. A worker that dies is noticed by its missing
// heartbeat within ten seconds, whatever the timeout.
var longNodes = workflow.ActivityOptions{
	StartToCloseTimeout: 2 * time.Hour,
	HeartbeatTimeout:    10 * time.Second,
	WaitForCancellation: true,
	RetryPolicy:         &retryForever,
}

// ShortQueue is the end of the name of the task queue of batches that take a few seconds at most. A worker has room for
// them beside the long ones, so that a graph of short nodes does not wait for graphs of long ones.
const ShortQueue = "-short"

// shortNodes is for batches of ShortQueue and PartnerQueue. One that no worker takes within a minute, because all are of an earlier
// version or have a long backlog, runs with longNodes.
var shortNodes = workflow.ActivityOptions{
	ScheduleToStartTimeout: time.Minute,
	StartToCloseTimeout:    longNodes.StartToCloseTimeout,
	HeartbeatTimeout:       longNodes.HeartbeatTimeout,
	WaitForCancellation:    true,
	RetryPolicy:            &retryForever,
}

// PartnerQueue is the end of the name of the task queue of partner nodes: they wait for a model rather than work, for
// minutes in case of a video, and must not keep the few slots of nodes that work.
const PartnerQueue = "-partners"

// SegmentQueue is the end of the name of the task queue of segments: they wait for servers rather than work, so that many
// of them may stand beside the few nodes that a machine can run at once.
const SegmentQueue = "-segments"

// segments is for the parts of graphs that ComfyUI servers run, which may wait for one for days. A driver that dies is
// noticed by its missing heartbeat.
var segments = workflow.ActivityOptions{
	StartToCloseTimeout: 30 * 24 * time.Hour,
	HeartbeatTimeout:    10 * time.Second,
	WaitForCancellation: true,
	RetryPolicy:         &retryForever,
}
