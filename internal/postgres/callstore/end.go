package callstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/outboxstore"
)

// End records the end of a call: its event and its charge. It frees the call's slot and admits queued calls.
// Of concurrent ends the one that closes the stream wins. An unknown outcome leaves the stream open for a late answer.
func (s *Store) End(ctx context.Context, e call.Ending) (call.Ended, error) {
	prepared, err := s.events.Prepare(callEnding(e, false))
	if err != nil {
		return call.Ended{}, err
	}
	last := &ending{Ending: e, withSlot: prepared}
	err = s.changes.Do(ctx, e.Account, prepared.Size(), &change{end: last})
	switch {
	case eventstore.IsRefused(err):
		return s.refusedCallEnd(ctx, e)
	case err != nil:
		return call.Ended{}, postgres.Classify(err, "end call "+string(e.Call))
	}
	return call.Ended{Applied: true, Intents: last.intents, Recorded: last.recorded}, nil
}

// ending is one attempt to end a call, as a part of a joint transaction.
type ending struct {
	call.Ending
	withSlot *eventstore.Prepared // if the call has its slot until then
	append   *eventstore.Prepared // in the transaction under way
	intents  []outbox.Intent      // of calls that were admitted in its place
	recorded []eventlog.Recorded
}

// write counts the end in the state of the account. It returns what is appended to the ledger of a metered account.
func (e *ending) write(ctx context.Context, db postgres.Tx, t *joint) (charged []eventlog.Append, err error) {
	e.intents, e.append = nil, e.withSlot
	if held := slices.IndexFunc(t.freed, func(u unit) bool { return u.id == e.Call }); held >= 0 {
		t.state.leave(t.freed[held])
	} else if e.append, err = t.store.events.Prepare(callEnding(e.Ending, true)); err != nil {
		return nil, err
	}
	t.state.spent += e.Charged
	if e.ReleaseKey {
		maps.DeleteFunc(t.keys, func(_ string, id call.ID) bool { return id == e.Call })
	}
	return t.store.settleCredit(ctx, db, t.state, e.Ending)
}

// refusedCallEnd returns nil if the call has already ended, otherwise an error that the log refuses the event.
func (s *Store) refusedCallEnd(ctx context.Context, e call.Ending) (call.Ended, error) {
	c, err := s.Load(ctx, e.Account, e.Call)
	if err == nil && !c.State.Final() {
		err = fmt.Errorf("end call %s: the log refuses %s in state %s", e.Call, e.Type, c.State)
	}
	return call.Ended{}, err
}

// leave counts a freed slot as free.
func (l *admissionState) leave(freed unit) {
	l.inFlight--
	l.committed -= freed.held
	l.costly -= oneIf(freed.costly)
}

// fits returns the gate for queued calls, which counts each call that it admits.
func (l *admissionState) fits(limits call.Limits) func(unit) bool {
	return func(u unit) bool {
		if l.gate(limits, u.held, u.costly) != nil {
			return false
		}
		l.inFlight++
		l.committed += u.held
		l.costly += oneIf(u.costly)
		return true
	}
}

// waiting returns the number of queued calls that a transaction of so many ends reads. The next end of a call admits more.
func (l *admissionState) waiting(ends int) int64 { return int64(min(l.queued, ends*admitAtMost)) }

// settleCredit settles or releases the credit reserved for the call, unless its outcome is unknown.
func (s *Store) settleCredit(ctx context.Context, db postgres.Tx, l admissionState, e call.Ending) ([]eventlog.Append, error) {
	switch {
	case !l.metered || e.Reservation == call.KeepReserved:
		return nil, nil
	case e.Charged == 0:
		return s.credits.ReleaseTx(ctx, db, e.Account, holdID(e.Call))
	default:
		return s.credits.SettleTx(ctx, db, e.Account, holdID(e.Call), e.Charged)
	}
}

// keepBodiesUntil has what calls that end refer to kept for its retention: the requests, and the answers.
const keepBodiesUntil = `with answers as (insert into call_blobs (call_id, ref, keep_until)
		select a.id, a.ref, now() + $2::interval from unnest($3::uuid[], $4::bytea[]) as a (id, ref) on conflict do nothing)
	update call_blobs set keep_until = now() + $2::interval where call_id = any($1::uuid[])`

// queueEnded queues the statements that update the rows of calls that end.
func (t *joint) queueEnded(q *pgx.Batch) {
	var ended, free, answered []string
	var refs [][]byte
	var charged int64
	for _, c := range t.ends {
		e := &c.end.Ending
		id := string(e.Call)
		ended = append(ended, id)
		charged += e.Charged
		if e.ReleaseKey {
			free = append(free, id)
		}
		for i := range e.Keep {
			answered, refs = append(answered, id), append(refs, e.Keep[i].Ref[:])
		}
	}
	if charged != 0 {
		q.Queue(`update call_lanes set spent = spent + $2 where account = $1`, t.account, charged)
	}
	if len(free) > 0 {
		q.Queue(`delete from call_keys where account = $1 and call_id = any($2::uuid[])`, t.account, free)
	}
	q.Queue(keepBodiesUntil, ended, call.Retention, answered, refs)
}

func callEnding(e call.Ending, late bool) eventlog.Append {
	event := e.Data
	switch f := event.(type) { // the slot was freed before, when the outcome became unknown
	case call.SucceededV1:
		f.Late, event = late, f
	case call.FailedV1:
		f.Late, event = late, f
	}
	return eventlog.Append{
		Stream: e.Call.Stream(), Account: e.Account, Expected: eventlog.AnyVersion, Close: e.Type != call.TypeOutcomeUnknown,
		Events: append(slices.Clip(e.Before), eventlog.Event{ID: call.EventID(e.Call, 0, e.Type), Type: e.Type, Data: event}),
		Meta:   eventlog.Meta{Actor: e.Actor, Reason: e.Reason, RequestID: e.RequestID},
	}
}

