package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/inspect"
	"github.com/millrace-dev/millrace/internal/job"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/workflows"
)

// repair is one thing that PostgreSQL and Temporal do not agree on, and what is done about it. The two
// are two stores: a restored backup of one finds the other older, newer or empty.
type repair struct {
	Job     job.ID `json:"job"`
	Finding string `json:"finding"`
	Action  string `json:"action"`
	Error   string `json:"error,omitempty"`

	do func(context.Context) error
}

// reconciler compares the two stores.
type reconciler struct {
	ops    *operations
	client client.Client
	tiers  job.Tiers
	by     act
}

// reconcile shows what the two stores do not agree on, and with sure mends it.
func (s *shell) reconcile(ctx context.Context, sure, asJSON bool) error {
	pool, err := s.database(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	c, err := s.temporal()
	if err != nil {
		return err
	}
	defer c.Close()
	events, err := eventStore(pool)
	if err != nil {
		return err
	}
	types, err := eventTypes()
	if err != nil {
		return err
	}
	jobs := postgres.NewJobs(pool, events)
	r := reconciler{
		ops:    &operations{pool: pool, types: types, events: events, jobs: jobs, retrier: job.Retrier{Sources: job.Sources{Events: events, Registry: types}}},
		client: c, tiers: tiers{cfg: s.cfg, accounts: postgres.NewAccounts(pool).Account}, by: act{Actor: operator(), Reason: "reconciled by the doctor"},
	}
	found, err := r.compare(ctx)
	if err != nil {
		return err
	}
	failed := 0
	if step := progress(s.err, "reconcile"); sure {
		for i := range found {
			if err := found[i].do(ctx); err != nil {
				failed++
				found[i].Error = firstLine(err)
			}
			if step != nil {
				step(int64(i+1), int64(len(found)))
			}
		}
	}
	return errors.Join(s.printRepairs(found, asJSON), reconciled(len(found), failed, sure))
}

func reconciled(found, failed int, sure bool) error {
	switch {
	case failed > 0:
		return fmt.Errorf("%d of %d could not be mended", failed, found)
	case found > 0 && !sure:
		return fmt.Errorf("nothing was changed: give --yes to mend these %d", found)
	}
	return nil
}

func (s *shell) printRepairs(found []repair, asJSON bool) error {
	if asJSON {
		if found == nil {
			found = []repair{}
		}
		return s.printJSON(map[string]any{"repairs": found})
	}
	if len(found) == 0 {
		_, err := fmt.Fprintln(s.out, "PostgreSQL and Temporal agree: nothing to do")
		return err
	}
	var rows [][]inspect.Cell
	for _, r := range found {
		rows = append(rows, []inspect.Cell{{Text: string(r.Job)}, {Text: r.Finding}, {Text: r.Action, Style: inspect.Bold}, {Text: r.Error, Style: inspect.Bad}})
	}
	p := s.printer()
	p.Table([]string{"JOB", "FOUND", "ACTION", ""}, rows)
	return p.Err()
}

// compare looks at both stores from both sides. The first that is found of a job counts: a stray slot is
// dropped and not started.
func (r reconciler) compare(ctx context.Context) ([]repair, error) {
	var all []repair
	known := map[job.ID]bool{}
	for _, look := range []func(context.Context) ([]repair, error){r.strays, r.forgotten, r.unstarted, r.orphans} {
		found, err := look(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(found, func(r repair) bool { return known[r.Job] })...)
		for _, r := range all {
			known[r.Job] = true
		}
	}
	return all, nil
}

// strays are slots and places in the queue of jobs that the log does not have, or has ended.
func (r reconciler) strays(ctx context.Context) ([]repair, error) {
	found, err := r.ops.jobs.Strays(ctx)
	if err != nil {
		return nil, err
	}
	var all []repair
	for _, ref := range append(found.Slots, found.Queued...) {
		all = append(all, repair{
			Job: ref.Job, Finding: "a slot or a place in the queue without an open stream", Action: "drop it",
			do: func(ctx context.Context) error {
				return r.ops.jobs.Drop(ctx, postgres.Strays{Slots: []job.RunRef{ref}})
			},
		})
	}
	return all, nil
}

// reconcilePage is how many rows one query reads.
const reconcilePage = 500

// forgotten are accepted jobs that neither wait nor hold a slot.
func (r reconciler) forgotten(ctx context.Context) ([]repair, error) {
	var all []repair
	for after := job.ID(""); ; {
		page, err := r.ops.jobs.Unplaced(ctx, after, reconcilePage)
		if err != nil {
			return nil, err
		}
		for _, ref := range page {
			after = ref.Job
			all = append(all, repair{
				Job: ref.Job, Finding: "accepted, and neither waits nor runs", Action: "put it back",
				do: func(ctx context.Context) error {
					state, _, err := r.ops.retrier.Sources.Read(ctx, ref.Job)
					if err != nil {
						return err
					}
					_, err = r.ops.jobs.Replace(ctx, state)
					return err
				},
			})
		}
		if len(page) < reconcilePage {
			return all, nil
		}
	}
}

// unstarted are held slots that no workflow runs.
func (r reconciler) unstarted(ctx context.Context) ([]repair, error) {
	var all []repair
	for after := job.ID(""); ; {
		page, err := r.ops.jobs.HeldAfter(ctx, after, 0, reconcilePage)
		if err != nil {
			return nil, err
		}
		for _, ref := range page {
			after = ref.Job
			found, err := r.slot(ctx, ref)
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

func (r reconciler) slot(ctx context.Context, ref job.RunRef) ([]repair, error) {
	d, err := r.client.DescribeWorkflowExecution(ctx, ref.Job.WorkflowID(ref.Run), "")
	var absent *serviceerror.NotFound
	switch {
	case errors.As(err, &absent):
		return []repair{{
			Job: ref.Job, Finding: "runs, and Temporal has no workflow of it", Action: "start it again",
			do: func(ctx context.Context) error {
				_, err := r.ops.jobs.Requeue(ctx, ref.Job, r.by.Actor, r.by.Reason)
				return err
			},
		}}, nil
	case err != nil:
		return nil, fmt.Errorf("ask Temporal for the workflow of job %s: %w", ref.Job, err)
	}
	switch status := d.GetWorkflowExecutionInfo().GetStatus(); status {
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW, enums.WORKFLOW_EXECUTION_STATUS_PAUSED:
		return nil, nil
	default:
		return []repair{{
			Job: ref.Job, Finding: "runs, and its workflow has ended: " + status.String(), Action: "fail it; it can be retried",
			do: func(ctx context.Context) error { return r.fail(ctx, ref, status.String()) },
		}}, nil
	}
}

func (r reconciler) fail(ctx context.Context, ref job.RunRef, status string) error {
	bounds, err := r.tiers.Bounds(ctx, ref.Account)
	if err != nil {
		return err
	}
	_, err = r.ops.jobs.End(ctx, job.Ending{
		ID: ref.Job, Account: ref.Account, Run: ref.Run, Type: job.TypeFailed, Bounds: bounds, Actor: r.by.Actor,
		Reason: r.by.Reason + ": its workflow was closed from outside: " + status,
		Fact: job.FailedV1{Run: ref.Run, Failure: job.Failure{
			Code: "upstream_error", Message: "the run was lost; submit the job again", ExceptionType: "ServiceError",
		}},
	})
	return err
}

// orphans are workflows of jobs that the log does not have, or has ended: those that a restored database
// is too old to know.
func (r reconciler) orphans(ctx context.Context) ([]repair, error) {
	var all []repair
	var token []byte
	for {
		page, err := r.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running'", workflows.RunGraphName), NextPageToken: token, PageSize: reconcilePage,
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

func (r reconciler) orphan(ctx context.Context, workflow string) ([]repair, error) {
	if len(workflow) < len("job-")+36 {
		return nil, nil
	}
	id := job.ID(workflow[4 : 4+36])
	var closed bool
	err := r.ops.pool.QueryRow(ctx, `select closed from streams where id = $1`, id.Stream()).Scan(&closed)
	absent := errors.Is(err, pgx.ErrNoRows)
	if err != nil && !absent {
		return nil, postgres.Classify(err, "look for the stream of "+workflow)
	}
	if !absent {
		return nil, nil // a workflow of an ended job notices by itself
	}
	return []repair{{
		Job: id, Finding: "a workflow runs of a job that the log does not have", Action: "terminate " + workflow,
		do: func(ctx context.Context) error {
			err := r.client.TerminateWorkflow(ctx, workflow, "", "the event log has no such job")
			if isGone(err) {
				return nil
			}
			return err
		},
	}}, nil
}

func isGone(err error) bool {
	var gone *serviceerror.NotFound
	return errors.As(err, &gone)
}

// blobs looks for bytes that assets name and the store has not, in a sample of the newest, and for the
// store itself.
func (s *shell) checkBlobs(ctx context.Context, d databaseDoctor) (finding, error) {
	store, err := s.existingBlobs(ctx, d.pool)
	if errors.Is(err, errNoDataDir) {
		return finding{Status: healthy, Detail: "not looked at: the data directory is not on this machine"}, nil
	}
	if err != nil {
		return finding{}, err
	}
	rows, err := d.pool.Query(ctx, `select distinct hash from (select hash from files order by created_at desc limit $1) f`, sampledBlobs)
	if err != nil {
		return finding{}, postgres.Classify(err, "read the newest files")
	}
	hashes, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return finding{}, postgres.Classify(err, "read the newest files")
	}
	missing := 0
	for _, hash := range hashes {
		_, err := store.Stat(ctx, [32]byte(hash))
		switch {
		case fault.Is(err, fault.NotFound):
			missing++
		case err != nil:
			return finding{}, err
		}
	}
	f := finding{Status: healthy, Detail: fmt.Sprintf("the bytes of the %d newest files are there", len(hashes))}
	if missing > 0 {
		f.Status, f.Detail = failing, fmt.Sprintf("the bytes of %d of the %d newest files are missing", missing, len(hashes))
	}
	return f.with("restore the blob store to a time not before the database's; files whose bytes are gone answer 404"), nil
}

// sampledBlobs is how many files are looked at: enough to see a store that was not restored, or the wrong one.
const sampledBlobs = 200
