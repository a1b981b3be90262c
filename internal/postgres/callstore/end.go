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
)

// End records the end of a call: its event and its charge. It frees the call's slot and admits queued calls.
// Of concurrent ends the one that closes the stream wins. An unknown outcome leaves the stream open for a late answer.
func (s *Store) End(ctx context.Context, e call.Ending) (call.Ended, error) {
	prepared, err := s.events.Prepare(callEnding(e, false))
	if err != nil {
		return call.Ended{}, err
	}
	last := &ending{Ending: e, withSlot: prepared}
	_, err = s.changes.Do(ctx, e.Account, &change{end: last})
	switch {
	case eventlog.IsRefused(err):
		return s.refusedCallEnd(ctx, e)
	case err != nil:
		return call.Ended{}, postgres.Classify(err, "end call "+string(e.Call))
	}
	return call.Ended{Applied: true, Recorded: last.append.Recorded()}, nil
}

// ending is the end of a call.
type ending struct {
	call.Ending
	withSlot *eventstore.Prepared // if the call has its slot until then
	append   *eventstore.Prepared // in the transaction under way
}

// decide counts the end in the state of the account. It returns the events for the ledger of a metered account.
func (e *ending) decide(ctx context.Context, tx postgres.Tx, t *changes) (charged []eventlog.Append, err error) {
	e.append = e.withSlot
	if at := slices.IndexFunc(t.freed, func(u unit) bool { return u.id == e.Call }); at >= 0 {
		t.state.leave(t.freed[at])
	} else if e.append, err = t.store.events.Prepare(callEnding(e.Ending, true)); err != nil {
		return nil, err
	}
	t.state.spent += e.Charged
	if e.ReleaseKey {
		maps.DeleteFunc(t.keys, func(_ string, id call.ID) bool { return id == e.Call })
	}
	return t.store.settleCredit(ctx, tx, t.state, e.Ending)
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
		return s.credits.Release(ctx, db, e.Account, holdID(e.Call))
	default:
		return s.credits.Settle(ctx, db, e.Account, holdID(e.Call), e.Charged)
	}
}

// keepBodiesUntil has what calls that end refer to kept for its retention: the requests, and the answers.
const keepBodiesUntil = `with answers as (insert into call_blobs (call_id, ref, keep_until)
		select a.id, a.ref, now() + $2::interval from unnest($3::uuid[], $4::bytea[]) as a (id, ref) on conflict do nothing)
	update call_blobs set keep_until = now() + $2::interval where call_id = any($1::uuid[])`

// addEnded adds the statements that update the rows of calls that end.
func (t *changes) addEnded(add *eventstore.Changes) {
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
		add.Queue(`update call_admissions set spent = spent + $2 where account = $1`, t.account, charged)
	}
	if len(free) > 0 {
		add.Queue(`delete from call_keys where account = $1 and call_id = any($2::uuid[])`, t.account, free)
	}
	add.Queue(keepBodiesUntil, ended, call.Retention, answered, refs)
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
func (s *Store) Admit(ctx context.Context, account string, limits call.Limits) error {
	var l admissionState
	read := func(q *pgx.Batch) { l = admissionState{}; queueLockAdmission(q, account, &l) }
	return s.slots.Fill(ctx, s.events, account, read, func() (int64, func(unit) bool) { return l.waiting(1), l.fits(limits) })
}

// Cancel implements call.Store.
func (s *Store) Cancel(ctx context.Context, account string, id call.ID, requestID string) (active bool, err error) {
	meta := eventlog.Meta{Actor: account, RequestID: requestID}
	ended, err := s.endQueued(ctx, account, id, call.TypeCanceled, call.CanceledV1{}, meta)
	if ended || err != nil {
		return ended, err
	}
	var run int
	_, err = s.events.Write(ctx, eventstore.Decision{
		What:    "cancel call " + string(id),
		Repeats: true,
		Read: func(q *pgx.Batch) {
			run = 0
			postgres.ScanInto(q.Queue(`update call_slots set payload = payload || '{"canceling": true}'
				where call_id = $1 and account = $2 returning run`, id, account), &run)
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if run == 0 {
				return eventstore.ErrNothing
			}
			c.Start(outbox.Intent{WorkflowID: id.WorkflowID(run), Kind: outbox.Cancel})
			requested := eventlog.Event{
				ID: call.EventID(id, 0, call.TypeCancelRequested), Type: call.TypeCancelRequested,
				Data: call.CancelRequestedV1{},
			}
			return c.Append(eventlog.AppendTo(id.Stream(), account, meta, requested))
		},
	})
	if errors.Is(err, eventlog.ErrClosed) {
		return false, nil
	}
	return run != 0, err
}

