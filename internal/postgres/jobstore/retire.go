package jobstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Overdue returns at most limit jobs in one of the states that were submitted before a time, oldest first, from the
// first one after the given job. It reads the view, which may lag behind; the caller checks again.
func (s *Store) Overdue(ctx context.Context, states []job.State, before time.Time, after job.Overdue, limit int) ([]job.Overdue, error) {
	return postgres.Collect(ctx, s.pool, "list jobs past their retention", func(row pgx.CollectableRow) (job.Overdue, error) {
		var o job.Overdue
		err := row.Scan(&o.Job, &o.CreatedAt)
		return o, err
	},
		`select job, created_at from jobs_v1
		where created_at <= $1 and (created_at, id) > ($2, $3) and state = any($4)
		order by created_at, id limit $5`, before, after.CreatedAt, string(after.Job.ID), states, limit)
}

// ExpireWaiting ends the jobs of an account that still wait in the queue, with job.expired, and returns their number.
// It does not change a job that was admitted meanwhile.
func (s *Store) ExpireWaiting(ctx context.Context, account string, expiring []job.ID) (int, error) {
	var state admissionState
	var waiting []job.RunRef
	_, err := s.events.Write(ctx, eventstore.Decision{
		What: "expire jobs of account " + account,
		Read: func(q *pgx.Batch) {
			queueLockAdmission(q, account, 0, &state)
			s.slots.Withdraw(q, account, ids(expiring), &waiting)
		},
		Decide: func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
			if len(waiting) == 0 {
				return eventstore.ErrNothing
			}
			return s.endWaiting(ctx, tx, c, state, account, waiting, func(id job.ID) eventlog.Append { return expired(id, account) })
		},
	})
	if err != nil {
		return 0, err
	}
	return len(waiting), nil
}

func expired(id job.ID, account string) eventlog.Append {
	return eventlog.AppendTo(id.Stream(), account, eventlog.Meta{Actor: "retention"},
		eventlog.Event{ID: job.EventID(id, 0, "", 0, job.TypeExpired), Type: job.TypeExpired, Data: job.ExpiredV1{}}).Closing()
}

// errNotEnded means that a job cannot be retired.
var errNotEnded = fault.New(fault.Conflict, fault.CodeJobNotOver, "the job has not ended")

// Retire records that a job is past its retention, which removes it from the views, and deletes the rows beside its
// events. It is Conflict if the job has an open stream or a slot, or has changed since its events were read. Outputs
// without a deadline of their own end with the job.
func (s *Store) Retire(ctx context.Context, r job.Retirement) error {
	var archive, document []byte
	if !r.Archive.IsZero() {
		archive = r.Archive[:]
	}
	if !r.Document.IsZero() {
		document = r.Document[:]
	}
	end := retirement(r)
	var over bool
	_, err := s.events.Write(ctx, eventstore.Decision{
		What:    "retire job " + string(r.ID),
		Repeats: true,
		Read: func(q *pgx.Batch) {
			postgres.ScanInto(q.Queue(`select closed and account = $2 and not exists (select from job_slots where job_id = $3)
				and not exists (select from job_queue where job_id = $3) from streams where id = $1 for update`,
				r.ID.Stream(), r.Account, r.ID), &over)
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if !over {
				return errNotEnded
			}
			c.Queue(`delete from sealed_credentials where job_id = $1`, r.ID)
			c.Queue(`delete from asset_holds where job_id = $1`, r.ID)
			c.Queue(`delete from node_progress where job = $1`, r.ID)
			c.Queue(`delete from job_retries where job_id = $1 or origin = $1`, r.ID)
			c.Queue(`update files set expires_at = now() where job_id = $1 and expires_at is null`, r.ID)
			c.QueueLast(`insert into job_archives (job_id, account, version, position, archive, document)
				select $1, $2, version, position, $3, $4 from events where id = $5 on conflict do nothing`,
				r.ID, r.Account, archive, document, end.Events[0].ID)
			return c.Append(end)
		},
	})
	return err
}

