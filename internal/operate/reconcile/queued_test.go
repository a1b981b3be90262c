package reconcile_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/millrace-dev/millrace/internal/domain/eventtypes"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/operate"
	operatejobs "github.com/millrace-dev/millrace/internal/operate/jobs"
	"github.com/millrace-dev/millrace/internal/operate/reconcile"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// engine is a Temporal that has one execution of each workflow, and notes which executions are deleted.
type engine struct {
	client.Client
	execution string
	described func(n int) // is called before the nth answer, counted from 1
	asked     int
	deleted   []string
}

func (e *engine) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	e.asked++
	e.described(e.asked)
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: e.execution}, Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}}, nil
}

func (*engine) ListWorkflow(
	context.Context, *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return &workflowservice.ListWorkflowExecutionsResponse{}, nil
}

func (e *engine) WorkflowService() workflowservice.WorkflowServiceClient { return deleting{of: e} }

// deleting deletes executions of an engine.
type deleting struct {
	workflowservice.WorkflowServiceClient
	of *engine
}

func (d deleting) DeleteWorkflowExecution(
	_ context.Context, req *workflowservice.DeleteWorkflowExecutionRequest, _ ...grpc.CallOption,
) (*workflowservice.DeleteWorkflowExecutionResponse, error) {
	d.of.deleted = append(d.of.deleted, req.GetWorkflowExecution().GetRunId())
	return &workflowservice.DeleteWorkflowExecutionResponse{}, nil
}

// A job that gets its slot while it is compared has a workflow of its own. That workflow is never deleted: neither if the job got the
// slot before its workflow was described, nor if it got it before the repair.
func TestReconcileSparesTheWorkflowOfAJobThatJustGotItsSlot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		startsAt int // the description before which the job starts; 0 = after the comparison
		deleted  []string
	}{
		"before its workflow is looked for": {startsAt: 1},
		"before its workflow is described":  {startsAt: 2},
		"before the repair":                 {deleted: []string{"of another past"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, err := postgres.Open(t.Context(), pgtest.Migrated(t, postgres.Migrate), postgres.PoolOptions{})
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			types, err := eventtypes.Registry()
			require.NoError(t, err)
			events := eventstore.New(pool, types, nil)
			id := job.NewID()
			_, err = events.Append(t.Context(), eventlog.Append{
				Stream: id.Stream(), Account: "local", Expected: eventlog.AnyVersion,
				Events: []eventlog.Event{{ID: uuid.New(), Type: job.TypeSubmitted, Data: job.SubmittedV1{}}},
			})
			require.NoError(t, err)
			exec := func(sql string) {
				_, err := pool.Exec(t.Context(), sql, string(id))
				require.NoError(t, err)
			}
			exec(`insert into job_queue (job_id, account, number) values ($1, 'local', 1)`)
			e := &engine{execution: "of another past"}
			starts := func() {
				exec(`delete from job_queue where job_id = $1`)
				exec(`insert into job_slots (job_id, account, run) values ($1, 'local', 1)`)
				e.execution = "of the job"
			}
			e.described = func(n int) {
				if n == c.startsAt {
					starts()
				}
			}
			r := reconcile.Reconciler{
				Ops: &operatejobs.Changes{
					Pool: pool, Types: types, Events: events, Jobs: jobstore.New(pool, events),
					Retrier: job.Retrier{Sources: job.Sources{Events: events, Registry: types}},
				},
				Client: e, Namespace: "test", By: operate.Attribution{Actor: "operator:test", Reason: "a test"},
				Calls: callstore.New(pool, events, accountstore.NewCredits(pool, events)), Assets: assetstore.New(pool, events),
			}
			found, err := r.Compare(t.Context())
			require.NoError(t, err)
			if c.startsAt == 0 {
				starts()
			}
			for _, repair := range found {
				require.NoError(t, repair.Do(t.Context()))
			}
			require.Equal(t, c.deleted, e.deleted)
		})
	}
}
