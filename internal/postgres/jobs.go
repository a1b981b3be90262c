package postgres

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/job"
	"github.com/millrace-dev/millrace/internal/outbox"
)

// Jobs carries out the transactions of jobs. It implements job.Store. Lock order in
// each: the account's lane, then the append as the last statement before commit.
type Jobs struct {
	pool   *pgxpool.Pool
	events *EventStore
}

var _ job.Store = (*Jobs)(nil)

// NewJobs returns the job store on pool that appends through events.
func NewJobs(pool *pgxpool.Pool, events *EventStore) *Jobs {
	return &Jobs{pool: pool, events: events}
}

// lane is an account's admission state, locked until the transaction ends.
type lane struct{ number, queued, running int64 }

const lockLane = `insert into job_lanes (account) values ($1)
	on conflict (account) do update set last_number = job_lanes.last_number + $2
	returning last_number, queued, running`

// enter locks the account's lane and advances its counter by step.
func enter(ctx context.Context, tx pgx.Tx, account string, step int) (lane, error) {
	var l lane
	if err := tx.QueryRow(ctx, lockLane, account, step).Scan(&l.number, &l.queued, &l.running); err != nil {
		return lane{}, classify(err, "lock the lane of account "+account)
	}
	return l, nil
}

// Submit implements job.Store.
func (s *Jobs) Submit(ctx context.Context, n job.NewJob) (job.Admission, error) {
	var out job.Admission
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		l, err := enter(ctx, tx, n.Account, 1)
		if err != nil {
			return err
		}
		admit := l.running < int64(n.Bounds.Slots)
		if !admit && l.queued >= int64(n.Bounds.QueueDepth) {
			return fault.New(fault.Exhausted, "queue_full", "the queue holds %d jobs, its limit; try again when some have ended", l.queued).
				WithRetryAfter(queueFullRetry)
		}
		n.Fact.Number = settleNumber(n, l.number)
		if out.Intents, err = s.place(ctx, tx, n, admit); err != nil {
			return err
		}
		recorded, err := s.events.AppendTx(ctx, tx, submission(n, admit))
		if err != nil {
			return err
		}
		out.Job, err = s.fold(job.Job{}, recorded)
		return err
	})
	if err != nil {
		return job.Admission{}, classifySubmit(err)
	}
	s.events.Wake()
	return out, nil
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

// place writes the rows beside the facts: key, credential, and slot with start intent or queue entry.
func (s *Jobs) place(ctx context.Context, tx pgx.Tx, n job.NewJob, admit bool) ([]outbox.Intent, error) {
	batch := &pgx.Batch{}
	if len(n.Holds) > 0 {
		batch.Queue(holdAssets, n.Account, n.ID, n.Holds).Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() == int64(len(n.Holds)) {
				return nil
			}
			return fault.New(fault.Invalid, "missing_asset", "a file that the workflow loads was deleted meanwhile")
		})
	}
	if n.IdempotencyKey != "" {
		batch.Queue(claimKey, n.Account, n.Operation, n.IdempotencyKey).Exec(oneRow("idempotency_key_reuse"))
	}
	if n.Sealed != nil {
		batch.Queue(`insert into sealed_credentials (job_id, sealed) values ($1, $2)`, n.ID, n.Sealed)
	}
	if !admit {
		batch.Queue(`insert into job_queue (job_id, account, number) values ($1, $2, $3)`, n.ID, n.Account, n.Fact.Number)
		batch.Queue(`update job_lanes set queued = queued + 1 where account = $1`, n.Account)
		return nil, run(ctx, tx, batch)
	}
	queueSlot(batch, n.ID, n.Account, firstRun)
	intents := []outbox.Intent{startIntent(n.ID, n.Account, firstRun)}
	queueIntents(batch, intents)
	return intents, run(ctx, tx, batch)
}

// holdAssets keeps the files that a job loads from being deleted; the row locks make a deletion
// under way come first or wait.
const holdAssets = `insert into asset_holds (asset_id, job_id)
	select asset_id, $2 from files where account = $1 and asset_id = any($3::uuid[]) for share`

const firstRun = 1

func queueSlot(batch *pgx.Batch, id job.ID, account string, run int) {
	batch.Queue(`insert into job_slots (job_id, account, run) values ($1, $2, $3)`, id, account, run)
	batch.Queue(`update job_lanes set running = running + 1 where account = $1`, account)
}

func queueIntents(batch *pgx.Batch, intents []outbox.Intent) {
	for i := range intents {
		in := &intents[i]
		batch.Queue(putIntent, in.WorkflowID, in.Kind, in.Payload, grace).QueryRow(func(row pgx.Row) error {
			return row.Scan(&in.ID)
		})
	}
}

func startIntent(id job.ID, account string, run int) outbox.Intent {
	payload, err := json.Marshal(job.RunRef{Job: id, Account: account, Run: run})
	if err != nil {
		panic(err) // strings and ints always marshal
	}
	return outbox.Intent{WorkflowID: id.WorkflowID(run), Kind: outbox.StartRunGraph, Payload: payload}
}