func retirement(r job.Retirement) eventlog.Append {
	event := job.RetiredV1{Events: r.Version}
	if !r.Archive.IsZero() {
		event.Archive = r.Archive.String()
	}
	return eventlog.Append{
		Stream: r.ID.Stream(), Account: r.Account, Expected: r.Version, Reopen: true, Close: true,
		Events: []eventlog.Event{{ID: job.EventID(r.ID, 0, "", 0, job.TypeRetired), Type: job.TypeRetired, Data: event}},
		Meta:   eventlog.Meta{Actor: "retention"},
	}
}

// Prune removes the events of up to limit retired jobs from the log, after all of the views have passed the event of
// the retirement, and returns the number of jobs. A stream that a view has halted stays.
func (s *Store) Prune(ctx context.Context, views []string, limit int) (int, error) {
	tag, err := s.pool.Exec(ctx, `
		with seen as (
			select coalesce(min(coalesce(c.position, 0)), 0) as position
			from unnest($1::text[]) v left join checkpoints c on c.name = v
		), due as (
			select a.job_id, a.version from job_archives a, seen
			where not a.pruned and a.position <= seen.position
			  and not exists (select from halted_streams h where h.stream = 'job-' || a.job_id)
			order by a.position limit $2 for update of a skip locked
		), gone as (
			select d.job_id, prune_events('job-' || d.job_id, d.version) from due d
		)
		update job_archives set pruned = true from gone where job_archives.job_id = gone.job_id`, views, limit)
	return int(tag.RowsAffected()), postgres.Classify(err, "remove the events of retired jobs")
}

// ForgetArchives deletes the references to the archives of up to limit jobs that were retired before a time, oldest
// first, and returns their number. Their events are then lost; the collector removes the blobs.
func (s *Store) ForgetArchives(ctx context.Context, before time.Time, limit int) (int, error) {
	tag, err := s.pool.Exec(ctx, `update job_archives set archive = null, document = null, forgotten_at = now()
		where job_id in (select job_id from job_archives where archive is not null and pruned and retired_at < $1
			order by retired_at limit $2 for update skip locked)`, before, limit)
	return int(tag.RowsAffected()), postgres.Classify(err, "forget the archives of jobs")
}

// forgotten reports whether a retired job's archive was deleted.
func forgotten(ctx context.Context, db postgres.Queryer, id job.ID) (bool, error) {
	gone, _, err := postgres.One(ctx, db, "find the archive of job "+string(id), pgx.RowTo[bool],
		`select forgotten_at is not null from job_archives where job_id = $1`, id)
	return gone, err
}

// Events returns all events of a job. The events of a retired job come from its archive, followed by the event of the
// retirement. If they were erased, the archive was deleted, or blobs is nil, only that event is returned.
func Events(ctx context.Context, db postgres.Queryer, blobs blob.Store, id job.ID) ([]eventlog.Recorded, error) {
	all, err := eventlog.Collect(eventlog.Read(ctx, eventstore.StreamsOf(db), id.Stream(), 0))
	if err != nil {
		return nil, err
	}
	if len(all) != 1 || all[0].Type != job.TypeRetired || blobs == nil {
		return all, nil
	}
	var event job.RetiredV1
	if err := json.Unmarshal(all[0].Data, &event); err != nil || event.Archive == "" {
		return all, err
	}
	if gone, err := forgotten(ctx, db, id); err != nil || gone {
		return all, err
	}
	archived, err := job.OpenArchive(ctx, blobs, event.Archive)
	if err != nil {
		return nil, err
	}
	return append(archived, all...), nil
}

// Events returns all events of a job that are in the log.
func (s *Store) Events(ctx context.Context, id job.ID) ([]eventlog.Recorded, error) {
	return Events(ctx, s.pool, nil, id)
}
