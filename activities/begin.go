package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// BeginParams identifies a run and the workflow execution that begins it.
type BeginParams struct {
	job.RunRef
	Execution string // first run id of the Temporal execution chain
	Replan    bool   // the run has begun before: only plan it again
}

// BeginResult is the result of Begin for the workflow.
type BeginResult struct {
	Skip     bool // the job has ended, or another execution began this run
	Canceled bool // the user canceled the job before the run began
	PlanHash string
	Shape    graph.Shape
	Cached   []Input    `json:",omitempty"` // cached units, with the values that are read
	First    *RunResult `json:",omitempty"` // result of the scheduler's first batch, if Begin ran it
	Ended    bool       `json:",omitempty"` // the first batch was the whole run, and its end is recorded

	Nodes   []string    `json:",omitempty"` // id and class by unit, for readers of the history; empty for a very large graph
	Class   string      `json:",omitempty"` // class of the node that is expected to take longest
	Surface job.Surface `json:",omitempty"`
}

// Begin plans a run and records its start. It skips a run that another execution began: Temporal forgets the ids of
// closed workflows, but the log does not. If the run can only start with one fused batch, Begin runs the batch, and
// ends the run if no other batch remains. A small job then costs one activity and one append.
func (g *Graph) Begin(ctx context.Context, p BeginParams) (BeginResult, error) {
	n := activity.GetInfo(ctx).Attempt
	res, err := g.planned(ctx, p, n)
	return res, attempt.Error(g.failed.finalIfRepeated(work{p.RunRef, planning}, err))
}

// planned calls begin and converts panics to errors.
func (g *Graph) planned(ctx context.Context, p BeginParams, n int32) (res BeginResult, err error) {
	defer attempt.Contain(&err)
	return g.begin(ctx, p, n)
}

// maxHandedAge bounds how long after its submission a run may begin without reading its job. Stops knows the jobs that
// were canceled since.
const maxHandedAge = stopRetention / 2

// begin begins a run of a job that this process has just accepted with the events that its submission recorded. If the
// log has further events by then, such as a cancellation, none of the run's events is recorded, and the run begins again
// with all events of the log, as one of any other job does at once.
func (g *Graph) begin(ctx context.Context, p BeginParams, n int32) (BeginResult, error) {
	if p.Replan {
		if err := g.forgetPlan(ctx, p.Job); err != nil {
			return BeginResult{}, err
		}
	}
	parsed, fresh := g.Graphs.Take(string(p.Job))
	if parsed != nil && n == 1 && !p.Replan && time.Since(fresh.At) < maxHandedAge && fresh.Job.Account == p.Account {
		res, err := g.beginFrom(ctx, p, n, found{state: fresh.Job, doc: fresh.Document, graph: parsed, unread: true})
		if !errors.Is(err, job.ErrOvertaken) {
			return res, err
		}
		parsed = nil // the plan has it
	}
	j, err := g.readJob(ctx, p.RunRef)
	if err != nil {
		return BeginResult{}, err
	}
	j.graph = parsed
	return g.beginFrom(ctx, p, n, j)
}

// beginFrom is begin for a job with these events.
func (g *Graph) beginFrom(ctx context.Context, p BeginParams, n int32, j found) (BeginResult, error) {
	state := j.state
	if state.State.Final() || state.Run != p.Run || state.Execution != "" && state.Execution != p.Execution {
		return BeginResult{Skip: true}, nil
	}
	if state.State == job.Canceling {
		return BeginResult{Canceled: true}, nil
	}
	plan, err := g.planFrom(ctx, p.RunRef, j)
	if err != nil {
		return BeginResult{}, err
	}
	res := BeginResult{PlanHash: plan.hash, Shape: plan.Shape(), Nodes: plan.names(), Class: plan.heaviest(), Surface: plan.surface}
	if p.Replan {
		return res, nil
	}
	events := g.newRecorder(p.RunRef)
	if j.unread {
		events.after = state.Version
	}
	events.add("", job.TypeStarted, job.StartedV1{Run: p.Run, NodesTotal: plan.Size(), Worker: g.Worker, Execution: p.Execution})
	answer := g.cachedUnits(ctx, plan, state)
	g.addCachedEvents(events, plan, answer)
	res.Cached = cachedInputs(answer)
	sched := res.Scheduler()
	if sched.Finished() {
		_, err := g.finish(ctx, FinishParams{RunRef: p.RunRef, Outcome: Succeeded}, events, nil)
		res.Ended = true
		return res, err
	}
	// A later attempt runs no nodes, because a node may have prevented the first attempt from ending.
	if first, ok := sched.StartSole(); ok && n == 1 {
		c := newChain(g, plan, RunParams{RunRef: p.RunRef, Units: first.Units, Keep: first.Keep, Inputs: res.Cached}, 1, events)
		if !first.Remote {
			return g.runFirst(ctx, c, sched, first.ID, res)
		}
		if end, ok := g.Segments.beginFirstSegment(plan, first.Units[0]); ok {
			defer end()
			if err := g.checkUnread(ctx, p.RunRef, j); err != nil {
				return BeginResult{}, err
			}
			return g.driveFirst(ctx, c, sched, first.ID, res)
		}
	}
	if err := events.flush(ctx); err != nil {
		return BeginResult{}, fmt.Errorf("record the start of job %s: %w", p.Job, err)
	}
	return res, nil
}

