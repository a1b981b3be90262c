package cli_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
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

// engine is a namespace of a real Temporal, with a worker whose workflow code differs from this program's.
type engine struct {
	client client.Client
	queue  string
}

// newEngine starts an engine for the site's commands.
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

// otherSteps is a workflow as another version of this program might have it.
func otherSteps(ctx workflow.Context) error {
	workflow.SideEffect(ctx, func(workflow.Context) any { return 1 })
	return workflow.Sleep(ctx, 1)
}

func forever(ctx workflow.Context) error {
	return workflow.Await(ctx, func() bool { return false })
}

// a history that the code of this binary does not reproduce is found, and the diverging step is named.
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
	require.ErrorContains(t, err, "no history can be replayed")

	// Before an upgrade, the database has neither the views nor the columns of this version.
	for _, sql := range []string{
		`drop table ` + jobs.Name + ` cascade`, `drop table checkpoints cascade`,
		`alter table accounts drop column active`,
	} {
		_, err := s.pool.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	for _, filter := range [][]string{
		{"--since", "1h"},
		{"--status", "running", "--account", "local"},
		{"--status", "running,failed", "--limit", "10"},
	} {
		out, err = s.run(t, append([]string{"jobs", "replay", "--json"}, filter...)...)
		require.ErrorContains(t, err, "histories diverge", "%s: %s", filter, out)
		require.Contains(t, out, string(good), filter)
	}
	_, err = s.run(t, "jobs", "replay", "--failed")
	require.ErrorContains(t, err, "no history can be replayed", "the failed one has none")
	_, err = s.run(t, "jobs", "replay", "--account", "nobody")
	require.ErrorContains(t, err, `account "nobody" does not exist`)

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
	require.Contains(t, out, "Temporal has no workflow")
	out, err = s.run(t, "calls", "replay", "cccccccc", "--json")
	require.ErrorContains(t, err, "1 of 1 histories diverge")
	require.NoError(t, json.Unmarshal([]byte(out), &all), out)
	require.Equal(t, id.WorkflowID(1), all[0].Workflow)
	require.Equal(t, "event 6, Timer", all[0].Step, "%+v", all[0])
}

