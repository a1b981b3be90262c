// Package starter delivers the intents of the outbox to Temporal: it starts and cancels workflows. It promises that
// delivering an intent again starts nothing twice. The outbox decides when and how often an intent is delivered.
package starter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities/modelcall"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/worker"
	"github.com/millrace-dev/millrace/worker/namespace"
	"github.com/millrace-dev/millrace/workflows"
)

// Starter delivers the intents of the outbox to Temporal.
type Starter struct {
	Client client.Client
	Queue  string                                                   // task queue of jobs
	Traced func(ctx context.Context, stream string) context.Context // adds the trace of a stream; nil = no traces
	// Attributes reports whether workflows may be started with search attributes; nil = no.
	Attributes *namespace.Attributes
	Eager      bool // a worker in this process shares the client: start without a task round trip
	// Ended returns the last step of a call that this process ended before the call's workflow started: the workflow then
	// ends in its first task and does not read the call. nil = this process ends no calls.
	Ended func(call.ID) (modelcall.Step, bool)
	// JoinIngests has one workflow ingest several small uploads of an account. Set it only without a slow scanner.
	JoinIngests bool
}

var _ outbox.Starter = (*Starter)(nil)

// Deliver implements outbox.Starter.
func (c *Starter) Deliver(ctx context.Context, in outbox.Intent) error {
	switch in.Kind {
	case outbox.StartRunGraph:
		var start job.Start
		if err := json.Unmarshal(in.Payload, &start); err != nil {
			return fmt.Errorf("intent %d: %w", in.ID, err)
		}
		if c.Traced != nil {
			ctx = c.Traced(ctx, start.Job.Stream())
		}
		to := target{
			queue: c.Queue, account: start.Account, repeated: start.Again,
			summary: fmt.Sprintf("run %d of job %s", start.Run, start.Job),
		}
		return c.startOn(ctx, to, in.WorkflowID, workflows.RunGraphName, workflows.RunGraphParams{RunRef: start.RunRef})
	case outbox.StartRunModel:
		var r call.Run
		if err := json.Unmarshal(in.Payload, &r); err != nil {
			return fmt.Errorf("intent %d: %w", in.ID, err)
		}
		if c.Traced != nil {
			ctx = c.Traced(ctx, r.Call.Stream())
		}
		to := target{queue: worker.ModelQueue(c.Queue), account: r.Account, class: r.Model, summary: "call of " + r.Model}
		return c.startOn(ctx, to, in.WorkflowID, workflows.RunModelName, c.runModelParams(r))
	case outbox.Cancel:
		return ignoreNotFound(c.Client.CancelWorkflow(ctx, in.WorkflowID, ""))
	case outbox.StartIngest:
		var ref asset.IngestRef
		if err := json.Unmarshal(in.Payload, &ref); err != nil {
			return fmt.Errorf("intent %d: %w", in.ID, err)
		}
		to := target{queue: worker.AssetQueue(c.Queue), account: ref.Account, repeated: true, summary: "ingestion of asset " + string(ref.Asset)}
		return c.startOn(ctx, to, in.WorkflowID, workflows.IngestAssetName, workflows.IngestAssetParams{IngestRef: ref})
	case outbox.StartIngests:
		var refs []asset.IngestRef
		if err := json.Unmarshal(in.Payload, &refs); err != nil {
			return fmt.Errorf("intent %d: %w", in.ID, err)
		}
		to := target{
			queue: worker.AssetQueue(c.Queue), account: refs[0].Account, repeated: true,
			summary: fmt.Sprintf("ingestion of %d assets", len(refs)),
		}
		return c.startOn(ctx, to, in.WorkflowID, workflows.IngestAssetsName, workflows.IngestAssetsParams{Assets: refs})
	case outbox.StartExport, outbox.StartDownload:
		var ref task.Ref
		if err := json.Unmarshal(in.Payload, &ref); err != nil {
			return fmt.Errorf("intent %d: %w", in.ID, err)
		}
		name, summary := workflows.ExportAssetsName, "export "+string(ref.Task)
		if in.Kind == outbox.StartDownload {
			name, summary = workflows.DownloadAssetName, "download "+string(ref.Task)
		}
		to := target{queue: worker.ExportQueue(c.Queue), account: ref.Account, repeated: true, summary: summary}
		return c.startOn(ctx, to, in.WorkflowID, name, workflows.TaskParams{Ref: ref})
	case outbox.StartPool:
		var names []string
		if err := json.Unmarshal(in.Payload, &names); err != nil {
			return fmt.Errorf("intent %d: %w", in.ID, err)
		}
		if len(names) != 1 {
			return fmt.Errorf("intent %d: %d pools, not one", in.ID, len(names))
		}
		to := target{queue: worker.PoolQueue(c.Queue), account: server.Account, repeated: true, summary: "pool " + names[0]}
		return c.startOn(ctx, to, in.WorkflowID, workflows.RunPoolName, workflows.RunPoolParams{Pool: names[0]})
	}
	return fmt.Errorf("intent %d: this version does not have the kind %q", in.ID, in.Kind)
}

