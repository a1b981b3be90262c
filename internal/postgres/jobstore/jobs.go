// Package jobstore keeps jobs in PostgreSQL: submission, admission, cancellation, end and
// retirement, each in one transaction with its events, slots, credits and intents. An
// account never runs more jobs than its bounds allow, and an accepted job is not lost. The
// package also keeps idempotency keys and the node cache. Workflows run the jobs.
package jobstore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
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
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/serverstore"
)

// Store implements job.Store. Every transaction locks the account's admission state first, and
// then the log, by an append as the last statement before commit.
type Store struct {
	pool    *pgxpool.Pool
	events  *eventstore.Store
	credits *accountstore.Credits
	slots   *admission.Admission[job.RunRef]
}

var _ job.Store = (*Store)(nil)

// New returns the job store in pool's database that appends through events.
func New(pool *pgxpool.Pool, events *eventstore.Store) *Store {
	return &Store{pool: pool, events: events, credits: accountstore.NewCredits(pool, events), slots: admission.New(kind)}
}

// kind is jobs as the admission sees them: the lowest number runs first, then the oldest.
var kind = admission.Kind[job.RunRef]{
	Name: "job", Running: "running", Queued: "queued", Place: "number", PlaceAt: "$3", Order: "number, seq",
	Open: `mode in ('open', 'draining') and not exists (select from job_lanes where account = '*' and mode in ('paused', 'stopped'))`,
	Row:  func(ref job.RunRef) (string, string, int, []any) { return string(ref.Job), ref.Account, ref.Run, nil },
	Scan: func(row pgx.CollectableRow) (ref job.RunRef, err error) {
		err = row.Scan(&ref.Job, &ref.Account, &ref.Run)
		return ref, err
	},
	Start: func(ref job.RunRef) outbox.Intent { return intentOf(job.Start{RunRef: ref}) },
	Admitted: func(ref job.RunRef) eventlog.Append {
		return eventlog.Append{
			Stream: ref.Job.Stream(), Account: ref.Account, Expected: eventlog.AnyVersion,
			Events: []eventlog.Event{admitted(ref.Job)}, Meta: eventlog.Meta{Actor: "admission"},
		}
	},
}

// fits admits every job: how many are admitted is decided by the number of free slots.
func fits(job.RunRef) bool { return true }

// admissionState is what decides whether an account's next job may run. Its row in job_lanes is
// locked until the transaction ends.
type admissionState struct {
	number, queued, running int64
	gate                    gate.Gate
	credit                  *int64 // available, in micros; nil: the account is not metered
}

// lockAdmissionState locks and reads an account's admission state. The account's own mode is read from the
// locked row; the mode of all accounts and the credit are as of the start of the statement.
const lockAdmissionState = `insert into job_lanes (account) values ($1)
	on conflict (account) do update set last_number = job_lanes.last_number + $2
	returning last_number, queued, running, mode,
		coalesce((select a.mode from job_lanes a where a.account = '*'), 'open'),
		(select b.available from credit_balances b where b.account = $1)`

// admits reports whether a new job gets a slot at once: whether there are more free slots than queued jobs.
func (l admissionState) admits(slots int) bool {
	return l.gate.Starts() && l.running+l.queued < int64(slots)
}

// free returns how many queued jobs can be admitted.
func (l admissionState) free(slots int) int64 {
	if !l.gate.Starts() {
		return 0
	}
	return min(l.queued, int64(slots)-l.running)
}

// refusal returns the reason why a submission that reserves hold is refused, or nil: a closed gate first, then
// missing credit, then a full queue.
func (l admissionState) refusal(b job.Bounds, hold int64) error {
	if err := l.gate.Refusal(); err != nil {
		return err
	}
	if l.credit != nil && (*l.credit <= 0 || *l.credit < hold) {
		return credit.Insufficient()
	}
	if !l.admits(b.Slots) && l.queued >= int64(b.QueueDepth) {
		return fault.New(fault.Exhausted, fault.CodeQueueFull, "the queue holds %d jobs, its limit; try again when some have ended", l.queued).
			WithRetryAfter(queueFullRetry)
	}
	return nil
}

// queueLockAdmission queues the statement that locks the account's admission state and advances its counter by step.
func queueLockAdmission(q *pgx.Batch, account string, step int, l *admissionState) {
	q.Queue(lockAdmissionState, account, step).QueryRow(func(row pgx.Row) error {
		return row.Scan(&l.number, &l.queued, &l.running, &l.gate.Own, &l.gate.All, &l.credit)
	})
}

// lockAdmission locks the account's admission state in a round trip of its own.
func lockAdmission(ctx context.Context, tx postgres.Tx, account string) (admissionState, error) {
	var l admissionState
	q := &pgx.Batch{}
	queueLockAdmission(q, account, 0, &l)
	return l, postgres.Classify(tx.SendBatch(ctx, q).Close(), "lock the admission state of account "+account)
}

