package activities

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Outcome is the outcome of a run, as seen by its workflow.
type Outcome string

// The outcomes.
const (
	Succeeded Outcome = "succeeded"
	Failed    Outcome = "failed"
	Canceled  Outcome = "canceled"
)

// FinishParams describe the end of a run.
type FinishParams struct {
	job.RunRef
	Outcome Outcome
	Node    string       // the node that failed; its failure is in the log
	Failure *job.Failure // failure of a run that failed outside its nodes
	At      *job.NodeRef // the node at which a run was canceled
	Values  []string     // references to values that no node will read again
	Seen    int64        `json:",omitempty"` // as of RunParams
}

// FinishResult is the end of a run for the result of its workflow. It is stored in Temporal's history, so it names
// the node and its error type, and contains neither texts nor values.
type FinishResult struct {
	Outcome Outcome `json:",omitempty"` // "" = the run was not ended
	Node    string  `json:",omitempty"` // node that failed, of a failed run
	Class   string  `json:",omitempty"`
	Type    string  `json:",omitempty"`
}

// Finish records the end of a run, frees its slot and admits waiting jobs. It does not change a run that has already
// ended. If the log, after a failover, lacks events of a run that succeeded, Finish fails with plan_changed and the run is
// planned again. If the log lacks the admission of the run, Finish does nothing, because the job is queued again.
func (g *Graph) Finish(ctx context.Context, p FinishParams) (FinishResult, error) {
	due, err := g.mayFinish(ctx, p)
	if err != nil || !due {
		return FinishResult{}, attempt.Error(err)
	}
	ending, err := g.ending(ctx, p)
	if err == nil {
		_, err = g.end(ctx, p, ending, g.newRecorder(p.RunRef), nil)
	}
	if err != nil {
		return FinishResult{}, attempt.Error(err)
	}
	return resultOf(p.Outcome, ending), nil
}

// resultOf returns the result for the recorded end of a run.
func resultOf(outcome Outcome, ending job.Ending) FinishResult {
	res := FinishResult{Outcome: outcome}
	if failed, ok := ending.Data.(job.FailedV1); ok {
		f := failed.Failure
		res.Node, res.Class, res.Type = f.Node, f.Class, f.ExceptionType
	}
	return res
}

// mayFinish compares a run with the log, which may have lost events of the run.
func (g *Graph) mayFinish(ctx context.Context, p FinishParams) (bool, error) {
	if p.Outcome == Succeeded {
		err := g.checkLog(ctx, p.RunRef, p.Seen)
		return err == nil, err
	}
	state, err := g.foldJob(ctx, p.RunRef)
	if err == nil && state.Run != p.Run {
		g.Log.Error("the log has lost the admission of a run: its job is queued again", "job_id", p.Job, "run", p.Run)
		return false, nil
	}
	return err == nil, err
}

// finish ends a run. It appends the pending events before the end, and ends the lease of the run's last segment, if there
// is one. It reports false if the run was ended before.
func (g *Graph) finish(ctx context.Context, p FinishParams, events *recorder, lease *job.LeaseEnd) (bool, error) {
	ending, err := g.ending(ctx, p)
	if err != nil {
		return false, err
	}
	return g.end(ctx, p, ending, events, lease)
}

// end is finish with a given ending.
func (g *Graph) end(ctx context.Context, p FinishParams, ending job.Ending, events *recorder,
	lease *job.LeaseEnd,
) (applied bool, err error) {
	if ending.Bounds, err = g.Tiers.Bounds(ctx, p.Account); err != nil {
		return false, err
	}
	ending.Before, ending.After, ending.Lease = events.pending, events.after, lease
	ended, err := g.Jobs.End(ctx, ending)
	if errors.Is(err, job.ErrRecordedInPart) { // another execution recorded them and did not end the run
		if err = events.flush(ctx); err == nil {
			ending.Before, ending.After = nil, 0
			ended, err = g.Jobs.End(ctx, ending)
		}
	}
	switch {
	case fault.CodeOf(err) == fault.CodeSegmentLeaseLost:
		return false, errTakenOver
	case err != nil:
		return false, err
	}
	g.plans.Remove(p.Job)
	if p.Outcome != Succeeded && g.Partners != nil {
		g.Partners.StopJob(ctx, p.RunRef)
	}
	if p.Outcome != Succeeded && g.Segments != nil {
		if err := g.Segments.Pool.GiveUpRun(ctx, p.RunRef); err != nil {
			g.Log.Warn("canceling the prompts of a finished job failed; they run to their end", "job_id", p.Job, "error", err)
		}
	}
	if err := g.Values.Forget(ctx, p.Values); err != nil {
		g.Log.Warn("values of a finished job not deleted; the next sweep will delete them", "job_id", p.Job, "error", err)
	}
	return ended.Applied, nil
}

func (g *Graph) ending(ctx context.Context, p FinishParams) (job.Ending, error) {
	e := job.Ending{ID: p.Job, Account: p.Account, Run: p.Run, Actor: g.Worker}
	switch p.Outcome {
	case Succeeded:
		e.Type, e.Data = job.TypeSucceeded, job.SucceededV1{Run: p.Run}
	case Canceled:
		at, err := g.interruptedAt(ctx, p)
		if err != nil {
			return job.Ending{}, err
		}
		e.Type, e.Data = job.TypeCanceled, job.CanceledV1{Run: p.Run, At: at}
	case Failed:
		failure, err := g.failure(ctx, p)
		if err != nil {
			return job.Ending{}, err
		}
		e.Type, e.Data = job.TypeFailed, job.FailedV1{Run: p.Run, Failure: failure}
	default:
		return job.Ending{}, fault.New(fault.Invalid, "", "unknown outcome %q", p.Outcome)
	}
	return e, nil
}

// interruptedAt returns the node at which a canceled run was interrupted: the node named by an activity, otherwise the
// first node that is running according to the log, or nil.
func (g *Graph) interruptedAt(ctx context.Context, p FinishParams) (*job.NodeRef, error) {
	if p.At != nil {
		return p.At, nil
	}
	state, err := g.foldJob(ctx, p.RunRef)
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(state.Running)) {
		return &job.NodeRef{Node: id, Class: state.Running[id]}, nil
	}
	return nil, nil // the run may be at no node
}

// failure returns the failure that a failed node recorded in the log. Temporal's histories do not contain texts of
// failures.
func (g *Graph) failure(ctx context.Context, p FinishParams) (job.Failure, error) {
	if p.Failure != nil {
		return *p.Failure, nil
	}
	id := job.EventID(p.Job, p.Run, p.Node, 0, job.TypeNodeFailed)
	for rec, err := range eventlog.Read(ctx, g.Events, p.Job.Stream(), 0) {
		if err != nil {
			return job.Failure{}, fmt.Errorf("read the failure of job %s: %w", p.Job, err)
		}
		if rec.ID != id {
			continue
		}
		data, err := g.Types.Decode(rec.Type, rec.Data)
		if failed, ok := data.(job.NodeFailedV1); ok && err == nil {
			return failed.Failure, nil
		}
		return job.Failure{}, err
	}
	return job.Failure{}, fmt.Errorf("job %s has no recorded failure of node %s", p.Job, p.Node)
}
