package cli_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/audit"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/projections/jobs"
	"github.com/millrace-dev/millrace/workflows"
)

// engine is a namespace of a real Temporal, with a worker whose workflows of jobs are other than ours.
type engine struct {
	client client.Client
	queue  string
}

// newEngine starts one; the site's commands use it.
func (s *site) newEngine(t *testing.T, runGraph func(workflow.Context) error) *engine {
	t.Helper()
	address, namespace := temporaltest.Namespace(t)
	s.extra = map[string]string{"TEMPORAL_ADDRESS": address, "TEMPORAL_NAMESPACE": namespace}
	c, err := client.Dial(client.Options{HostPort: address, Namespace: namespace})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	e := &engine{client: c, queue: "other"}
	w := sdkworker.New(c, e.queue, sdkworker.Options{})
	w.RegisterWorkflowWithOptions(runGraph, workflow.RegisterOptions{Name: workflows.RunGraphName})
	w.RegisterWorkflowWithOptions(runGraph, workflow.RegisterOptions{Name: workflows.RunModelName})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	return e
}

func (e *engine) start(t *testing.T, id, name string) client.WorkflowRun {
	t.Helper()
	run, err := e.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: e.queue}, name)
	require.NoError(t, err)
	return run
}

// otherSteps is what another version of this program might do first.
func otherSteps(ctx workflow.Context) error {
	workflow.SideEffect(ctx, func(workflow.Context) any { return 1 })
	return workflow.Sleep(ctx, 1)
}

func forever(ctx workflow.Context) error {
	return workflow.Await(ctx, func() bool { return false })
}