// submission is the append that begins a job. Its first fact has an id of its own: a second
// submission under a client's chosen job id must run into the stream's version and be refused, not
// be taken for a repetition of the first, which may be another account's.
func submission(n job.NewJob, admit bool) eventlog.Append {
	events := []eventlog.Event{{ID: uuid.New(), Type: job.TypeSubmitted, Data: n.Fact}}
	if admit {
		events = append(events, admission(n.ID, firstRun))
	}
	return eventlog.Append{
		Stream: n.ID.Stream(), Account: n.Account, Expected: 0, Events: events,
		Meta: eventlog.Meta{Actor: n.Account, RequestID: n.RequestID},
	}
}

func admission(id job.ID, run int) eventlog.Event {
	return eventlog.Event{
		ID: job.FactID(id, run, "", 0, job.TypeAdmitted), Type: job.TypeAdmitted, Data: job.AdmittedV1{Run: run},
	}
}

// End implements job.Store. The stream's closing decides a race: whoever closes it first wins,
// the other changes nothing.
func (s *Jobs) End(ctx context.Context, e job.Ending) (job.Ended, error) {
	out := job.Ended{Applied: true}
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		l, err := enter(ctx, tx, e.Account, 0)
		if err != nil {
			return err
		}
		freed, err := s.leave(ctx, tx, e.ID, e.Account)
		if err != nil {
			return err
		}
		admitted, intents, err := s.admit(ctx, tx, e.Account, min(l.queued, int64(e.Bounds.Slots)-(l.running-freed)))
		if err != nil {
			return err
		}
		out.Intents = intents
		_, err = s.events.AppendAll(ctx, tx, append([]eventlog.Append{ending(e)}, admitted...))
		return err
	})
	if errors.Is(err, eventlog.ErrClosed) {
		return job.Ended{}, nil
	}
	if err != nil {
		return job.Ended{}, classify(err, "end job "+string(e.ID))
	}
	s.events.Wake()
	return out, nil
}

func ending(e job.Ending) eventlog.Append {
	return eventlog.Append{
		Stream: e.ID.Stream(), Account: e.Account, Expected: eventlog.AnyVersion, Close: true,
		Events: []eventlog.Event{{ID: job.FactID(e.ID, e.Run, "", 0, e.Type), Type: e.Type, Data: e.Fact}},
		Meta:   eventlog.Meta{Actor: e.Actor, Reason: e.Reason},
	}
}

// leave frees the job's slot and forgets its credential; it returns how many slots it freed, 0 or 1.
func (s *Jobs) leave(ctx context.Context, tx pgx.Tx, id job.ID, account string) (int64, error) {
	var freed int64
	err := tx.QueryRow(ctx, `
		with slot as (delete from job_slots where job_id = $1 and account = $2 returning 1),
		     secret as (delete from sealed_credentials where job_id = $1),
		     lane as (update job_lanes set running = running - (select count(*) from slot) where account = $2)
		select count(*) from slot`, id, account).Scan(&freed)
	if err != nil {
		return 0, classify(err, "free the slot of job "+string(id))
	}
	return freed, nil
}

// admit gives up to free slots to waiting jobs, lowest number first, then oldest.
func (s *Jobs) admit(ctx context.Context, tx pgx.Tx, account string, free int64) ([]eventlog.Append, []outbox.Intent, error) {
	if free <= 0 {
		return nil, nil, nil
	}
	rows, err := tx.Query(ctx, `
		delete from job_queue where job_id in (
			select job_id from job_queue where account = $1 order by number, seq limit $2)
		returning job_id::text`, account, free)
	if err != nil {
		return nil, nil, classify(err, "take from the queue of account "+account)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[job.ID])
	if err != nil || len(ids) == 0 {
		return nil, nil, err
	}
	batch := &pgx.Batch{}
	batch.Queue(`update job_lanes set queued = queued - $2 where account = $1`, account, len(ids))
	appends := make([]eventlog.Append, len(ids))
	intents := make([]outbox.Intent, len(ids))
	for i, id := range ids {
		queueSlot(batch, id, account, firstRun)
		intents[i] = startIntent(id, account, firstRun)
		appends[i] = eventlog.Append{
			Stream: id.Stream(), Account: account, Expected: eventlog.AnyVersion,
			Events: []eventlog.Event{admission(id, firstRun)}, Meta: eventlog.Meta{Actor: "admission"},
		}
	}
	queueIntents(batch, intents)
	return appends, intents, run(ctx, tx, batch)
}

// fold applies freshly recorded events to a state.
func (s *Jobs) fold(j job.Job, recorded []eventlog.Recorded) (job.Job, error) {
	for _, rec := range recorded {
		data, err := s.events.Decode(rec)
		if err != nil {
			return job.Job{}, err
		}
		j = job.Fold(j, rec, data)
	}
	return j, nil
}

// run executes a batch and returns its first error.
func run(ctx context.Context, tx pgx.Tx, batch *pgx.Batch) error {
	return classify(tx.SendBatch(ctx, batch).Close(), "write the rows of a job")
}
