// Package jobstore stores jobs in PostgreSQL: submission, admission, cancellation, end and retirement, each in one
// transaction with its events, slots, credits and intents. It promises that an account never runs more jobs than its
// limits allow, and that an accepted job is not lost. The package also stores idempotency keys and the node cache.
// Workflows run the jobs.
package jobstore

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/admission"
	"github.com/millrace-dev/millrace/internal/postgres/committer"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Store implements job.Store. Every transaction locks the account's admission state first. It locks the log last, by
// an append that is its last statement before the commit.
type Store struct {
	pool    *pgxpool.Pool
	events  *eventstore.Store
	credits *accountstore.Credits
	slots   *admission.Admission[job.RunRef]
	changes *eventstore.Joined[*change]
}

var _ job.Store = (*Store)(nil)

// New returns the job store in pool's database that appends through events.
func New(pool *pgxpool.Pool, events *eventstore.Store) *Store {
	s := &Store{pool: pool, events: events, credits: accountstore.NewCredits(pool, events), slots: admission.New(kind)}
	s.changes = eventstore.NewJoined(events, committer.Options{}, s.decide)
	return s
}

// kind describes jobs to the admission: the lowest number runs first, then the oldest.
var kind = admission.Kind[job.RunRef]{
	Name: "job", Running: "running", Queued: "queued",
	Sums:  map[string]string{"released": "count(*) filter (where released_at is not null and wanted_at is null)"},
	Place: "number", PlaceAt: "{place}::double precision", Order: "number, seq",
	Open: `mode in ('open', 'draining') and not exists (select from job_admissions where account = '*' and mode in ('paused', 'stopped'))`,
	Row:  func(ref job.RunRef) (string, string, int, []any) { return string(ref.Job), ref.Account, ref.Run, nil },
	Scan: func(row pgx.CollectableRow) (ref job.RunRef, err error) {
		err = row.Scan(&ref.Job, &ref.Account, &ref.Run)
		return ref, err
	},
	Start: func(ref job.RunRef) outbox.Intent { return intentOf(job.Start{RunRef: ref}) },
	Admitted: func(ref job.RunRef) eventlog.Append {
		return eventlog.AppendTo(ref.Job.Stream(), ref.Account, eventlog.Meta{Actor: "admission"}, admitted(ref.Job))
	},
}

// fits admits every job, because the number of free slots limits the admissions.
func fits(job.RunRef) bool { return true }

// admissionState is the state that decides whether an account's next job may run. Its row in job_admissions is locked
// until the transaction ends.
type admissionState struct {
	number, queued, running int64
	released                int64 // those of running that have given their slots back
	gate                    gate.Gate
	credit                  *int64 // available, in micros; nil = the account is not metered
}

// lockAdmissionState locks and reads an account's admission state, and advances its counter by the $2 jobs that are
// submitted. The first job of an account has the number 0. The account's own gate is read from the locked row; the
// gate of all accounts and the credit are those at the start of the statement.
const lockAdmissionState = `insert into job_admissions (account, last_number) values ($1, greatest($2::bigint - 1, 0))
	on conflict (account) do update set last_number = job_admissions.last_number + $2
	returning last_number, queued, running, released, mode,
		coalesce((select a.mode from job_admissions a where a.account = '*'), 'open'),
		(select b.available from credit_balances b where b.account = $1)`

// used returns the number of slots in use, by jobs that hold one or want theirs back.
func (l admissionState) used() int64 { return l.running - l.released }

// admits reports whether a new job gets a slot at once: whether there are more free slots than queued jobs.
func (l admissionState) admits(slots int) bool {
	return l.gate.Starts() && l.used()+l.queued < int64(slots)
}

// free returns how many queued jobs can be admitted.
func (l admissionState) free(slots int) int64 {
	if !l.gate.Starts() {
		return 0
	}
	return min(l.queued, int64(slots)-l.used())
}

// refusal returns why a submission is refused that reserves hold of the account's credit, or nil. A closed gate is
// named before missing credit, and missing credit before a full queue.
func (l admissionState) refusal(b job.Bounds, hold int64) error {
	if err := l.gate.Refusal(); err != nil {
		return err
	}
	if l.credit != nil && (*l.credit <= 0 || *l.credit < hold) {
		return credit.Insufficient()
	}
	if !l.admits(b.Slots) && l.queued >= int64(b.QueueDepth) {
		return fault.New(fault.Exhausted, fault.CodeQueueFull, "the queue has %d jobs, its limit; try again when some have ended", l.queued).
			WithRetryAfter(queueFullRetry)
	}
	return nil
}

