// Package workflows contains the deterministic orchestration: which activity runs when. It reads no clock and no
// random numbers, does not depend on the order of maps, and has side effects only through activities. Names and
// parameters are stored in histories: fields are only added, and a change of the sequence of commands needs a version
// gate and a recorded history that replays.
package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// retryForever retries without end, because an accepted job must survive any outage. Errors that no retry can fix
// have the types attempt.ErrFinal and attempt.ErrGivenUp. The maximum interval of ten seconds bounds the delay after an outage ends.
var retryForever = temporal.RetryPolicy{
	InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second,
}

// unboundedTime is longer than any outage. Without ScheduleToCloseTimeout, a local activity uses the bound of one attempt for
// all attempts, and would not be retried.
const unboundedTime = 10 * 365 * 24 * time.Hour

// bookkeeping is for activities of a few database round trips. Fifteen seconds cover a restart of the database; the
// next attempt finds the events of the first one.
var bookkeeping = workflow.LocalActivityOptions{
	StartToCloseTimeout:    15 * time.Second,
	ScheduleToCloseTimeout: unboundedTime,
	RetryPolicy:            &retryForever,
}

// cheapNodes is for a fused chain, which the planner bounds to two seconds; the rest is slack for a busy machine. A
// chain that takes longer than a minute, including retries, runs with longNodes.
var cheapNodes = workflow.LocalActivityOptions{
	StartToCloseTimeout: 60 * time.Second,
	RetryPolicy:         &retryForever,
}

// longNodes is for nodes that may take minutes. Missing heartbeats reveal a worker that died within ten seconds,
// independently of the timeout.
var longNodes = workflow.ActivityOptions{
	StartToCloseTimeout: 2 * time.Hour,
	HeartbeatTimeout:    10 * time.Second,
	WaitForCancellation: true,
	RetryPolicy:         &retryForever,
}

// ShortQueue is the suffix of the task queue of batches that take at most a few seconds. A worker has separate slots
// for them, so that a graph of short nodes does not wait for graphs of long nodes.
const ShortQueue = "-short"

// shortNodes is for batches of ShortQueue and PartnerQueue. A batch that no worker starts within a minute, because
// all workers are busy or away, runs with longNodes.
var shortNodes = workflow.ActivityOptions{
	ScheduleToStartTimeout: time.Minute,
	StartToCloseTimeout:    longNodes.StartToCloseTimeout,
	HeartbeatTimeout:       longNodes.HeartbeatTimeout,
	WaitForCancellation:    true,
	RetryPolicy:            &retryForever,
}

// PartnerQueue is the suffix of the task queue of partner nodes. They wait for a model, for minutes if it makes a
// video, and must not occupy the few slots of nodes that compute.
const PartnerQueue = "-partners"

// SegmentQueue is the suffix of the task queue of segments. They wait for servers and do not compute, so a worker has
// many more slots for them than for nodes.
const SegmentQueue = "-segments"

// segments is for segments of graphs, which may wait for a ComfyUI server for days. Missing heartbeats reveal a
// driver that died.
var segments = workflow.ActivityOptions{
	StartToCloseTimeout: 30 * 24 * time.Hour,
	HeartbeatTimeout:    10 * time.Second,
	WaitForCancellation: true,
	RetryPolicy:         &retryForever,
}
