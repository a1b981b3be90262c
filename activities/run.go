package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
)

// RunParams select the nodes of one batch by their indices in the plan.
type RunParams struct {
	job.RunRef
	PlanHash   string
	Units      []int       // in run order
	Keep       []int       // units whose values are read outside this batch
	Inputs     []Input     // values computed outside this batch
	Expansions []Expansion `json:",omitempty"` // nodes that expanded, in order
	Seen       int64       `json:",omitempty"` // version of the job's stream after the latest ended batch
	Last       bool        `json:",omitempty"` // this segment is the last batch: its end is the end of the run
	Stored     []string    `json:",omitempty"` // with Last: references to values that no node will read again
}

// Expansion is an expanded node and its stored document.
type Expansion struct {
	Unit int
	Ref  string
	Size int // nodes of its graph
}

// Input contains the stored values of one unit, by slot.
type Input struct {
	Unit   int
	Values []string
}

// RunResult is the result of a batch. Units that wait for others are absent.
type RunResult struct {
	Units   []graph.UnitResult
	Failed  string       `json:",omitempty"` // node whose failure ends the run
	Stopped bool         `json:",omitempty"` // according to the log, the user canceled the job
	At      *job.NodeRef `json:",omitempty"` // the node that was running
	Lost    []int        `json:",omitempty"` // units whose stored values are lost
	Version int64        `json:",omitempty"` // of the job's stream after the batch's last events
	Ended   bool         `json:",omitempty"` // the run has ended, and its end is recorded
	Server  string       `json:",omitempty"` // the ComfyUI server that ran the last segment, by its id
}

// RunCheap runs a fused chain of cheap nodes, as a local activity.
func (g *Graph) RunCheap(ctx context.Context, p RunParams) (RunResult, error) {
	return g.run(ctx, p, activity.GetInfo(ctx).Attempt, deadline(g.FusedFor))
}

// RunLong runs one or a few expensive nodes, as an activity with heartbeats. If other batches wait after a turn, it
// leaves the rest to another batch, which is queued after them.
func (g *Graph) RunLong(ctx context.Context, p RunParams) (RunResult, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	pulse := attempt.NewPulse(g.Heartbeat)
	go pulse.Run(ctx)
	info, waits := activity.GetInfo(ctx), slotWaits(ctx)
	n := info.Attempt - waits
	t := deadline(g.Turn)
	if n > 1 { // an attempt was lost: record the finished nodes before starting others
		t = deadline(g.FusedFor)
	}
	t.confirm = pulse.Confirm
	if n == 1 && g.Waiting != nil {
		t.length, t.waiting = g.Turn, func(ctx context.Context) (bool, error) { return g.Waiting(ctx, info.TaskQueue) }
	}
	res, err := g.run(ctx, p, n, t)
	var app *temporal.ApplicationError
	if errors.As(err, &app) && app.Type() == attempt.ErrNoSlot {
		activity.RecordHeartbeat(ctx, waits+1)
	}
	return res, err
}

// slotWaits returns the number of earlier attempts that ended because the job had no slot, which are no attempts of its nodes. The
// last of them left it; it is lost when an attempt with a slot sends heartbeats.
func slotWaits(ctx context.Context) (waits int32) {
	if !activity.HasHeartbeatDetails(ctx) || activity.GetHeartbeatDetails(ctx, &waits) != nil {
		return 0
	}
	return waits
}

func (g *Graph) run(ctx context.Context, p RunParams, n int32, t *turn) (RunResult, error) {
	res, err := g.batch(ctx, p, n, t)
	return res, attempt.Error(g.failed.finalIfRepeated(work{p.RunRef, p.Units[0]}, err))
}

func (g *Graph) batch(ctx context.Context, p RunParams, n int32, t *turn) (res RunResult, err error) {
	defer attempt.Contain(&err)
	plan, err := g.plan(ctx, p.RunRef)
	if err != nil {
		return RunResult{}, err
	}
	if plan.hash != p.PlanHash {
		if err = g.forgetPlan(ctx, p.Job); err == nil {
			plan, err = g.plan(ctx, p.RunRef)
		}
		if err != nil {
			return RunResult{}, err
		}
	}
	if plan.hash != p.PlanHash {
		return RunResult{}, planChanged(otherVersion)
	}
	if err := g.checkLog(ctx, p.RunRef, p.Seen); err != nil {
		return RunResult{}, err
	}
	if plan, err = g.expandPlan(ctx, plan, p); err != nil {
		return RunResult{}, err
	}
	events := g.newRecorder(p.RunRef)
	if t != nil {
		events.confirm = t.confirm
	}
	c := newChain(g, plan, p, int(n), events)
	if err := c.needSlot(ctx); err != nil {
		return RunResult{}, err
	}
	c.turn = t
	res, err = g.runChain(ctx, c)
	c.keepEntries(ctx)
	if err == nil && p.Last && res.Failed == "" && !res.Stopped && len(res.Units) == len(p.Units) {
		res.Ended = true
		return res, c.finish(ctx, FinishParams{RunRef: p.RunRef, Outcome: Succeeded, Values: p.Stored})
	}
	if err == nil {
		err = c.release(ctx)
	}
	if err == nil {
		err = c.events.flush(ctx)
		res.Version = c.events.version
	}
	return res, err
}

const otherVersion = "the graph is planned differently by this version"

// planChanged returns the error that makes the workflow plan the run again.
func planChanged(why string) error {
	return temporal.NewNonRetryableApplicationError(why, attempt.ErrPlanChanged, nil)
}

// runChain runs a batch. The caller must append the last events.
func (g *Graph) runChain(ctx context.Context, c *chain) (res RunResult, err error) {
	defer attempt.Contain(&err) // a panic of a class outside its own run
	watched, release := g.Stops.Watch(ctx, c.params.Job)
	defer release()
	err = c.run(watched)
	switch {
	case err == nil:
		return c.result, nil
	case errors.Is(context.Cause(watched), errStopped):
		return g.stopped(ctx, c)
	case watched.Err() != nil:
		return RunResult{}, g.interrupted(ctx, c)
	default:
		c.reportWaiting(ctx, err)
		return RunResult{}, err
	}
}

// interrupted ends an activity that must stop although its job was not canceled, because the worker shuts down or a
// sibling failed. It records the finished nodes.
func (g *Graph) interrupted(ctx context.Context, c *chain) error {
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := c.events.flush(flush); err != nil {
		g.Log.Warn("finished nodes of an interrupted batch not recorded; they run again", "job_id", c.params.Job, "error", err)
	}
	return context.Cause(ctx)
}

// stopped ends an activity of a canceled job. It records the finished nodes and names the interrupted node.
func (g *Graph) stopped(ctx context.Context, c *chain) (RunResult, error) {
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := c.events.flush(flush); err != nil {
		return RunResult{}, err
	}
	c.result.Stopped, c.result.At = true, c.current
	return c.result, nil
}