// enter counts an accepted job and the credit that it reserves.
func (l *admissionState) enter(admitted bool, hold int64) {
	if admitted {
		l.running++
	} else {
		l.queued++
	}
	if l.credit != nil {
		*l.credit -= hold
	}
}

// queueLockAdmission queues the statement that locks the account's admission state and advances its counter by step.
func queueLockAdmission(q *pgx.Batch, account string, step int, l *admissionState) {
	postgres.ScanInto(q.Queue(lockAdmissionState, account, step),
		&l.number, &l.queued, &l.running, &l.released, &l.gate.Own, &l.gate.All, &l.credit)
}

// Submit implements job.Store.
func (s *Store) Submit(ctx context.Context, n job.NewJob) (job.Admission, error) {
	first := uuid.New()
	made := &submission{NewJob: n, first: first}
	earlier, err := s.changes.Do(ctx, n.Account, &change{Outcome: eventstore.Outcome{First: first}, submission: made})
	if err != nil {
		return job.Admission{}, classifySubmit(err)
	}
	out := job.Admission{Intents: made.intents}
	if earlier { // an attempt whose answer was lost recorded it; the relay starts the job
		out.Job, err = eventlog.Fold(s.events.Types(), eventlog.Read(ctx, s.events, n.ID.Stream(), 0), job.Job{}, job.Fold)
	} else {
		out.Job, err = s.fold(made.append)
	}
	return out, err
}

// fold returns the job that an append has begun.
func (s *Store) fold(begun *eventstore.Prepared) (job.Job, error) {
	return eventlog.Fold(s.events.Types(), eventlog.All(begun.Recorded()), job.Job{}, job.Fold)
}

const firstRun = 1

// intentOf returns the intent to start a run.
func intentOf(start job.Start) outbox.Intent {
	return outbox.New(outbox.StartRunGraph, start.Job.WorkflowID(start.Run), start)
}

func admitted(id job.ID) eventlog.Event {
	return eventlog.Event{
		ID: job.EventID(id, firstRun, "", 0, job.TypeAdmitted), Type: job.TypeAdmitted, Data: job.AdmittedV1{Run: firstRun},
	}
}

// End implements job.Store. Of concurrent calls, the first one that closes the stream wins; the others change
// nothing.
func (s *Store) End(ctx context.Context, e job.Ending) (job.Ended, error) {
	prepared, err := s.events.Prepare(ending(e))
	if err != nil {
		return job.Ended{}, err
	}
	last := &change{end: &end{Ending: e, append: prepared}}
	if e.Lease != nil { // its transaction locks rows of servers, which several ends would lock in any order
		err = s.changes.DoAll(ctx, e.Account, []*change{last})[0]
	} else {
		_, err = s.changes.Do(ctx, e.Account, last)
	}
	switch {
	case eventlog.IsRefused(err):
		return s.refusedEnd(ctx, e)
	case err != nil:
		return job.Ended{}, postgres.Classify(err, "end job "+string(e.ID))
	}
	return job.Ended{Applied: true}, nil
}

// refusedEnd finds out why the log refused the end of a job.
func (s *Store) refusedEnd(ctx context.Context, e job.Ending) (job.Ended, error) {
	before := make([]uuid.UUID, len(e.Before))
	for i, event := range e.Before {
		before[i] = event.ID
	}
	var ended, closed, begun bool
	var version int64
	err := s.pool.QueryRow(ctx, `select exists (select from events where id = $1),
		exists (select from streams where id = $2 and closed), exists (select from events where id = any($3)),
		coalesce((select version from streams where id = $2), 0)`,
		endingID(e), e.ID.Stream(), before).Scan(&ended, &closed, &begun, &version)
	switch {
	case err != nil:
		return job.Ended{}, postgres.Classify(err, "end job "+string(e.ID))
	case ended: // an earlier attempt whose answer was lost ended it
		return job.Ended{Applied: true}, nil
	case closed:
		return job.Ended{}, nil
	case e.After > 0 && e.After != version:
		return job.Ended{}, job.ErrOvertaken
	case begun:
		return job.Ended{}, job.ErrRecordedInPart
	case e.Bounds.Slots > 0: // the refusal concerns a job to be admitted: the sweeper reports it
		e.Bounds.Slots = 0
		return s.End(ctx, e)
	default:
		return job.Ended{}, fault.New(fault.Internal, "", "the log refuses the end of job %s", e.ID)
	}
}

func endingID(e job.Ending) uuid.UUID { return job.EventID(e.ID, e.Run, "", 0, e.Type) }
