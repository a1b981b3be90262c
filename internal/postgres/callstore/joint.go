package callstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/admission"
	"github.com/millrace-dev/millrace/internal/postgres/committer"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Acceptances and ends of calls lock one row of their account until they are on the disk. Those that would wait for one
// another in a process are committed together: one lock, one append, one commit. Each has an outcome of its own. A call
// that is refused has written nothing and is left out. If another one fails, nothing is committed, and committer.Jointly
// takes the transaction apart.

// change is an acceptance or an end of a call.
type change struct {
	accept *acceptance
	end    *ending

	err error // of this change alone, in the transaction under way
}

// outcome returns the error of a change whose transaction is committed.
func (c *change) outcome() error {
	if c.accept == nil {
		return nil
	}
	return c.accept.outcome()
}

// caused notes the error by which the change fails its transaction.
func (c *change) caused(err error) error {
	c.err = err
	return err
}

// commit carries out changes of one account and returns the outcome of each.
func (s *Store) commit(ctx context.Context, account string, changes []*change) []error {
	return committer.Jointly(changes, func(changes []*change) ([]error, error) {
		err := s.commitJointly(ctx, account, changes)
		own := make([]error, len(changes))
		for i, c := range changes {
			if own[i] = c.err; err == nil {
				own[i] = c.outcome()
			}
		}
		return own, err
	})
}

// joint is a transaction of changes under way.
type joint struct {
	store   *Store
	account string
	state   admissionState
	accepts []*change
	ends    []*change

	keys    map[string]call.ID // idempotency keys that changes name and that are in use, with their calls
	windows map[string]*window // rate limits that changes are counted against, by their names
	freed   []unit

	ledger   []eventlog.Append
	appends  []*eventstore.Prepared
	accepted []*acceptance
	enter    []unit
	wait     []admission.Placed[unit]
	intents  []outbox.Intent // to start the calls of enter, in the same order
	queued   *eventstore.Queued
}

// errNothing rolls a transaction back in which every change was refused.
var errNothing = errors.New("nothing to commit")

// commitJointly is one transaction of changes. If a change failed by itself, the transaction is rolled back, and its err is set.
func (s *Store) commitJointly(ctx context.Context, account string, changes []*change) error {
	t := &joint{store: s, account: account, keys: map[string]call.ID{}, windows: map[string]*window{}}
	for _, c := range changes {
		if c.err = nil; c.end != nil {
			t.ends = append(t.ends, c)
		} else {
			c.accept.reset()
			t.accepts = append(t.accepts, c)
		}
	}
	err := postgres.Pipelined(ctx, s.pool, t.lockAndRead, func(db postgres.Tx, q *pgx.Batch) error { return t.write(ctx, db, q) })
	if errors.Is(err, errNothing) {
		return nil
	}
	if err != nil {
		return err
	}
	s.events.Announce(t.queued.Recorded())
	t.settle()
	return nil
}

// lockAndRead queues the statements that lock the account, free slots, and read what decides about the calls to accept.
func (t *joint) lockAndRead(q *pgx.Batch) {
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
				t.windows[w.Name].count(q, t.account, w.Name, 0)
			}
		}
	}
}

// readKeys queues the statement that reads which keys are in use. Whoever claims or releases a key holds the lock of
// its account.
func (t *joint) readKeys(q *pgx.Batch) {
	var keys []string
	for _, c := range t.accepts {
		if c.accept.Key != "" {
			keys = append(keys, c.accept.Key)
		}
	}
	if len(keys) == 0 {
		return
	}
	q.Queue(`select key, call_id::text from call_keys where account = $1 and key = any($2) and expires_at > now()`, t.account, keys).
		Query(func(rows pgx.Rows) error {
			var key string
			var id call.ID
			_, err := pgx.ForEachRow(rows, []any{&key, &id}, func() error {
				t.keys[key] = id
				return nil
			})
			return err
		})
}

// write decides about each change and queues what is written: ends first, since they make room for calls that wait, and
// these come before the acceptances.
func (t *joint) write(ctx context.Context, db postgres.Tx, q *pgx.Batch) error {
	if err := t.writeEnds(ctx, db, q); err != nil {
		return err
	}
	if err := t.decide(ctx, db); err != nil {
		return err
	}
	if len(t.appends) == 0 {
		return errNothing
	}
	t.writeAcceptances(q)
	return t.queueAppend(q)
}

// writeEnds queues what ends write, and admits calls that wait.
func (t *joint) writeEnds(ctx context.Context, db postgres.Tx, q *pgx.Batch) error {
	if len(t.ends) == 0 {
		return nil
	}
	for _, c := range t.ends {
		charged, err := c.end.write(ctx, db, t)
		if err != nil {
			return c.caused(err)
		}
		t.ledger = append(t.ledger, charged...)
		t.appends = append(t.appends, c.end.append)
	}
	t.queueEnded(q)
	last := t.ends[len(t.ends)-1].end
	admitted, intents, err := t.store.slots.Admit(ctx, db, q, t.account, t.state.waiting(len(t.ends)), t.state.fits(last.Limits))
	if err != nil {
		return err
	}
	t.state.queued -= len(admitted)
	last.intents = intents
	return t.prepare(admitted)
}

// decide decides about each call to accept, in the order of their arrival.
func (t *joint) decide(ctx context.Context, db postgres.Tx) error {
	for _, c := range t.accepts {
		held, err := c.accept.decide(ctx, db, t)
		if err != nil {
			return c.caused(err)
		}
		if c.accept.refused != nil {
			continue
		}
		t.ledger = append(t.ledger, held...)
		t.appends = append(t.appends, c.accept.append)
		t.accepted = append(t.accepted, c.accept)
	}
	return nil
}

// writeAcceptances queues what the calls write that are not refused: their keys, what they count, the references to their
// bodies, and their slots with the start intents or their rows in the queue.
func (t *joint) writeAcceptances(q *pgx.Batch) {
	if len(t.accepted) == 0 {
		return
	}
	queueClaims(q, t.account, t.accepted)
	for name, w := range t.windows {
		if w.counted > 0 {
			w.count(q, t.account, name, w.counted)
		}
	}
	queueRequests(q, t.accepted)
	for _, n := range t.accepted {
		u := n.unit()
		if n.admitted {
			t.enter = append(t.enter, u)
		} else {
			t.wait = append(t.wait, admission.Placed[unit]{Unit: u, Place: n.place()})
		}
	}
	t.intents = t.store.slots.Enter(q, t.account, t.enter...)
	t.store.slots.Wait(q, t.account, t.wait...)
}

// queueAppend queues the one append, behind everything else.
func (t *joint) queueAppend(q *pgx.Batch) (err error) {
	if err := t.prepare(accountstore.Joined(t.ledger)); err != nil {
		return err
	}
	t.queued, err = t.store.events.QueuePrepared(q, t.appends)
	return err
}

func (t *joint) prepare(appends []eventlog.Append) error {
	for _, a := range appends {
		p, err := t.store.events.Prepare(a)
		if err != nil {
			return err
		}
		t.appends = append(t.appends, p)
	}
	return nil
}

// settle tells the changes what was recorded of them.
func (t *joint) settle() {
	for _, c := range t.ends {
		c.end.recorded = t.queued.RecordedOf(c.end.append)
	}
	intents := t.intents
	for _, n := range t.accepted {
		if n.admitted {
			n.out.Intents, intents = intents[:1:1], intents[1:]
		}
		n.out.Call, n.unread = t.store.fold(t.queued.RecordedOf(n.append))
	}
}
