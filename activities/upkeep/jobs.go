package upkeep

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// JobExpiry runs the transactions of job retention.
type JobExpiry interface {
	Overdue(ctx context.Context, states []job.State, before time.Time, after job.Overdue, limit int) ([]job.Overdue, error)
	ExpireWaiting(ctx context.Context, account string, ids []job.ID) (int, error)
	// Events returns all events of a job that are in the log.
	Events(ctx context.Context, id job.ID) ([]eventlog.Recorded, error)
	Retire(ctx context.Context, r job.Retirement) error
	Prune(ctx context.Context, views []string, limit int) (int, error)
	ForgetArchives(ctx context.Context, before time.Time, limit int) (int, error)
}

// JobPolicy is the retention policy of jobs.
type JobPolicy struct {
	Retention time.Duration // from submission; 0 keeps jobs for ever
	Erase     bool          // do not archive the events of retired jobs
	Archives  time.Duration // after which an archive is deleted; 0 keeps archives for ever
	Views     []string      // views that must have applied a retirement before events are removed from the log
	Now       func() time.Time
}

func (p JobPolicy) now() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}

// JobSweep is the result of one sweep of jobs.
type JobSweep struct {
	Expired int // jobs that were ended in the queue
	Retired int
	Pruned  int // jobs whose events were removed from the log
	Failed  int // jobs that are left to the next sweep

	Forgotten int // jobs whose archive was deleted
}

const (
	jobPage    = 100  // jobs that are read, or pruned, together
	sweepLimit = 5000 // bound of the jobs of one sweep
)

// ExpireJobs ends jobs that waited in the queue past their retention, retires ended jobs past it, and removes the
// events of jobs that every view has removed. It deletes archives past their own retention. It does not change
// running jobs. A job that cannot be retired is logged and does not stop the sweep.
func (r *Retention) ExpireJobs(ctx context.Context) (JobSweep, error) {
	var done JobSweep
	if r.Policy.Retention <= 0 {
		return done, nil
	}
	before := r.Policy.now().Add(-r.Policy.Retention)
	for _, step := range []func(context.Context, time.Time, *JobSweep) error{r.expireWaiting, r.retireEnded, r.prune, r.deleteArchives} {
		if err := step(ctx, before, &done); err != nil {
			return done, attempt.Error(err)
		}
	}
	if done != (JobSweep{}) {
		r.Log.Info("retention sweep of jobs finished", "expired", done.Expired, "retired", done.Retired, "pruned", done.Pruned, "failed",
			done.Failed, "archives_forgotten", done.Forgotten)
	}
	return done, nil
}

// overdue calls visit for the jobs submitted before a time, page by page.
func (r *Retention) overdue(ctx context.Context, states []job.State, before time.Time, visit func([]job.Overdue) error) error {
	var last job.Overdue
	for seen := 0; seen < sweepLimit; {
		page, err := r.Jobs.Overdue(ctx, states, before, last, jobPage)
		if err != nil {
			return fmt.Errorf("look for jobs past their retention: %w", err)
		}
		if len(page) == 0 {
			return nil
		}
		if err := visit(page); err != nil {
			return err
		}
		activity.RecordHeartbeat(ctx)
		seen, last = seen+len(page), page[len(page)-1]
	}
	return nil
}

func (r *Retention) expireWaiting(ctx context.Context, before time.Time, done *JobSweep) error {
	return r.overdue(ctx, []job.State{job.Queued}, before, func(page []job.Overdue) error {
		byAccount := map[string][]job.ID{}
		for _, o := range page {
			byAccount[o.Job.Account] = append(byAccount[o.Job.Account], o.Job.ID)
		}
		for account, ids := range byAccount {
			n, err := r.Jobs.ExpireWaiting(ctx, account, ids)
			done.Expired += n
			if err := r.reportFailure(ctx, err, done, "account", account); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *Retention) retireEnded(ctx context.Context, before time.Time, done *JobSweep) error {
	return r.overdue(ctx, job.FinalStates(), before, func(page []job.Overdue) error {
		for _, o := range page {
			if o.Job.ExpiresAt(r.Policy.Retention).After(r.Policy.now()) {
				continue // the job ended late
			}
			fresh, err := r.retire(ctx, o.Job)
			if fresh {
				done.Retired++
			}
			if err := r.reportFailure(ctx, err, done, "job", string(o.Job.ID)); err != nil {
				return err
			}
		}
		return nil
	})
}

// reportFailure logs a failure that concerns one job or account. It returns a failure that would concern all of them.
func (r *Retention) reportFailure(ctx context.Context, err error, done *JobSweep, kind, id string) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil, fault.Is(err, fault.Unavailable):
		return err
	}
	done.Failed++
	r.Log.Error("retention failed; skipped", kind, id, "error", err)
	return nil
}

// retire archives the events of an ended job, unless the policy is to erase them, and records the retirement. It
// returns false for a job that another sweep has retired and that the view still contains.
func (r *Retention) retire(ctx context.Context, j job.Job) (bool, error) {
	events, err := r.Jobs.Events(ctx, j.ID)
	if err != nil || len(events) == 0 || events[len(events)-1].Type == job.TypeRetired {
		return false, err
	}
	out := job.Retirement{ID: j.ID, Account: j.Account, Version: events[len(events)-1].Version}
	if !r.Policy.Erase {
		if err := r.archive(ctx, events, &out); err != nil {
			return false, err
		}
	}
	err = r.Jobs.Retire(ctx, out)
	return err == nil, err
}

func (r *Retention) archive(ctx context.Context, events []eventlog.Recorded, out *job.Retirement) error {
	var packed bytes.Buffer
	if err := job.WriteArchive(&packed, events); err != nil {
		return err
	}
	var err error
	if out.Archive, err = blob.PutBytes(ctx, r.Archives, packed.Bytes()); err != nil {
		return fmt.Errorf("store the archive of job %s: %w", out.ID, err)
	}
	name, err := job.DocumentBlob(events[0])
	if err != nil || name == "" {
		return err
	}
	out.Document, err = blob.ParseRef(name)
	return err
}

// prune removes events page by page.
func (r *Retention) prune(ctx context.Context, _ time.Time, done *JobSweep) error {
	for done.Pruned < sweepLimit {
		n, err := r.Jobs.Prune(ctx, r.Policy.Views, jobPage)
		done.Pruned += n
		if err != nil || n < jobPage {
			return err
		}
		activity.RecordHeartbeat(ctx, *done)
	}
	return nil
}

// deleteArchives deletes archives page by page.
func (r *Retention) deleteArchives(ctx context.Context, _ time.Time, done *JobSweep) error {
	if r.Policy.Archives <= 0 {
		return nil
	}
	before := r.Policy.now().Add(-r.Policy.Archives)
	for done.Forgotten < sweepLimit {
		n, err := r.Jobs.ForgetArchives(ctx, before, jobPage)
		done.Forgotten += n
		if err != nil || n < jobPage {
			return err
		}
		activity.RecordHeartbeat(ctx, *done)
	}
	return nil
}
