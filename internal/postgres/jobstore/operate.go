package jobstore

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/audit"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/admission"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Retries returns the retries of a job, oldest first.
func (s *Store) Retries(ctx context.Context, origin job.ID) ([]job.ID, error) {
	return postgres.Collect(ctx, s.pool, "list retries of job "+string(origin), pgx.RowTo[job.ID],
		`select r.job_id::text from job_retries r
		join events e on e.stream = 'job-' || r.job_id and e.version = 1 where r.origin = $1 order by e.position`, origin)
}

// HasSlot returns NotFound (not_running) unless a job has a slot.
func (s *Store) HasSlot(ctx context.Context, id job.ID) error {
	_, has, err := s.slots.Running(ctx, s.pool, string(id))
	if err == nil && !has {
		return errNoSlot(id)
	}
	return err
}

func errNoSlot(id job.ID) error {
	return fault.New(fault.NotFound, fault.CodeNotRunning, "job %s has no slot: it waits for one, or has ended", id)
}

// Requeue restarts a job that has a slot but no workflow, and records it. A job without a slot is NotFound: it waits for one,
// or has ended.
func (s *Store) Requeue(ctx context.Context, id job.ID, actor, reason string) error {
	has, err := s.slots.Restart(ctx, s.events, string(id), func(c *eventstore.Changes, ref job.RunRef) error {
		c.Start(intentOf(job.Start{RunRef: ref, Again: true}))
		return c.Append(requeued(ref, actor, reason))
	})
	if err == nil && !has {
		return errNoSlot(id)
	}
	return err
}

func requeued(ref job.RunRef, actor, reason string) eventlog.Append {
	return eventlog.AppendTo(ref.Job.Stream(), ref.Account, eventlog.Meta{Actor: actor, Reason: reason},
		eventlog.NewEvent(job.TypeRequeued, job.RequeuedV1{Run: ref.Run}))
}

// RunningAfter returns up to limit runs that have had a slot for at least age and wait for no intent, in order of
// their jobs' ids from the first one after the given id ("" = from the start). Paging visits every run.
func (s *Store) RunningAfter(ctx context.Context, after job.ID, age time.Duration, limit int) ([]job.RunRef, error) {
	return s.slots.RunningAfter(ctx, s.pool, string(after), age, limit)
}

// Waits reports whether a job waits for its first slot.
func (s *Store) Waits(ctx context.Context, id job.ID) (bool, error) {
	_, waits, err := postgres.One(ctx, s.pool, "find a queued job", pgx.RowTo[string],
		`select job_id::text from job_queue where job_id = $1`, string(id))
	return waits, err
}

// QueuedAfter returns the first runs of up to limit jobs that wait for a slot, in order of their ids from the first one after the
// given id ("" = from the start).
func (s *Store) QueuedAfter(ctx context.Context, after job.ID, limit int) ([]job.RunRef, error) {
	return postgres.Collect(ctx, s.pool, "list queued jobs", kind.Scan,
		`select job_id::text, account, $3::int from job_queue where job_id > $1 order by job_id limit $2`, afterID(after), limit, firstRun)
}

func afterID(id job.ID) string {
	if id == "" {
		return uuid.Nil.String()
	}
	return string(id)
}

// Orphans are rows of the job store that contradict the log.
type Orphans struct {
	Slots  []job.RunRef // slots of jobs without an open stream
	Queued []job.RunRef // queue entries of jobs without an open stream
}

// Orphans returns the orphans. There are none unless the database was restored in parts or changed by hand.
func (s *Store) Orphans(ctx context.Context) (Orphans, error) {
	var out Orphans
	slots, err := s.orphans(ctx, `select j.job_id::text, j.account, j.run from job_slots j`)
	if err != nil {
		return Orphans{}, err
	}
	queued, err := s.orphans(ctx, `select j.job_id::text, j.account, 0 from job_queue j`)
	out.Slots, out.Queued = slots, queued
	return out, err
}

func (s *Store) orphans(ctx context.Context, from string) ([]job.RunRef, error) {
	return postgres.Collect(ctx, s.pool, "look for rows without a stream", kind.Scan,
		from+` left join streams t on t.id = 'job-' || j.job_id
		where t.id is null or t.closed order by 1 limit 1000`)
}

// Drop deletes orphans and recounts job_admissions. Jobs without a stream were never accepted; those with a closed stream
// have their end in the log. Each deletion is recorded with its actor and reason.
func (s *Store) Drop(ctx context.Context, orphans Orphans, actor, reason string) error {
	all := slices.Concat(orphans.Slots, orphans.Queued)
	if len(all) == 0 {
		return nil
	}
	_, err := s.events.Write(ctx, eventstore.Decision{
		What: "delete rows without a stream",
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			dropped := make([]eventlog.Event, len(all))
			for i, ref := range all {
				c.Queue(lockAdmissionState, ref.Account, 0)
				c.Queue(`delete from job_slots where job_id = $1`, ref.Job)
				c.Queue(`delete from job_queue where job_id = $1`, ref.Job)
				c.Queue(`delete from sealed_credentials where job_id = $1`, ref.Job)
				c.Queue(`update job_admissions set running = (select count(*) from job_slots where account = $1),
					released = (select count(*) from job_slots where account = $1 and released_at is not null and wanted_at is null),
					queued = (select count(*) from job_queue where account = $1) where account = $1`, ref.Account)
				dropped[i] = eventlog.NewEvent(audit.TypeRowDropped, audit.RowDroppedV1{Job: ref.Job, Account: ref.Account, Run: ref.Run})
			}
			return c.Append(eventlog.AppendTo(audit.ReconcileStream, gate.All, eventlog.Meta{Actor: actor, Reason: reason}, dropped...))
		},
	})
	return err
}

// Unplaced returns up to limit jobs, from the first one after the given id, whose stream is open but that have
// neither a slot nor a queue entry. There are none unless the database was changed by hand.
func (s *Store) Unplaced(ctx context.Context, after job.ID, limit int) ([]job.RunRef, error) {
	return postgres.Collect(ctx, s.pool, "look for unplaced jobs", kind.Scan,
		`select substr(t.id, 5), t.account, 0 from streams t
		where t.id like 'job-%' and not t.closed and t.id > 'job-' || $1
		  and not exists (select from job_slots j where 'job-' || j.job_id = t.id)
		  and not exists (select from job_queue j where 'job-' || j.job_id = t.id)
		order by t.id limit $2`, afterID(after), limit)
}

// PlaceAgain gives an unplaced job a slot and starts it if it was running, or a queue entry if it was waiting. It records the
// actor and the reason.
func (s *Store) PlaceAgain(ctx context.Context, j job.Job, actor, reason string) error {
	var state admissionState
	_, err := s.events.Write(ctx, eventstore.Decision{
		What: "put job " + string(j.ID) + " back",
		Read: func(q *pgx.Batch) { queueLockAdmission(q, j.Account, 0, &state) },
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			ref := job.RunRef{Job: j.ID, Account: j.Account, Run: j.Run}
			if j.Run == 0 {
				s.slots.Wait(c, j.Account, admission.Placed[job.RunRef]{Unit: ref, Place: j.Number})
			} else {
				s.slots.Enter(c, j.Account, ref)
				c.Start(intentOf(job.Start{RunRef: ref, Again: true}))
			}
			return c.Append(requeued(ref, actor, reason))
		},
	})
	return err
}