// Scheduler returns the scheduler at the start of the run.
func (r BeginResult) Scheduler() *graph.Scheduler {
	sched := graph.NewScheduler(r.Shape)
	for _, s := range r.Cached {
		sched.MarkCached(s.Unit, len(s.Values) > 0)
	}
	return sched
}

// runFirst runs the first batch after the start of the run. If the run succeeds with it, the pending events are
// appended together with the end of the run.
func (g *Graph) runFirst(ctx context.Context, c *chain, sched *graph.Scheduler, batch int, res BeginResult) (BeginResult, error) {
	c.turn = deadline(g.FusedFor)
	first, err := g.runChain(ctx, c)
	if err != nil {
		return BeginResult{}, err
	}
	c.keepEntries(ctx)
	return g.afterFirst(ctx, c, sched, batch, res, first)
}

// afterFirst records the result of the first batch, and the end of the run if no other batch remains.
func (g *Graph) afterFirst(ctx context.Context, c *chain, sched *graph.Scheduler, batch int, res BeginResult,
	first RunResult,
) (BeginResult, error) {
	sched.Done(batch, first.Units)
	res.First = &first
	if !first.Stopped && sched.Finished() {
		res.Ended = true
		return res, c.finish(ctx, FinishParams{RunRef: c.params.RunRef, Outcome: Succeeded})
	}
	err := c.release(ctx)
	if err == nil {
		err = c.events.flush(ctx)
	}
	first.Version = c.events.version
	return res, err
}

// found is a job as a run finds it.
type found struct {
	state  job.Job
	doc    job.Document
	graph  *graph.Graph // parsed document, or nil
	unread bool         // the log may have further events
}

// checkUnread returns job.ErrOvertaken if the log has further events of a job, before a server is given work for it.
func (g *Graph) checkUnread(ctx context.Context, ref job.RunRef, j found) error {
	if !j.unread {
		return nil
	}
	further, err := g.Events.ReadStream(ctx, ref.Job.Stream(), j.state.Version, 1)
	if err != nil {
		return fmt.Errorf("read job %s: %w", ref.Job, err)
	}
	if len(further) > 0 {
		return job.ErrOvertaken
	}
	return nil
}

// foldJob folds a job's whole stream. A job of another account is NotFound.
func (g *Graph) foldJob(ctx context.Context, ref job.RunRef) (job.Job, error) {
	j, err := g.readJob(ctx, ref)
	return j.state, err
}

// readJob is foldJob and also returns the location of the submission, which is in the first event.
func (g *Graph) readJob(ctx context.Context, ref job.RunRef) (found, error) {
	var doc job.Document
	events := eventlog.Read(ctx, g.Events, ref.Job.Stream(), 0)
	state, err := eventlog.Fold(g.Types, events, job.Job{}, func(state job.Job, rec eventlog.Recorded, data any) job.Job {
		if e, ok := data.(job.SubmittedV1); ok {
			doc = e.Document
		}
		return job.Fold(state, rec, data)
	})
	if err != nil {
		return found{}, fmt.Errorf("read job %s: %w", ref.Job, err)
	}
	if state.Version == 0 || state.Account != ref.Account {
		return found{}, fault.New(fault.NotFound, fault.CodeNotFound, "job %s is not in the log of account %s", ref.Job, ref.Account)
	}
	return found{state: state, doc: doc}, nil
}
