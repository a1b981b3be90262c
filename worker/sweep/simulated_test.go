package sweep_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/sim/seeded"
	"github.com/millrace-dev/millrace/worker/sweep"
)

const (
	troubleFor = 5 * time.Minute // how long statements and requests fail and workflows are lost
	settledBy  = 4 * time.Hour   // by then every job has ended; restarts of one job may be an hour apart
	perAccount = 3               // slots
)

// errStatement is the failure of a statement. Whether it was carried out is not known.
var errStatement = fault.New(fault.Unavailable, "", "the connection to the database broke")

// simulated is a job with its workflow.
type simulated struct {
	ref      job.RunRef
	queued   bool      // it waits for a slot
	admitted time.Time // when it got its slot
	intent   bool      // its start waits in the outbox
	known    bool      // Temporal has its workflow
	status   enums.WorkflowExecutionStatus
	execs    int    // executions of its workflow
	lost     bool   // it has lost an execution, or the record of its end
	outside  bool   // its workflow was terminated
	ended    string // "" = it has not ended
}

// world holds the jobs of PostgreSQL and the workflows of Temporal, which several sweepers compare.
type world struct {
	client.Client
	sweep.Slots
	t *testing.T

	mu     sync.Mutex // guards all below
	random *rand.Rand
	faulty bool
	jobs   []*simulated // in order of their ids
}

// takes waits as long as a statement or a request takes. failed reports whether it fails, and applied whether it has an effect.
func (w *world) takes(ctx context.Context) (applied, failed bool) {
	w.mu.Lock()
	takes, failed := seeded.Between(w.random, 0, 4*time.Millisecond), w.faulty && w.random.IntN(8) == 0
	if w.faulty && w.random.IntN(50) == 0 {
		takes = seeded.Between(w.random, time.Second, time.Minute)
	}
	applied = !failed || w.random.IntN(2) == 0
	w.mu.Unlock()
	select {
	case <-time.After(takes):
		return applied, failed
	case <-ctx.Done():
		return false, true
	}
}

// statement calls change as a whole unless it fails.
func (w *world) statement(ctx context.Context, change func()) error {
	applied, failed := w.takes(ctx)
	if applied {
		w.mu.Lock()
		defer w.mu.Unlock()
		change()
	}
	if failed {
		return errStatement
	}
	return nil
}

func (w *world) find(id job.ID) *simulated {
	at := slices.IndexFunc(w.jobs, func(j *simulated) bool { return j.ref.Job == id })
	return w.jobs[at]
}

// DescribeWorkflowExecution implements client.Client.
func (w *world) DescribeWorkflowExecution(ctx context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	var answer *workflowservice.DescribeWorkflowExecutionResponse
	known := false
	failed := w.statement(ctx, func() {
		for _, j := range w.jobs {
			if j.ref.Job.WorkflowID(j.ref.Run) == id && j.known {
				known = true
				answer = &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: j.status}}
			}
		}
	})
	switch {
	case failed != nil:
		return nil, failed
	case !known:
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	return answer, nil
}

// RunningAfter implements sweep.Slots.
func (w *world) RunningAfter(ctx context.Context, after job.ID, age time.Duration, limit int) (found []job.RunRef, err error) {
	err = w.statement(ctx, func() {
		for _, j := range w.jobs {
			if j.ref.Job > after && !j.queued && j.ended == "" && !j.intent && time.Since(j.admitted) >= age && len(found) < limit {
				found = append(found, j.ref)
			}
		}
	})
	return found, err
}

// Requeue implements sweep.Slots.
func (w *world) Requeue(ctx context.Context, id job.ID, _, reason string) error {
	gone := false
	err := w.statement(ctx, func() {
		j := w.find(id)
		if gone = j.ended != ""; gone {
			return
		}
		if !j.lost {
			w.t.Errorf("job %s is started again (%s) although its workflow was never lost", id, reason)
		}
		j.intent = true
	})
	if err == nil && gone {
		return fault.New(fault.NotFound, "", "the job has ended")
	}
	return err
}

// ForgetMarks implements sweep.Slots.
func (w *world) ForgetMarks(ctx context.Context) error { return w.statement(ctx, func() {}) }

// Queued implements sweep.Queues.
func (w *world) Queued(ctx context.Context, after string, limit int) (accounts []string, err error) {
	err = w.statement(ctx, func() {
		for _, j := range w.jobs {
			if j.queued && j.ref.Account > after && !slices.Contains(accounts, j.ref.Account) {
				accounts = append(accounts, j.ref.Account)
			}
		}
		slices.Sort(accounts)
		accounts = accounts[:min(limit, len(accounts))]
	})
	return accounts, err
}