// Differences between the two stores are first shown, then repaired; after that, no difference is left.
func TestReconcileRepairsEachKindOfDifference(t *testing.T) {
	t.Parallel()
	const (
		closed    job.ID = "bbbbbbbb-0000-4000-8000-000000000001" // runs; another program closed its workflow
		forgotten job.ID = "bbbbbbbb-0000-4000-8000-000000000002" // accepted; has neither a queue entry nor a slot
		stray     job.ID = "bbbbbbbb-0000-4000-8000-000000000003" // has a slot, but no stream
		orphan    job.ID = "bbbbbbbb-0000-4000-8000-000000000004" // has a workflow, but no stream
		lost      job.ID = "bbbbbbbb-0000-4000-8000-000000000005" // runs; Temporal has no workflow for it
		waiting   job.ID = "bbbbbbbb-0000-4000-8000-000000000006" // has a queue entry, but no stream
		ahead     job.ID = "bbbbbbbb-0000-4000-8000-000000000007" // is queued; Temporal has run it to its end
		ahead2    job.ID = "bbbbbbbb-0000-4000-8000-000000000008" // is queued; Temporal runs it
		queued    job.ID = "bbbbbbbb-0000-4000-8000-000000000009" // is queued; Temporal does not know it
	)
	s := newSite(t)
	e := s.newEngine(t, forever)
	require.NoError(t, errors.Join(call.Register(s.types), credit.Register(s.types), asset.Register(s.types), audit.Register(s.types)))
	for _, id := range []job.ID{closed, lost} {
		s.append(t, id, "local", job.TypeSubmitted, job.SubmittedV1{Document: job.Document{Inline: runnable}, Targets: []string{"9"}})
		s.append(t, id, "local", job.TypeAdmitted, job.AdmittedV1{Run: 1})
	}
	for _, id := range []job.ID{forgotten, ahead, ahead2, queued} {
		s.append(t, id, "local", job.TypeSubmitted, job.SubmittedV1{Document: job.Document{Inline: runnable}, Targets: []string{"9"}})
	}
	s.fold(t)
	s.exec(t, `insert into job_admissions (account, running, queued) values ('local', 3, 4)
		on conflict (account) do update set running = 3, queued = 4`)
	s.exec(t, `insert into job_slots (job_id, account, run) values ($1, 'local', 1), ($2, 'local', 1), ($3, 'local', 1)`, closed, lost, stray)
	s.exec(t, `insert into job_queue (job_id, account, number) select unnest($1::uuid[]), 'local', 0`,
		[]string{string(waiting), string(ahead), string(ahead2), string(queued)})
	for _, id := range []job.ID{ahead, ahead2} {
		e.start(t, id.WorkflowID(1), workflows.RunGraphName)
	}
	require.NoError(t, e.client.TerminateWorkflow(t.Context(), ahead.WorkflowID(1), "", "as if it had ended"))
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
	e.start(t, runningAsset.WorkflowID(), workflows.RunModelName) // the type does not matter, only the id
	require.NoError(t, assetstore.New(s.pool, s.store).RecordScan(t.Context(), "local", doneAsset, asset.Scan{Verdict: asset.Clean}))
	s.exec(t, `delete from outbox`) // Temporal lost the workflows of these intents

	found, err := s.reconcile(t)
	require.ErrorContains(t, err, "give --yes")
	require.Equal(t, map[string]string{
		string(closed): "fail it; it can be retried", string(forgotten): "put it back into the queue", string(stray): "drop it",
		string(waiting): "drop it",
		string(ahead):   "delete the workflow; the job starts when it gets a slot",
		string(ahead2):  "delete the workflow; the job starts when it gets a slot",
		string(orphan):  "terminate " + orphan.WorkflowID(1), string(lost): "start it again",
		string(lostCall): "continue it; no request is sent twice", string(strangeCall): "terminate " + strangeCall.WorkflowID(1),
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
	require.Equal(t, 1, s.count(t, `select count(*) from events where stream = 'job-' || $1 and type = $2
		and meta->>'reason' like '%closed from outside%'`, closed, job.TypeFailed))
	require.Equal(t, 3, s.count(t, `select (select count(*) from job_queue where job_id = any($1)) + (select count(*) from job_slots
		where job_id = any($1))`, []string{string(ahead), string(ahead2), string(queued)}), "they wait, or have got a slot")
	for _, id := range []job.ID{ahead, ahead2} {
		require.Eventually(t, func() bool { // Temporal deletes in the background
			_, err := e.client.DescribeWorkflowExecution(t.Context(), id.WorkflowID(1), "")
			var gone *serviceerror.NotFound
			return errors.As(err, &gone)
		}, 5*time.Minute, 50*time.Millisecond, "the id can be used again")
	}
	for _, id := range []string{orphan.WorkflowID(1), strangeCall.WorkflowID(1)} {
		d, err := e.client.DescribeWorkflowExecution(t.Context(), id, "")
		require.NoError(t, err)
		require.Equal(t, "Terminated", d.GetWorkflowExecutionInfo().GetStatus().String())
	}
	for workflow, n := range map[string]int{
		lostCall.WorkflowID(2): 1, lostAsset.WorkflowID(): 1, runningCall.WorkflowID(2): 0,
		runningAsset.WorkflowID(): 0,
	} {
		require.Equal(t, n, s.count(t, `select count(*) from outbox where workflow_id = $1`, workflow), workflow)
	}
	for event, n := range map[string]int{
		audit.TypeRowDropped: 2, audit.TypeTermination: 4, job.TypeRequeued: 2, call.TypeRequeued: 1, asset.TypeRequeued: 1,
	} {
		require.Equal(t, n, s.count(t, `select count(*) from events where type = $1 and meta->>'reason' = 'reconciled by the doctor'
			and meta->>'actor' like 'operator:%'`, event), event)
	}
	require.Eventually(t, func() bool { // Temporal lists a workflow that was ended a moment later
		again, err := s.reconcile(t, "--yes")
		return err == nil && len(again) == 0
	}, 5*time.Minute, 100*time.Millisecond)
}

// accept appends a call in flight.
func (s *site) accept(t *testing.T, id call.ID) {
	t.Helper()
	_, err := callstore.New(s.pool, s.store, accountstore.NewCredits(s.pool, s.store)).Accept(t.Context(), call.NewCall{
		ID: id, Account: "local", Limits: call.Limits{Enabled: true, Steps: []call.Step{{Concurrent: 5}}, QueueFor: time.Hour},
		Accepted: call.AcceptedV1{Model: "sim/echo", Provider: "sim", Mode: call.Sync, API: call.V2},
	})
	require.NoError(t, err)
}

// upload appends an uploaded file.
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

// refold folds the events of commands into the views.
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