// admitAtMost bounds how many queued calls a transaction admits for an end.
const admitAtMost = 16

// Admit admits queued calls of an account without the end of another call, for example after its tier changed.
func (s *Store) Admit(ctx context.Context, account string, limits call.Limits) ([]outbox.Intent, error) {
	var l admissionState
	look := func(q *pgx.Batch) { queueLockAdmission(q, account, &l) }
	return s.slots.Fill(ctx, s.pool, s.events, account, look, func() (int64, func(unit) bool) { return l.waiting(1), l.fits(limits) })
}

// Cancel implements call.Store.
func (s *Store) Cancel(ctx context.Context, account string, id call.ID, requestID string) (call.Cancellation, error) {
	ended, err := s.endQueued(ctx, account, id, call.TypeCanceled, call.CanceledV1{}, eventlog.Meta{Actor: account, RequestID: requestID})
	if ended || err != nil {
		return call.Cancellation{Active: ended}, err
	}
	out := call.Cancellation{Active: true}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var run int
		err := tx.QueryRow(ctx, `update call_slots set payload = payload || '{"canceling": true}'
			where call_id = $1 and account = $2 returning run`, id, account).Scan(&run)
		if errors.Is(err, pgx.ErrNoRows) {
			out.Active = false
			return nil
		}
		if err != nil {
			return err
		}
		out.Intents, err = outboxstore.Insert(ctx, tx, []outbox.Intent{{WorkflowID: id.WorkflowID(run), Kind: outbox.Cancel}})
		if err != nil {
			return err
		}
		_, err = s.events.AppendTx(ctx, tx, eventlog.Append{
			Stream: id.Stream(), Account: account, Expected: eventlog.AnyVersion,
			Events: []eventlog.Event{{ID: call.EventID(id, 0, call.TypeCancelRequested), Type: call.TypeCancelRequested, Data: call.CancelRequestedV1{}}},
			Meta:   eventlog.Meta{Actor: account, RequestID: requestID},
		})
		return err
	})
	if errors.Is(err, eventlog.ErrClosed) {
		return call.Cancellation{}, nil
	}
	if err == nil && out.Active {
		s.events.Wake()
	}
	return out, postgres.Classify(err, "cancel call "+string(id))
}

// endQueued ends a queued call. It reports whether the call was queued.
func (s *Store) endQueued(ctx context.Context, account string, id call.ID, eventType string, event any, meta eventlog.Meta) (bool, error) {
	var l admissionState
	var gone []unit
	look := func(q *pgx.Batch) {
		queueLockAdmission(q, account, &l)
		s.slots.Withdraw(q, account, []string{string(id)}, &gone)
	}
	err := postgres.Pipelined(ctx, s.pool, look, func(db postgres.Tx, q *pgx.Batch) error {
		if len(gone) == 0 {
			return nil
		}
		var waiting call.Run
		if err := json.Unmarshal(gone[0].payload, &waiting); err != nil {
			return err
		}
		appends, err := s.settleCredit(ctx, db, l, call.Ending{Run: call.Run{Call: id, Account: account}})
		if err != nil {
			return err
		}
		q.Queue(`update call_blobs set keep_until = now() where call_id = $1`, id)
		_, err = s.events.QueueAppend(q, append([]eventlog.Append{{
			Stream: id.Stream(), Account: account, Expected: eventlog.AnyVersion, Close: true, Meta: meta,
			Events: []eventlog.Event{{ID: call.EventID(id, 0, eventType), Type: eventType, Data: ofModel(event, waiting.Model)}},
		}}, appends...))
		return err
	})
	if err != nil {
		return false, postgres.Classify(err, "end queued call "+string(id))
	}
	if len(gone) > 0 {
		s.events.Wake()
	}
	return len(gone) > 0, nil
}

func ofModel(event any, model string) any {
	switch f := event.(type) {
	case call.CanceledV1:
		f.Model = model
		return f
	case call.FailedV1:
		f.Model = model
		return f
	}
	return event
}

// Reconcile settles a call of unknown outcome with the charge that an operator has determined.
func (s *Store) Reconcile(ctx context.Context, account string, id call.ID, charged int64, by eventlog.Meta) error {
	c, err := s.Load(ctx, account, id)
	if err != nil {
		return err
	}
	if c.State != call.Unknown || c.Charged != nil {
		return fault.New(fault.Conflict, fault.CodeCallSettled, "the outcome of call %s is known", id)
	}
	var l admissionState
	e := call.Ending{
		Run: call.Run{Call: id, Account: account}, Type: call.TypeReconciled, Charged: charged, Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID,
		Data: call.ReconciledV1{Model: c.Model, Charged: charged},
	}
	err = postgres.Pipelined(ctx, s.pool, func(q *pgx.Batch) { queueLockAdmission(q, account, &l) }, func(db postgres.Tx, q *pgx.Batch) error {
		appends, err := s.settleCredit(ctx, db, l, e)
		if err != nil {
			return err
		}
		q.Queue(`update call_lanes set spent = spent + $2 where account = $1`, account, charged)
		_, err = s.events.QueueAppend(q, append([]eventlog.Append{callEnding(e, false)}, appends...))
		return err
	})
	if eventstore.IsRefused(err) {
		return fault.New(fault.Conflict, fault.CodeCallSettled, "the outcome of call %s became known meanwhile", id)
	}
	if err != nil {
		return postgres.Classify(err, "reconcile call "+string(id))
	}
	s.events.Wake()
	return nil
}