// Submit implements job.Store.
func (s *Store) Submit(ctx context.Context, n job.NewJob) (out job.Admission, err error) {
	first := uuid.New()
	recorded, err := s.events.RetryAmbiguous(ctx, first, func(ctx context.Context) error {
		out, err = s.submit(ctx, n, first)
		return err
	})
	if err != nil {
		return job.Admission{}, classifySubmit(err)
	}
	if recorded { // by an earlier attempt whose answer was lost; the relay starts the job
		return s.admission(ctx, n.ID)
	}
	return out, nil
}

// admission returns the result of an earlier attempt to submit the job.
func (s *Store) admission(ctx context.Context, id job.ID) (job.Admission, error) {
	s.events.Wake()
	state, err := eventlog.Fold(s.events.Types(), eventlog.Read(ctx, s.events, id.Stream(), 0), job.Job{}, job.Fold)
	return job.Admission{Job: state}, err
}

// submit is one attempt at a submission, whose first event is first.
func (s *Store) submit(ctx context.Context, n job.NewJob, first uuid.UUID) (job.Admission, error) {
	var l admissionState
	var out job.Admission
	var queued *eventstore.Queued
	look := func(q *pgx.Batch) {
		queueLockAdmission(q, n.Account, 1, &l)
		queueChoice(q, n)
		queueClaims(q, n)
	}
	err := postgres.Pipelined(ctx, s.pool, look, func(db postgres.Tx, q *pgx.Batch) (err error) {
		if err := l.refusal(n.Bounds, n.Price.Hold()); err != nil {
			return err
		}
		held, err := s.reserve(ctx, db, l, &n)
		if err != nil {
			return err
		}
		admit := l.admits(n.Bounds.Slots)
		n.Submitted.Number = settleNumber(n, l.number)
		queueRows(q, n)
		out.Intents = s.slots.Place(q, job.RunRef{Job: n.ID, Account: n.Account, Run: firstRun}, admit, n.Submitted.Number)
		queued, err = s.events.QueueAppend(q, append([]eventlog.Append{submission(n, first, admit)}, held...))
		return err
	})
	if err != nil {
		return job.Admission{}, err
	}
	s.events.Wake()
	own := slices.DeleteFunc(queued.Recorded(), func(rec eventlog.Recorded) bool { return rec.Stream != n.ID.Stream() })
	out.Job, err = s.fold(job.Job{}, own)
	return out, err
}

// settleNumber picks the queue number: the client's own, else the counter, negative for front.
func settleNumber(n job.NewJob, counter int64) float64 {
	switch {
	case n.Number != nil:
		return *n.Number
	case n.Front:
		return -float64(counter)
	default:
		return float64(counter)
	}
}

// queueClaims queues the statements that pin the files a job loads and claim its idempotency key.
func queueClaims(q *pgx.Batch, n job.NewJob) {
	if len(n.Pins) > 0 {
		q.Queue(holdAssets, n.Account, n.ID, n.Pins).Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() == int64(len(n.Pins)) {
				return nil
			}
			return fault.New(fault.Invalid, fault.CodeMissingAsset, "a file that the workflow loads was deleted meanwhile")
		})
	}
	if n.IdempotencyKey != "" {
		q.Queue(claimKey, n.Account, n.Operation, n.IdempotencyKey, n.ID).Exec(claimed)
	}
}

// takenID finds a job of the account that clients know by an id that nobody chose: the id that a client chooses now.
const takenID = `select exists (select from streams where id = $1 and account = $2)
	and not exists (select from job_public_ids where job_id = $3)`

// queueChoice queues the statements that record the public id that a client chose. Where the account has chosen it
// before, the append that follows runs into the stream of that job.
func queueChoice(q *pgx.Batch, n job.NewJob) {
	chosen := n.Submitted.PublicID
	if chosen == "" {
		return
	}
	q.Queue(takenID, job.ID(chosen).Stream(), n.Account, chosen).QueryRow(func(row pgx.Row) error {
		var taken bool
		if err := row.Scan(&taken); err != nil || !taken {
			return err
		}
		return duplicateJob(nil)
	})
	q.Queue(`insert into job_public_ids (account, public_id, job_id) values ($1, $2, $3) on conflict do nothing`,
		n.Account, chosen, n.ID)
}

// queueRows queues the statements that write a job's rows beside its slot: its credential, and what it is a retry of.
func queueRows(q *pgx.Batch, n job.NewJob) {
	if n.Sealed != nil {
		q.Queue(`insert into sealed_credentials (job_id, sealed) values ($1, $2)`, n.ID, n.Sealed)
	}
	if o := n.Submitted.Origin; o != nil {
		q.Queue(`insert into job_retries (job_id, origin) values ($1, $2)`, n.ID, o.Job)
	}
}

// holdAssets pins the files that a job loads, so that they are not deleted. The row locks order it against a
// concurrent deletion.
const holdAssets = `insert into asset_holds (asset_id, job_id)
	select asset_id, $2 from files where account = $1 and asset_id = any($3::uuid[]) for share`

const firstRun = 1

