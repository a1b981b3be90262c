package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// repair is one thing that PostgreSQL and Temporal do not agree on, and what is done about it. The two
// are two stores: a restored backup of one finds the other older, newer or empty.
type repair struct {
	Kind    string `json:"kind"` // job, call, asset
	ID      string `json:"id"`
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
	calls  *postgres.Calls
	assets *postgres.Assets
	by     operate.Attribution
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
		client: c, tiers: tiers{cfg: s.cfg, accounts: postgres.NewAccounts(pool).Account}, by: operate.Attribution{Actor: operator(), Reason: "reconciled by the doctor"},
		calls: postgres.NewCalls(pool, events, postgres.NewCredits(pool, events)), assets: postgres.NewAssets(pool, events),
	}
	found, err := r.compare(ctx)
	if err != nil {
		return err
	}
	failed := 0
	if step := progress(s.err, "reconcile", "repairs"); sure {
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
		rows = append(rows, []inspect.Cell{{Text: r.Kind + " " + r.ID}, {Text: r.Finding}}, []inspect.Cell{{}, {Text: "→ " + r.Action, Style: inspect.Bold}})
		if r.Error != "" {
			rows = append(rows, []inspect.Cell{{Text: "    not mended: " + r.Error, Style: inspect.Bad}})
		}
	}
	p := s.printer()
	p.Table([]string{"OF", "FOUND"}, rows)
	return p.Err()
}

// compare looks at both stores from both sides. The first that is found of a job, a call or an asset counts: a
// stray slot is dropped and not started.
func (r reconciler) compare(ctx context.Context) ([]repair, error) {
	var all []repair
	known := map[string]bool{}
	for _, look := range []func(context.Context) ([]repair, error){r.strays, r.forgotten, r.unstarted, r.lostCalls, r.lostIngestions, r.orphans} {
		found, err := look(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(found, func(r repair) bool { return known[r.ID] })...)
		for _, r := range all {
			known[r.ID] = true
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
			Kind: "job", ID: string(ref.Job), Finding: "a slot or a place in the queue without an open stream", Action: "drop it",
			do: func(ctx context.Context) error {
				return r.ops.jobs.Drop(ctx, postgres.Strays{Slots: []job.RunRef{ref}}, r.by.Actor, r.by.Reason)
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
				Kind: "job", ID: string(ref.Job), Finding: "accepted, and neither waits nor runs", Action: "put it back",
				do: func(ctx context.Context) error {
					state, _, err := r.ops.retrier.Sources.Read(ctx, ref.Job)
					if err != nil {
						return err
					}
					_, err = r.ops.jobs.Replace(ctx, state, r.by.Actor, r.by.Reason)
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
	switch state, err := r.engine(ctx, ref.Job.WorkflowID(ref.Run)); {
	case err != nil || state == running:
		return nil, err
	case state == unknown, state == completed: // by a workflow that recorded an end which was lost
		return []repair{{
			Kind: "job", ID: string(ref.Job), Finding: withoutWorkflow("runs", state), Action: "start it again",
			do: func(ctx context.Context) error {
				_, err := r.ops.jobs.Requeue(ctx, ref.Job, r.by.Actor, r.by.Reason)
				return err
			},
		}}, nil
	default:
		return []repair{{
			Kind: "job", ID: string(ref.Job), Finding: withoutWorkflow("runs", state), Action: "fail it; it can be retried",
			do: func(ctx context.Context) error { return r.fail(ctx, ref, state) },
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