// a history that this binary's code does not lead to again is found, and the step is named.
func TestReplayingJobsAndCallsNamesTheStepThatDiverges(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	e := s.newEngine(t, otherSteps)
	run := e.start(t, good.WorkflowID(1), workflows.RunGraphName)
	require.NoError(t, run.Get(t.Context(), nil))
	s.append(t, good, "local", job.TypeSubmitted, job.SubmittedV1{})
	s.append(t, good, "local", job.TypeAdmitted, job.AdmittedV1{Run: 1})
	s.append(t, good, "local", job.TypeStarted, job.StartedV1{Run: 1, Execution: run.GetRunID()})
	s.ended(t, bad, "local", job.SubmittedV1{}, job.TypeFailed, broke)

	out, err := s.run(t, "jobs", "replay", string(good), string(bad), "--json")
	require.ErrorContains(t, err, "1 of 2 histories diverge")
	var all []struct {
		Job                            job.ID
		Workflow, Result, Step, Detail string
	}
	require.NoError(t, json.Unmarshal([]byte(out), &all), out)
	require.Equal(t, "diverges", all[0].Result)
	require.Equal(t, good, all[0].Job)
	require.Equal(t, "event 6, Timer", all[0].Step, "%+v", all[0])
	require.Equal(t, "forgotten", all[1].Result)
	_, err = s.run(t, "jobs", "replay", string(bad))
	require.ErrorContains(t, err, "no history to replay")

	// Before an upgrade the database has the tables of the old version: neither the views of this one nor its columns.
	for _, sql := range []string{`drop table ` + jobs.Name + ` cascade`, `drop table checkpoints cascade`, `alter table accounts drop column active`} {
		_, err := s.pool.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	for _, filter := range [][]string{{"--since", "1h"}, {"--status", "running", "--account", "local"}, {"--status", "running,failed", "--limit", "10"}} {
		out, err = s.run(t, append([]string{"jobs", "replay", "--json"}, filter...)...)
		require.ErrorContains(t, err, "histories diverge", "%s: %s", filter, out)
		require.Contains(t, out, string(good), filter)
	}
	_, err = s.run(t, "jobs", "replay", "--failed")
	require.ErrorContains(t, err, "no history to replay", "the failed one has none")
	_, err = s.run(t, "jobs", "replay", "--account", "nobody")
	require.ErrorContains(t, err, `there is no account "nobody"`)

	const id call.ID = "cccccccc-0000-4000-8000-000000000001"
	require.NoError(t, call.Register(s.types))
	_, err = s.store.Append(t.Context(), eventlog.Append{
		Stream: id.Stream(), Account: "local", Expected: eventlog.AnyVersion,
		Events: []eventlog.Event{{ID: uuid.New(), Type: call.TypeAccepted, Data: call.AcceptedV1{Model: "sim/echo", Provider: "sim"}}},
	})
	require.NoError(t, err)
	require.NoError(t, e.start(t, id.WorkflowID(1), workflows.RunModelName).Get(t.Context(), nil))
	out, err = s.run(t, "calls", "show", "cccccccc", "--workflow")
	require.NoError(t, err)
	require.Contains(t, out, "call.accepted")
	require.Contains(t, out, "TimerFired", "X-32: the history stands beside the events")
	out, err = s.run(t, "jobs", "show", string(good), "--workflow")
	require.NoError(t, err)
	require.Contains(t, out, "job.started")
	require.Contains(t, out, "TimerFired")
	out, err = s.run(t, "jobs", "show", string(bad), "--workflow")
	require.NoError(t, err)
	require.Contains(t, out, "Temporal does not know workflow")
	out, err = s.run(t, "calls", "replay", "cccccccc", "--json")
	require.ErrorContains(t, err, "1 of 1 histories diverge")
	require.NoError(t, json.Unmarshal([]byte(out), &all), out)
	require.Equal(t, id.WorkflowID(1), all[0].Workflow)
	require.Equal(t, "event 6, Timer", all[0].Step, "%+v", all[0])
}

// What the two stores do not agree on is shown first, then mended, and then there is nothing left.
func TestReconcileRepairsEachKindOfDifference(t *testing.T) {
	t.Parallel()
	const (
		closed    job.ID = "bbbbbbbb-0000-4000-8000-000000000001" // runs; its workflow was closed from outside
		forgotten job.ID = "bbbbbbbb-0000-4000-8000-000000000002" // accepted, and in neither queue nor slot
		stray     job.ID = "bbbbbbbb-0000-4000-8000-000000000003" // a slot that no stream is behind
		orphan    job.ID = "bbbbbbbb-0000-4000-8000-000000000004" // a workflow that no stream is behind
		lost      job.ID = "bbbbbbbb-0000-4000-8000-000000000005" // runs; Temporal has no workflow of it
		waiting   job.ID = "bbbbbbbb-0000-4000-8000-000000000006" // a place in the queue that no stream is behind
	)
	s := newSite(t)
	e := s.newEngine(t, forever)
	require.NoError(t, errors.Join(call.Register(s.types), credit.Register(s.types), asset.Register(s.types), audit.Register(s.types)))
	for _, id := range []job.ID{closed, lost} {
		s.append(t, id, "local", job.TypeSubmitted, job.SubmittedV1{Document: job.Document{Inline: runnable}, Targets: []string{"9"}})
		s.append(t, id, "local", job.TypeAdmitted, job.AdmittedV1{Run: 1})
	}
	s.append(t, forgotten, "local", job.TypeSubmitted, job.SubmittedV1{Document: job.Document{Inline: runnable}, Targets: []string{"9"}})
	s.fold(t)
	s.exec(t, `insert into job_lanes (account, running, queued) values ('local', 3, 1)
		on conflict (account) do update set running = 3, queued = 1`)
	s.exec(t, `insert into job_slots (job_id, account, run) values ($1, 'local', 1), ($2, 'local', 1), ($3, 'local', 1)`, closed, lost, stray)
	s.exec(t, `insert into job_queue (job_id, account, number) values ($1, 'local', 0)`, waiting)
	e.start(t, closed.WorkflowID(1), workflows.RunGraphName)
	require.NoError(t, e.client.TerminateWorkflow(t.Context(), closed.WorkflowID(1), "", "from outside"))
	e.start(t, orphan.WorkflowID(1), workflows.RunGraphName)
	e.awaitListed(t, orphan.WorkflowID(1))
	lostCall, runningCall, strangeCall := call.NewID(), call.NewID(), call.NewID()
	for _, id := range []call.ID{lostCall, runningCall} {
		s.accept(t, id)
	}
	e.start(t, runningCall.WorkflowID(1), workflows.RunModelName)
	e.start(t, strangeCall.WorkflowID(1), workflows.RunModelName)
	e.awaitListed(t, strangeCall.WorkflowID(1))
	lostAsset, runningAsset, doneAsset := s.upload(t, "lost"), s.upload(t, "running"), s.upload(t, "done")
	e.start(t, runningAsset.WorkflowID(), workflows.RunModelName) // of any kind: its id counts
	require.NoError(t, assetstore.New(s.pool, s.store).RecordScan(t.Context(), "local", doneAsset, asset.Scan{Verdict: asset.Clean}))
	s.exec(t, `delete from outbox`) // what it said was lost with the engine

	found, err := s.reconcile(t)
	require.ErrorContains(t, err, "give --yes")
	require.Equal(t, map[string]string{
		string(closed): "fail it; it can be retried", string(forgotten): "put it back", string(stray): "drop it", string(waiting): "drop it",
		string(orphan): "terminate " + orphan.WorkflowID(1), string(lost): "start it again",
		string(lostCall): "go on with it; nothing is sent twice", string(strangeCall): "terminate " + strangeCall.WorkflowID(1),
		string(lostAsset): "ingest it again",
	}, found)
	require.Equal(t, 3, s.count(t, `select count(*) from job_slots`), "nothing was changed")

	mended, err := s.reconcile(t, "--yes")
	require.NoError(t, err)
	require.Equal(t, found, mended, "each is reported")
	s.refold(t)
	require.Equal(t, job.Failed, s.job(t, closed).State)
	require.Zero(t, s.count(t, `select count(*) from job_slots where job_id in ($1, $2)`, stray, closed))
	require.Zero(t, s.count(t, `select count(*) from job_queue where job_id = $1`, waiting))
	require.Equal(t, 1, s.count(t, `select count(*) from job_slots where job_id = $1`, forgotten)+
		s.count(t, `select count(*) from job_queue where job_id = $1`, forgotten))
	require.Positive(t, s.count(t, `select count(*) from outbox where workflow_id like 'job-' || $1 || '%'`, lost))
	require.Equal(t, 1, s.count(t, `select count(*) from events where stream = 'job-' || $1 and type = $2 and meta->>'reason' like '%closed from outside%'`, closed, job.TypeFailed))
	for _, id := range []string{orphan.WorkflowID(1), strangeCall.WorkflowID(1)} {
		d, err := e.client.DescribeWorkflowExecution(t.Context(), id, "")
		require.NoError(t, err)
		require.Equal(t, "Terminated", d.GetWorkflowExecutionInfo().GetStatus().String())
	}
	for workflow, n := range map[string]int{lostCall.WorkflowID(2): 1, lostAsset.WorkflowID(): 1, runningCall.WorkflowID(2): 0, runningAsset.WorkflowID(): 0} {
		require.Equal(t, n, s.count(t, `select count(*) from outbox where workflow_id = $1`, workflow), workflow)
	}
	for event, n := range map[string]int{
		audit.TypeRowDropped: 2, audit.TypeTermination: 2, job.TypeRequeued: 2, call.TypeRequeued: 1, asset.TypeRequeued: 1,
	} {
		require.Equal(t, n, s.count(t, `select count(*) from events where type = $1 and meta->>'reason' = 'reconciled by the doctor' and meta->>'actor' like 'operator:%'`, event), event)
	}
	again, err := s.reconcile(t, "--yes")
	require.NoError(t, err)
	require.Empty(t, again)
}

// accept has a call in flight.
func (s *site) accept(t *testing.T, id call.ID) {
	t.Helper()
	_, err := callstore.New(s.pool, s.store, accountstore.NewCredits(s.pool, s.store)).Accept(t.Context(), call.NewCall{
		ID: id, Account: "local", Limits: call.Limits{Enabled: true, Steps: []call.Step{{Concurrent: 5}}, QueueFor: time.Hour},
		Accepted: call.AcceptedV1{Model: "sim/echo", Provider: "sim", Mode: call.Sync, API: call.V2},
	})
	require.NoError(t, err)
}

// upload accepts a file.
func (s *site) upload(t *testing.T, name string) asset.ID {
	t.Helper()
	made, err := assetstore.New(s.pool, s.store).Create(t.Context(), asset.New{
		Account: "local", Hash: blob.Ref{name[0]}, Size: 12, ContentType: "image/png", Origin: asset.Uploaded,
	})
	require.NoError(t, err)
	return made.Asset.ID
}

func (s *site) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := s.pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func (s *site) count(t *testing.T, sql string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, s.pool.QueryRow(t.Context(), sql, args...).Scan(&n))
	return n
}

// refold folds what commands appended.
func (s *site) refold(t *testing.T) {
	t.Helper()
	require.NoError(t, s.pool.QueryRow(t.Context(), `select max(position) from events`).Scan(&s.last))
	s.fold(t)
}

func (s *site) reconcile(t *testing.T, args ...string) (map[string]string, error) {
	t.Helper()
	out, err := s.run(t, append([]string{"doctor", "--reconcile", "--json"}, args...)...)
	var got struct {
		Repairs []struct {
			Kind, ID, Action, Error string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &got), "%s, %v", out, err)
	found := map[string]string{}
	for _, r := range got.Repairs {
		require.Empty(t, r.Error, r.Kind+" "+r.ID)
		found[r.ID] = r.Action
	}
	return found, err
}

// awaitListed waits until a started workflow is found by a list.
func (e *engine) awaitListed(t *testing.T, id string) {
	t.Helper()
	list := &workflowservice.CountWorkflowExecutionsRequest{Query: "WorkflowId = '" + id + "' AND ExecutionStatus = 'Running'"}
	require.Eventually(t, func() bool {
		n, err := e.client.CountWorkflow(t.Context(), list)
		return err == nil && n.GetCount() == 1
	}, 5*time.Minute, 50*time.Millisecond)
}
