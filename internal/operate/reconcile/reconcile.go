// Package reconcile compares PostgreSQL with Temporal, for instance after one of them was restored from a backup, and
// repairs the differences. It changes nothing before the repair is requested, and it never sends a call to a provider
// twice.
package reconcile

import (
	"context"
	"slices"

	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/jobs"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
)

// Repair is one difference between PostgreSQL and Temporal, and the action that repairs it. Differences appear
// when a backup of one store was restored and the other is older, newer or empty.
type Repair struct {
	Kind    string `json:"kind"` // job, call, asset
	ID      string `json:"id"`
	Finding string `json:"finding"`
	Action  string `json:"action"`
	Error   string `json:"error,omitempty"`

	Do func(context.Context) error `json:"-"` // performs the action
}

// Reconciler compares the two stores.
type Reconciler struct {
	Ops       *jobs.Changes
	Client    client.Client
	Namespace string // of Client
	Tiers     job.Tiers
	Calls     *callstore.Store
	Assets    *assetstore.Store
	By        operate.Attribution
}

// Compare compares both stores in both directions. Only the first repair found for a job, call or asset counts: for
// example, a stray slot is dropped and its job is not started.
func (r Reconciler) Compare(ctx context.Context) ([]Repair, error) {
	var all []Repair
	known := map[string]bool{}
	for _, compare := range []func(context.Context) ([]Repair, error){
		r.orphanedRows, r.repairForgotten, r.unstarted, r.started, r.repairCalls,
		r.repairIngestions, r.orphans,
	} {
		found, err := compare(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(found, func(r Repair) bool { return known[r.ID] })...)
		for _, r := range all {
			known[r.ID] = true
		}
	}
	return all, nil
}

// orphanedRows returns slots and queue entries of jobs that the log does not have or that have ended.
func (r Reconciler) orphanedRows(ctx context.Context) ([]Repair, error) {
	found, err := r.Ops.Jobs.Orphans(ctx)
	if err != nil {
		return nil, err
	}
	var all []Repair
	for _, ref := range append(found.Slots, found.Queued...) {
		all = append(all, Repair{
			Kind: "job", ID: string(ref.Job), Finding: "a slot or a queue entry without an open stream", Action: "drop it",
			Do: func(ctx context.Context) error {
				return r.Ops.Jobs.Drop(ctx, jobstore.Orphans{Slots: []job.RunRef{ref}}, r.By.Actor, r.By.Reason)
			},
		})
	}
	return all, nil
}

// reconcilePage is the number of rows that one query reads.
const reconcilePage = 500

// repairForgotten returns accepted jobs that have neither a queue entry nor a slot.
func (r Reconciler) repairForgotten(ctx context.Context) ([]Repair, error) {
	var all []Repair
	for after := job.ID(""); ; {
		page, err := r.Ops.Jobs.Unplaced(ctx, after, reconcilePage)
		if err != nil {
			return nil, err
		}
		for _, ref := range page {
			after = ref.Job
			all = append(all, Repair{
				Kind: "job", ID: string(ref.Job), Finding: "accepted, but neither waiting nor running", Action: "put it back into the queue",
				Do: func(ctx context.Context) error {
					state, _, err := r.Ops.Retrier.Sources.Read(ctx, ref.Job)
					if err != nil {
						return err
					}
					err = r.Ops.Jobs.PlaceAgain(ctx, state, r.By.Actor, r.By.Reason)
					return err
				},
			})
		}
		if len(page) < reconcilePage {
			return all, nil
		}
	}
}

// unstarted returns slots without a running workflow.
func (r Reconciler) unstarted(ctx context.Context) ([]Repair, error) {
	return r.eachRun(ctx, func(ctx context.Context, after job.ID, limit int) ([]job.RunRef, error) {
		return r.Ops.Jobs.RunningAfter(ctx, after, 0, limit)
	}, r.slot)
}

// started returns queued jobs whose workflow Temporal already has, because the database was restored from an older backup. Such a
// workflow keeps the job from starting when it gets a slot.
func (r Reconciler) started(ctx context.Context) ([]Repair, error) {
	return r.eachRun(ctx, r.Ops.Jobs.QueuedAfter, func(ctx context.Context, ref job.RunRef) ([]Repair, error) {
		workflow := ref.Job.WorkflowID(ref.Run)
		state, err := r.engine(ctx, workflow)
		if err != nil || state == unknown {
			return nil, err
		}
		d, err := r.Client.DescribeWorkflowExecution(ctx, workflow, "")
		if isGone(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		// A job that still waits now had no slot when this execution was described, so the execution is of another past.
		if waits, err := r.Ops.Jobs.Waits(ctx, ref.Job); err != nil || !waits {
			return nil, err
		}
		return []Repair{{
			Kind: "job", ID: string(ref.Job), Finding: "queued, but Temporal has a workflow for it: " + state,
			Action: "delete the workflow; the job starts when it gets a slot",
			Do: func(ctx context.Context) error {
				return r.delete(ctx, d.GetWorkflowExecutionInfo().GetExecution())
			},
		}}, nil
	})
}

// eachRun compares runs with Temporal, page by page.
func (r Reconciler) eachRun(ctx context.Context, list func(ctx context.Context, after job.ID, limit int) ([]job.RunRef, error),
	compare func(context.Context, job.RunRef) ([]Repair, error),
) ([]Repair, error) {
	var all []Repair
	for after := job.ID(""); ; {
		page, err := list(ctx, after, reconcilePage)
		if err != nil {
			return nil, err
		}
		for _, ref := range page {
			after = ref.Job
			found, err := compare(ctx, ref)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
		if len(page) < reconcilePage {
			return all, nil
		}
	}
}

func (r Reconciler) slot(ctx context.Context, ref job.RunRef) ([]Repair, error) {
	switch state, err := r.engine(ctx, ref.Job.WorkflowID(ref.Run)); {
	case err != nil || state == running:
		return nil, err
	case state == unknown, slices.Contains(ownEnds, state): // the workflow recorded an end that the database has lost
		return []Repair{{
			Kind: "job", ID: string(ref.Job), Finding: withoutWorkflow("runs", state), Action: "start it again",
			Do: func(ctx context.Context) error {
				err := r.Ops.Jobs.Requeue(ctx, ref.Job, r.By.Actor, r.By.Reason)
				return err
			},
		}}, nil
	default:
		return []Repair{{
			Kind: "job", ID: string(ref.Job), Finding: withoutWorkflow("runs", state), Action: "fail it; it can be retried",
			Do: func(ctx context.Context) error { return r.fail(ctx, ref, state) },
		}}, nil
	}
}

func (r Reconciler) fail(ctx context.Context, ref job.RunRef, status string) error {
	bounds, err := r.Tiers.Bounds(ctx, ref.Account)
	if err != nil {
		return err
	}
	_, err = r.Ops.Jobs.End(ctx, job.Ending{
		ID: ref.Job, Account: ref.Account, Run: ref.Run, Type: job.TypeFailed, Bounds: bounds, Actor: r.By.Actor,
		Reason: r.By.Reason + ": its workflow was closed from outside:  " + status,
		Data: job.FailedV1{Run: ref.Run, Failure: job.Failure{
			Code: fault.CodeUpstreamError, Message: "the run was lost; submit the job again", ExceptionType: "ServiceError",
		}},
	})
	return err
}
