package activities

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/activity"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/graph"
	"github.com/millrace-dev/millrace/internal/job"
)

// BeginParams names the run and the execution that asks to begin it.
type BeginParams struct {
	job.RunRef
	Execution string // first run id of the Temporal execution chain
	Replan    bool   // the run had begun; only plan again
}

// BeginResult is what the workflow decides on.
type BeginResult struct {
	Skip     bool // the job is over, or this run was begun by another execution
	Canceled bool // the user gave up before the run began
	PlanHash string
	Shape    graph.Shape
}

// Begin plans a run and records that it started. A run that another execution began is
// skipped: the engine forgets closed workflow ids, the log does not.
func (g *Graph) Begin(ctx context.Context, p BeginParams) (BeginResult, error) {
	res, err := g.begin(ctx, p)
	return res, asActivityError(err, activity.GetInfo(ctx).Attempt)
}

func (g *Graph) begin(ctx context.Context, p BeginParams) (BeginResult, error) {
	state, doc, err := g.readJob(ctx, p.RunRef)
	if err != nil {
		return BeginResult{}, err
	}
	if state.State.Final() || state.Run != p.Run || state.Execution != "" && state.Execution != p.Execution {
		return BeginResult{Skip: true}, nil
	}
	if state.State == job.Canceling {
		return BeginResult{Canceled: true}, nil
	}
	plan, err := g.planFrom(ctx, p.RunRef, state, doc)
	if err != nil {
		return BeginResult{}, err
	}
	if !p.Replan {
		if err := g.recordStart(ctx, p, len(plan.Nodes)); err != nil {
			return BeginResult{}, err
		}
	}
	return BeginResult{PlanHash: plan.hash, Shape: plan.Shape()}, nil
}

// recordStart appends the facts of a started run. Nothing is cached yet: the list is empty.
func (g *Graph) recordStart(ctx context.Context, p BeginParams, nodes int) error {
	started := job.StartedV1{Run: p.Run, NodesTotal: nodes, Worker: g.Worker, Execution: p.Execution}
	_, err := g.Events.Append(ctx, eventlog.Append{
		Stream: p.Job.Stream(), Account: p.Account, Expected: eventlog.AnyVersion,
		Events: []eventlog.Event{
			{ID: job.FactID(p.Job, p.Run, "", 0, job.TypeStarted), Type: job.TypeStarted, Data: started},
			{ID: job.FactID(p.Job, p.Run, "", 0, job.TypeNodesCached), Type: job.TypeNodesCached, Data: job.NodesCachedV1{Run: p.Run, Nodes: []string{}}},
		},
		Meta: eventlog.Meta{Actor: g.Worker},
	})
	if err != nil {
		return fmt.Errorf("record the start of job %s: %w", p.Job, err)
	}
	return nil
}

// foldPage is how many events are read at once when a stream is folded.
const foldPage = 500

// foldJob folds a job's whole stream. A job of another account is NotFound.
func (g *Graph) foldJob(ctx context.Context, ref job.RunRef) (job.Job, error) {
	state, _, err := g.readJob(ctx, ref)
	return state, err
}

// readJob is foldJob with the place of the submission, which the stream begins with.
func (g *Graph) readJob(ctx context.Context, ref job.RunRef) (state job.Job, doc job.Document, err error) {
	for {
		page, err := g.Events.ReadStream(ctx, ref.Job.Stream(), state.Version, foldPage)
		if err != nil {
			return job.Job{}, doc, fmt.Errorf("read job %s: %w", ref.Job, err)
		}
		for _, rec := range page {
			data, err := g.Types.Decode(rec.Type, rec.Data)
			if err != nil {
				return job.Job{}, doc, err
			}
			if e, ok := data.(job.SubmittedV1); ok {
				doc = e.Document
			}
			state = job.Fold(state, rec, data)
		}
		if len(page) < foldPage {
			break
		}
	}
	if state.Version == 0 || state.Account != ref.Account {
		return job.Job{}, doc, fault.New(fault.NotFound, "not_found", "job %s is not in the log of account %s", ref.Job, ref.Account)
	}
	return state, doc, nil
}