// intentOf returns the intent to start a run.
func intentOf(start job.Start) outbox.Intent {
	payload, err := json.Marshal(start)
	if err != nil {
		panic(err) // strings and ints always marshal
	}
	return outbox.Intent{WorkflowID: start.Job.WorkflowID(start.Run), Kind: outbox.StartRunGraph, Payload: payload}
}

// submission is the append that begins a job. Its first event has an id of this one request: a second
// submission under a client's chosen job id must run into the stream's version and be refused, not
// be taken for a repetition of the first, which may be another account's.
func submission(n job.NewJob, first uuid.UUID, admit bool) eventlog.Append {
	events := []eventlog.Event{{ID: first, Type: job.TypeSubmitted, Data: n.Submitted}}
	if admit {
		events = append(events, admitted(n.ID))
	}
	return eventlog.Append{
		Stream: n.ID.Stream(), Account: n.Account, Expected: 0, Events: events,
		Meta: eventlog.Meta{Actor: cmp.Or(n.Actor, n.Account), RequestID: n.RequestID, Reason: n.Reason},
	}
}

func admitted(id job.ID) eventlog.Event {
	return eventlog.Event{
		ID: job.EventID(id, firstRun, "", 0, job.TypeAdmitted), Type: job.TypeAdmitted, Data: job.AdmittedV1{Run: firstRun},
	}
}

// End implements job.Store. Of concurrent calls the one that closes the stream first wins; the others change
// nothing.
func (s *Store) End(ctx context.Context, e job.Ending) (job.Ended, error) {
	var l admissionState
	var freed *job.RunRef
	var intents []outbox.Intent
	leased := false
	look := func(q *pgx.Batch) {
		queueLockAdmission(q, e.Account, 0, &l)
		s.slots.Leave(q, e.Account, string(e.ID), &freed)
		q.Queue(`delete from sealed_credentials where job_id = $1`, e.ID)
		if e.Lease != nil {
			serverstore.QueueEnd(q, e, &leased)
		}
	}
	err := postgres.Pipelined(ctx, s.pool, look, func(db postgres.Tx, q *pgx.Batch) error {
		if e.Lease != nil && !leased {
			return serverstore.ErrLeaseLost
		}
		if freed != nil {
			l.running--
		}
		admitted, started, err := s.slots.Admit(ctx, db, q, e.Account, l.free(e.Bounds.Slots), fits)
		if err != nil {
			return err
		}
		intents = started
		charged, err := s.charge(ctx, db, l, e)
		if err != nil {
			return err
		}
		_, err = s.events.QueueAppend(q, slices.Concat([]eventlog.Append{ending(e)}, admitted, charged))
		return err
	})
	switch {
	case eventstore.IsRefused(err):
		return s.refusedEnd(ctx, e)
	case err != nil:
		return job.Ended{}, postgres.Classify(err, "end job "+string(e.ID))
	}
	s.events.Wake()
	return job.Ended{Applied: true, Intents: intents}, nil
}

// refusedEnd finds out why the log refused the end of a job.
func (s *Store) refusedEnd(ctx context.Context, e job.Ending) (job.Ended, error) {
	before := make([]uuid.UUID, len(e.Before))
	for i, event := range e.Before {
		before[i] = event.ID
	}
	var ended, closed, begun bool
	err := s.pool.QueryRow(ctx, `select exists (select from events where id = $1),
		exists (select from streams where id = $2 and closed), exists (select from events where id = any($3))`,
		endingID(e), e.ID.Stream(), before).Scan(&ended, &closed, &begun)
	switch {
	case err != nil:
		return job.Ended{}, postgres.Classify(err, "end job "+string(e.ID))
	case ended: // by an earlier attempt whose answer was lost
		return job.Ended{Applied: true}, nil
	case closed:
		return job.Ended{}, nil
	case begun:
		return job.Ended{}, job.ErrRecordedInPart
	case e.Bounds.Slots > 0: // the refusal is of a job that was to be admitted: the sweeper reports it
		e.Bounds.Slots = 0
		return s.End(ctx, e)
	default:
		return job.Ended{}, fault.New(fault.Internal, "", "the log refuses the end of job %s", e.ID)
	}
}

func endingID(e job.Ending) uuid.UUID { return job.EventID(e.ID, e.Run, "", 0, e.Type) }

func ending(e job.Ending) eventlog.Append {
	end := eventlog.Event{ID: endingID(e), Type: e.Type, Data: e.Data}
	return eventlog.Append{
		Stream: e.ID.Stream(), Account: e.Account, Expected: eventlog.AnyVersion, Close: true,
		Events: append(slices.Clip(e.Before), end),
		Meta:   eventlog.Meta{Actor: e.Actor, Reason: e.Reason},
	}
}

// fold applies freshly recorded events to a state.
func (s *Store) fold(j job.Job, recorded []eventlog.Recorded) (job.Job, error) {
	return eventlog.Fold(s.events.Types(), eventlog.All(recorded), j, job.Fold)
}

// run executes a batch and returns its first error.
func run(ctx context.Context, tx pgx.Tx, batch *pgx.Batch) error {
	return postgres.Classify(tx.SendBatch(ctx, batch).Close(), "write the rows of a job")
}