func (c *Starter) runModelParams(r call.Run) workflows.RunModelParams {
	params := workflows.RunModelParams{Run: r}
	if c.Ended != nil {
		if last, ended := c.Ended(r.Call); ended {
			params.Next = &last
		}
	}
	return params
}

// target describes where a workflow runs and for whom.
type target struct {
	queue, account string
	class, summary string // class: "" = not known yet
	// repeated allows an id of an ended workflow to be used again. The events of an ingestion or a run have the same ids
	// each time, and after a restore the log may lack those that an ended workflow recorded.
	repeated bool
}

// lowest is the last of Temporal's priorities; 3 is the default.
const lowest = 5

// maxFairnessKey is Temporal's bound on a fairness key, in bytes.
const maxFairnessKey = 64

// fairness makes Temporal distribute queued tasks by account and not only by age: however many nodes of one account
// are ready, the next task of another account waits for at most one of them.
func (t target) fairness() temporal.Priority {
	p := temporal.Priority{FairnessKey: t.account[:min(len(t.account), maxFairnessKey)]}
	if _, hidden := account.ShadowOf(t.account); hidden {
		p.PriorityKey = lowest
	}
	return p
}

// startOn starts a workflow once. A running id is a success, and so is a used one unless to.repeated is set.
func (c *Starter) startOn(ctx context.Context, to target, id, workflow string, params any) error {
	reuse := enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	if to.repeated {
		reuse = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	}
	options := client.StartWorkflowOptions{
		ID: id, TaskQueue: to.queue, EnableEagerStart: c.Eager, Priority: to.fairness(), StaticSummary: to.summary,
		WorkflowIDReusePolicy:                    reuse,
		WorkflowIDConflictPolicy:                 enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowExecutionErrorWhenAlreadyStarted: false,
	}
	if c.Attributes != nil && c.Attributes.Usable() {
		options.TypedSearchAttributes = to.attributes()
	}
	_, err := c.Client.ExecuteWorkflow(ctx, options, workflow, params)
	var invalid *serviceerror.InvalidArgument
	if errors.As(err, &invalid) && options.TypedSearchAttributes.Size() > 0 { // the attributes may have been removed
		c.Attributes.Refused()
		options.TypedSearchAttributes = temporal.SearchAttributes{}
		_, err = c.Client.ExecuteWorkflow(ctx, options, workflow, params)
	}
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &started) {
		return nil
	}
	return err
}

// attributes returns the search attributes that are known at the start.
func (t target) attributes() temporal.SearchAttributes {
	all := []temporal.SearchAttributeUpdate{workflows.AccountAttribute.ValueSet(t.account)}
	if t.class != "" {
		all = append(all, workflows.ClassAttribute.ValueSet(t.class))
	}
	return temporal.NewSearchAttributes(all...)
}

// ignoreNotFound treats an unknown or ended workflow as canceled.
func ignoreNotFound(err error) error {
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return nil
	}
	return err
}