// Admit implements sweep.Queues.
func (w *world) Admit(ctx context.Context, account string, bounds job.Bounds) error {
	return w.statement(ctx, func() { w.admit(account, bounds.Slots) })
}

// admit gives free slots of an account to its jobs in their order.
func (w *world) admit(account string, slots int) {
	running := 0
	for _, j := range w.jobs {
		if j.ref.Account == account && !j.queued && j.ended == "" {
			running++
		}
	}
	for _, j := range w.jobs {
		if j.ref.Account == account && j.queued && running < slots {
			j.queued, j.admitted, j.intent = false, time.Now(), true
			running++
		}
	}
	if running > perAccount {
		w.t.Errorf("account %s has %d slots", account, running)
	}
}

// End implements sweep.Ender: only a job whose workflow was closed from outside is ended by a sweeper.
func (w *world) End(ctx context.Context, e job.Ending) (ended job.Ended, err error) {
	err = w.statement(ctx, func() {
		j := w.find(e.ID)
		if !j.outside {
			w.t.Errorf("job %s is failed although its workflow was not closed from outside", e.ID)
		}
		ended.Applied = j.ended == ""
		w.end(j, "failed", true)
	})
	return ended, err
}

// Bounds implements job.Tiers.
func (*world) Bounds(context.Context, string) (job.Bounds, error) {
	return job.Bounds{Slots: perAccount}, nil
}

// end ends a job. The next jobs of its account may have to wait for a sweep.
func (w *world) end(j *simulated, how string, admits bool) {
	if j.ended == "" {
		j.ended = how
	}
	if admits {
		w.admit(j.ref.Account, perAccount)
	}
}

// live is the life of one job: its intent is delivered, its workflow runs, and is lost in the faulty time.
func (w *world) live(ctx context.Context, j *simulated) {
	for ctx.Err() == nil {
		w.mu.Lock()
		pause := seeded.Between(w.random, time.Millisecond, 20*time.Second)
		w.mu.Unlock()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		w.mu.Lock()
		open := j.known && j.status == running
		switch {
		case j.ended != "":
			w.mu.Unlock()
			return
		case j.intent && !open: // the starter delivers it
			j.intent, j.known, j.status = false, true, running
			j.execs++
		case j.intent:
			j.intent = false // the workflow runs
		case !open:
		case w.faulty && w.random.IntN(4) == 0: // Temporal loses it
			j.known, j.lost = false, true
		case w.faulty && w.random.IntN(8) == 0: // someone terminates it
			j.status, j.outside = terminated, true
		case w.faulty && w.random.IntN(6) == 0: // it ends, and the database loses the end
			j.status, j.lost = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, true
		case w.random.IntN(3) == 0:
			j.status = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
			w.end(j, "completed", w.random.IntN(2) == 0)
		}
		w.mu.Unlock()
	}
}

// Sweepers of several processes look after jobs whose workflows are lost, terminated, or end without a record, over a database and a
// Temporal that are slow and fail. Every job ends, only those without a workflow are touched, and no account gets more slots than it
// has.
func TestSimulatedSweep(t *testing.T) {
	t.Parallel()
	seeded.Run(t, func(t *testing.T, random *rand.Rand) {
		ctx, stop := context.WithTimeout(t.Context(), settledBy)
		defer stop()
		w := &world{t: t, random: random, faulty: true}
		for n := range 1 + random.IntN(20) {
			w.jobs = append(w.jobs, &simulated{queued: true, ref: job.RunRef{
				Job: job.ID(fmt.Sprintf("job-%02d", n)), Account: string(rune('a' + random.IntN(3))), Run: 1,
			}})
		}
		var sweepers, jobs sync.WaitGroup
		for range 1 + random.IntN(3) {
			s := sweep.JobSweeper{Client: w, Slots: w, Queues: w, Ender: w, Tiers: w, Log: slog.New(slog.DiscardHandler)}
			sweepers.Go(func() { s.Run(ctx) })
		}
		time.AfterFunc(troubleFor, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.faulty = false
		})
		for _, j := range w.jobs {
			jobs.Go(func() { w.live(ctx, j) })
		}
		jobs.Wait()
		for _, j := range w.jobs {
			if j.ended == "" {
				t.Errorf("job has not ended: %+v", *j)
			}
			if j.ended == "failed" && !j.outside {
				t.Errorf("job failed for no reason of its own: %+v", *j)
			}
		}
		stop()
		sweepers.Wait()
		synctest.Wait()
	})
}
