package callstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/admission"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// change is an acceptance or an end of a call: the commands that lock the admission state of an account until they are on the
// disk.
type change struct {
	eventstore.Outcome
	accept *acceptance
	end    *ending
}

// Size implements eventstore.Command.
func (c *change) Size() int {
	if c.end != nil {
		return c.end.withSlot.Size()
	}
	return acceptanceSize
}

// changes are acceptances and ends of calls of one account, which are decided together.
type changes struct {
	store   *Store
	account string
	accepts []*change
	ends    []*change

	state   admissionState
	keys    map[string]call.ID // idempotency keys that changes name and that are in use, with their calls
	windows map[string]*window // rate limits that changes are counted against, by their names
	freed   []unit
	ledger  []eventlog.Append
}

// decide returns the decision on acceptances and ends of an account: ends first, since they make room for calls that wait, and
// these come before the acceptances.
func (s *Store) decide(account string, all []*change) eventstore.Decision {
	t := &changes{store: s, account: account}
	for _, c := range all {
		if c.end != nil {
			t.ends = append(t.ends, c)
		} else {
			t.accepts = append(t.accepts, c)
		}
	}
	return eventstore.Decision{What: "change calls of account " + account, Read: t.read, Decide: t.decide}
}

// read locks the account, frees slots, and reads what decides about the calls to accept.
func (t *changes) read(q *pgx.Batch) {
	t.state, t.keys, t.windows, t.freed, t.ledger = admissionState{}, map[string]call.ID{}, map[string]*window{}, nil, nil
	queueLockAdmission(q, t.account, &t.state)
	if len(t.ends) > 0 {
		ids := make([]string, len(t.ends))
		for i, c := range t.ends {
			ids[i] = string(c.end.Call)
		}
		t.store.slots.Leave(q, t.account, ids, &t.freed)
	}
	t.readKeys(q)
	for _, c := range t.accepts {
		for _, w := range c.accept.Limits.Windows {
			if t.windows[w.Name] == nil {
				t.windows[w.Name] = &window{length: w.Length}
				t.windows[w.Name].read(q.Queue, t.account, w.Name, 0)
			}
		}
	}
}

// readKeys queues the statement that reads which keys are in use. Whoever claims or releases a key has the lock of its
// account.
func (t *changes) readKeys(q *pgx.Batch) {
	var keys []string
	for _, c := range t.accepts {
		if c.accept.Key != "" {
			keys = append(keys, c.accept.Key)
		}
	}
	if len(keys) == 0 {
		return
	}
	used := q.Queue(`select key, call_id::text from call_keys where account = $1 and key = any($2) and expires_at > now()`, t.account, keys)
	postgres.EachInto(used, func(row pgx.CollectableRow) error {
		var key string
		var id call.ID
		err := row.Scan(&key, &id)
		t.keys[key] = id
		return err
	})
}

func (t *changes) decide(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
	if err := t.decideEnds(ctx, tx, c); err != nil {
		return err
	}
	var accepted []*acceptance
	for _, a := range t.accepts { // in the order of their arrival
		reserved, err := a.accept.decide(ctx, tx, t, a)
		if err != nil {
			return a.Fail(err)
		}
		if a.Refused() == nil {
			t.ledger = append(t.ledger, reserved...)
			c.AppendPrepared(a.accept.append)
			accepted = append(accepted, a.accept)
		}
	}
	if len(accepted) == 0 && len(t.ends) == 0 {
		return eventstore.ErrNothing
	}
	t.addAcceptances(c, accepted)
	return c.Append(accountstore.Joined(t.ledger)...)
}

// decideEnds ends calls, and admits calls that wait.
func (t *changes) decideEnds(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
	if len(t.ends) == 0 {
		return nil
	}
	for _, e := range t.ends {
		charged, err := e.end.decide(ctx, tx, t)
		if err != nil {
			return e.Fail(err)
		}
		t.ledger = append(t.ledger, charged...)
		c.AppendPrepared(e.end.append)
	}
	t.addEnded(c)
	last := t.ends[len(t.ends)-1].end
	admitted, err := t.store.slots.Admit(ctx, tx, c, t.account, t.state.waiting(len(t.ends)), t.state.fits(last.Limits))
	t.state.queued -= admitted
	return err
}

// addAcceptances adds what accepted calls write: their keys, what they count, the references to their bodies, and their slots
// with the start intents or their rows in the queue.
func (t *changes) addAcceptances(c *eventstore.Changes, accepted []*acceptance) {
	if len(accepted) == 0 {
		return
	}
	addClaims(c, t.account, accepted)
	for name, w := range t.windows {
		if w.counted > 0 {
			w.read(c.Queue, t.account, name, w.counted)
		}
	}
	addRequests(c, accepted)
	var enter []unit
	var wait []admission.Placed[unit]
	for _, n := range accepted {
		u := n.unit()
		if n.admitted {
			enter = append(enter, u)
			c.StartBy(&n.out.Intents, kind.Start(u))
		} else {
			wait = append(wait, admission.Placed[unit]{Unit: u, Place: n.place()})
		}
	}
	t.store.slots.Enter(c, t.account, enter...)
	t.store.slots.Wait(c, t.account, wait...)
}
