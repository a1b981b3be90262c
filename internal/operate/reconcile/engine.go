package reconcile

import (
	"context"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/audit"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
	"github.com/millrace-dev/millrace/worker/sweep"
	"github.com/millrace-dev/millrace/workflows"
)

// States of a workflow in Temporal. Any other value is the status with which the workflow ended.
const (
	running = "running"
	unknown = "unknown"
)

// ownEnds are the statuses of workflows that ended by themselves, after the end of their job was recorded.
var ownEnds = []string{"Completed", "Failed", "Canceled"}

// engine returns the state of a workflow in Temporal.
func (r Reconciler) engine(ctx context.Context, workflow string) (string, error) {
	at, err := sweep.StateOf(ctx, r.Client, workflow)
	switch {
	case err != nil:
		return "", err
	case !at.Known:
		return unknown, nil
	case at.Open():
		return running, nil
	default:
		return at.Status.String(), nil
	}
}

func isGone(err error) bool {
	var gone *serviceerror.NotFound
	return errors.As(err, &gone)
}

// withoutWorkflow describes a job, call or asset without a running workflow.
func withoutWorkflow(what, state string) string {
	if state == unknown {
		return what + ", but Temporal has no workflow for it"
	}
	return what + ", but its workflow has ended: " + state
}

// repairCalls returns calls in flight without a running workflow. Each continues in a new workflow, which reads the
// call's progress from the log: a request that was sent is not sent again.
func (r Reconciler) repairCalls(ctx context.Context) ([]Repair, error) {
	var all []Repair
	for after := call.ID(""); ; {
		page, err := r.Calls.RunningAfter(ctx, after, 0, reconcilePage)
		if err != nil {
			return nil, err
		}
		for _, run := range page {
			after = run.Call
			state, err := r.engine(ctx, run.Call.WorkflowID(run.Run))
			if err != nil {
				return nil, err
			}
			if state != running {
				all = append(all, r.repairCall(run, state))
			}
		}
		if len(page) < reconcilePage {
			return all, nil
		}
	}
}

func (r Reconciler) repairCall(run call.Run, state string) Repair {
	return Repair{
		Kind: "call", ID: string(run.Call), Finding: withoutWorkflow("in flight", state), Action: "continue it; no request is sent twice",
		Do: func(ctx context.Context) error {
			_, err := r.Calls.Restart(ctx, run, r.By.Actor, r.By.Reason)
			return err
		},
	}
}

// repairIngestions returns assets without a running workflow whose bytes are not yet verified or scanned.
func (r Reconciler) repairIngestions(ctx context.Context) ([]Repair, error) {
	var all []Repair
	for after := asset.ID(""); ; {
		page, err := r.Assets.Uningested(ctx, after, 0, reconcilePage)
		if err != nil {
			return nil, err
		}
		for _, ref := range page {
			after = ref.Asset
			state, err := r.engine(ctx, ref.Asset.WorkflowID())
			if err != nil {
				return nil, err
			}
			if state == running {
				continue
			}
			all = append(all, Repair{
				Kind: "asset", ID: string(ref.Asset), Finding: withoutWorkflow("waits for ingestion", state), Action: "ingest it again",
				Do: func(ctx context.Context) error {
					_, err := r.Assets.Reingest(ctx, ref, r.By.Actor, r.By.Reason)
					return err
				},
			})
		}
		if len(page) < reconcilePage {
			return all, nil
		}
	}
}

// orphans returns workflows of jobs and calls that the log does not have, because the database was restored from an
// older backup. The workflow of a missing asset ends by itself.
func (r Reconciler) orphans(ctx context.Context) ([]Repair, error) {
	var all []Repair
	var token []byte
	for {
		page, err := r.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: fmt.Sprintf("WorkflowType IN ('%s', '%s') AND ExecutionStatus = 'Running'",
				workflows.RunGraphName, workflows.RunModelName),
			NextPageToken: token, PageSize: reconcilePage,
		})
		if err != nil {
			return nil, fmt.Errorf("list running workflows: %w", err)
		}
		for _, e := range page.GetExecutions() {
			found, err := r.orphan(ctx, e.GetExecution().GetWorkflowId())
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
		if token = page.GetNextPageToken(); len(token) == 0 {
			return all, nil
		}
	}
}

// subjectOf returns the job or call that a workflow runs.
func subjectOf(workflow string) (kind, id, stream string, ok bool) {
	const uuidLength = 36
	for _, kind := range []string{"job", "call"} {
		head := len(kind) + 1
		if len(workflow) < head+uuidLength || workflow[:head] != kind+"-" {
			continue
		}
		id := workflow[head : head+uuidLength]
		if kind == "job" {
			return kind, id, job.ID(id).Stream(), true
		}
		return kind, id, call.ID(id).Stream(), true
	}
	return "", "", "", false
}

func (r Reconciler) orphan(ctx context.Context, workflow string) ([]Repair, error) {
	kind, id, stream, ok := subjectOf(workflow)
	if !ok {
		return nil, nil // not a workflow of this program
	}
	has, err := operatestore.New(r.Ops.Pool).HasStream(ctx, stream)
	if err != nil || has { // the workflow of an ended job or call stops by itself
		return nil, err
	}
	return []Repair{{
		Kind: kind, ID: id, Finding: "a workflow runs, but the log has no such " + kind, Action: "terminate " + workflow,
		Do: func(ctx context.Context) error { return r.terminate(ctx, workflow) },
	}}, nil
}

// terminate records the termination of a workflow with its actor and reason, and terminates it.
func (r Reconciler) terminate(ctx context.Context, workflow string) error {
	return r.remove(ctx, workflow, func() error {
		return r.Client.TerminateWorkflow(ctx, workflow, "", "the event log has no stream for this workflow")
	})
}

// delete records the termination of one execution of a workflow like terminate, and removes it from Temporal, so that its id can be
// used again. A later execution with that id stays.
func (r Reconciler) delete(ctx context.Context, execution *commonpb.WorkflowExecution) error {
	return r.remove(ctx, execution.GetWorkflowId(), func() error {
		_, err := r.Client.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
			Namespace: r.Namespace, WorkflowExecution: execution,
		})
		return err
	})
}

func (r Reconciler) remove(ctx context.Context, workflow string, remove func() error) error {
	err := operate.Record(ctx, r.Ops.Events, audit.ReconcileStream, gate.All, audit.TypeTermination, audit.TerminationV1{Workflow: workflow},
		r.By)
	if err != nil {
		return err
	}
	if err := remove(); !isGone(err) {
		return err
	}
	return nil
}