// endQueued ends a queued call. It reports whether the call was queued.
func (s *Store) endQueued(ctx context.Context, account string, id call.ID, eventType string, event any, meta eventlog.Meta) (bool, error) {
	var l admissionState
	var gone []unit
	_, err := s.events.Write(ctx, eventstore.Decision{
		What: "end queued call " + string(id),
		Read: func(q *pgx.Batch) {
			queueLockAdmission(q, account, &l)
			s.slots.Withdraw(q, account, []string{string(id)}, &gone)
		},
		Decide: func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
			if len(gone) == 0 {
				return eventstore.ErrNothing
			}
			var waiting call.Run
			if err := json.Unmarshal(gone[0].payload, &waiting); err != nil {
				return err
			}
			released, err := s.settleCredit(ctx, tx, l, call.Ending{Run: call.Run{Call: id, Account: account}})
			if err != nil {
				return err
			}
			c.Queue(`update call_blobs set keep_until = now() where call_id = $1`, id)
			last := eventlog.Event{ID: call.EventID(id, 0, eventType), Type: eventType, Data: ofModel(event, waiting.Model)}
			return c.Append(append(released, eventlog.AppendTo(id.Stream(), account, meta, last).Closing())...)
		},
	})
	return len(gone) > 0 && err == nil, err
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

// Settlement is what an operator has determined about a call of unknown outcome.
type Settlement struct {
	Charged int64
	FreeKey bool       // a request with the idempotency key may run again
	Answer  *call.Body // makes the call succeed; nil = its outcome stays unknown
	By      eventlog.Meta
}

// Reconcile settles a call of unknown outcome.
func (s *Store) Reconcile(ctx context.Context, account string, id call.ID, found Settlement) error {
	c, err := s.Load(ctx, account, id)
	if err != nil {
		return err
	}
	if c.State != call.Unknown || c.Charged != nil {
		return fault.New(fault.Conflict, fault.CodeCallSettled, "the outcome of call %s is known", id)
	}
	e := call.Ending{
		Run: call.Run{Call: id, Account: account}, Type: call.TypeReconciled, Charged: found.Charged, ReleaseKey: found.FreeKey,
		Actor: found.By.Actor, Reason: found.By.Reason, RequestID: found.By.RequestID,
		Data: call.ReconciledV1{Model: c.Model, Charged: found.Charged, KeyFreed: found.FreeKey},
	}
	if found.Answer == nil {
		err = s.settle(ctx, e)
	} else {
		e.Type, e.Keep = call.TypeSucceeded, []call.Body{*found.Answer}
		e.Data = call.SucceededV1{Model: c.Model, Answer: *found.Answer, Replayable: true, Charged: found.Charged, Served: c.Served}
		var ended call.Ended
		if ended, err = s.End(ctx, e); err == nil && !ended.Applied {
			err = eventlog.ErrClosed
		}
	}
	if eventlog.IsRefused(err) {
		return fault.New(fault.Conflict, fault.CodeCallSettled, "the outcome of call %s became known meanwhile", id)
	}
	return err
}

// settle settles the credit of a call whose outcome stays unknown.
func (s *Store) settle(ctx context.Context, e call.Ending) error {
	var l admissionState
	_, err := s.events.Write(ctx, eventstore.Decision{
		What: "reconcile call " + string(e.Call),
		Read: func(q *pgx.Batch) { queueLockAdmission(q, e.Account, &l) },
		Decide: func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
			settled, err := s.settleCredit(ctx, tx, l, e)
			if err != nil {
				return err
			}
			c.Queue(`update call_admissions set spent = spent + $2 where account = $1`, e.Account, e.Charged)
			if e.ReleaseKey {
				c.Queue(`delete from call_keys where account = $1 and call_id = $2`, e.Account, e.Call)
			}
			return c.Append(append(settled, callEnding(e, false))...)
		},
	})
	return err
}
