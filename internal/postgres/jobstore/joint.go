package jobstore

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/admission"
	"github.com/millrace-dev/millrace/internal/postgres/committer"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/serverstore"
)

// Submissions and ends of jobs lock one row of their account until they are on the disk. Those that would wait for one
// another in a process are committed together: one lock, one append, one commit. Each has an outcome of its own. A
// submission that is refused before it wrote anything is left out. Where one fails after that, nothing is committed: the
// others are committed without it, and it is attempted alone, so that no error depends on what it was joined with.

// change is a submission or an end.
type change struct {
	submission *submission
	end        *end

	err error // of this change alone, in the transaction under way
}

// fail notes the first error of the change.
func (c *change) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// commit carries out changes of one account and returns the outcome of each.
func (s *Store) commit(ctx context.Context, account string, changes []*change) []error {
	return committer.Jointly(changes, func(changes []*change) ([]error, error) {
		err := s.commitJointly(ctx, account, changes)
		own := make([]error, len(changes))
		for i, c := range changes {
			if own[i] = c.err; err == nil && c.submission != nil {
				own[i] = c.submission.outcome()
			}
		}
		return own, err
	})
}

// end is one attempt at ending a job, as a part of a joint transaction.
type end struct {
	job.Ending
	append  *eventstore.Prepared
	intents []outbox.Intent // of jobs that were admitted in its place

	leased bool
}

// queueLeaseEnd queues the statement that ends the lease of the run's last segment.
func (e *end) queueLeaseEnd(q *pgx.Batch) {
	e.intents, e.leased = nil, false
	if e.Lease != nil {
		serverstore.QueueEnd(q, e.Ending, &e.leased)
	}
}

// check reports a lease that another driver has taken over.
func (e *end) check() error {
	if e.Lease != nil && !e.leased {
		return serverstore.ErrLeaseLost
	}
	return nil
}

func ending(e job.Ending) eventlog.Append {
	end := eventlog.Event{ID: endingID(e), Type: e.Type, Data: e.Data}
	expected := eventlog.AnyVersion
	if e.After > 0 {
		expected = e.After
	}
	return eventlog.Append{
		Stream: e.ID.Stream(), Account: e.Account, Expected: expected, Close: true,
		Events: append(slices.Clip(e.Before), end),
		Meta:   eventlog.Meta{Actor: e.Actor, Reason: e.Reason},
	}
}

// joint is a transaction of changes under way.
type joint struct {
	store   *Store
	account string
	state   admissionState
	ends    []*change
	submits []*change

	freed   []job.RunRef
	ledger  []eventlog.Append
	appends []*eventstore.Prepared
	enter   []job.RunRef
	wait    []admission.Placed[job.RunRef]
	intents []outbox.Intent // to start the jobs of enter, in the same order
	queued  *eventstore.Queued
}

// errNothingToCommit rolls a transaction back in which every change was refused.
var errNothingToCommit = errors.New("nothing to commit")

// commitJointly is one transaction of changes. If a change failed by itself, the transaction is rolled back, and its err is set.
func (s *Store) commitJointly(ctx context.Context, account string, changes []*change) error {
	t := &joint{store: s, account: account}
	for _, c := range changes {
		if c.err = nil; c.end != nil {
			t.ends = append(t.ends, c)
		} else {
			t.submits = append(t.submits, c)
		}
	}
	err := postgres.Pipelined(ctx, s.pool, t.lockAndRead, func(db postgres.Tx, q *pgx.Batch) error { return t.write(ctx, db, q) })
	if errors.Is(err, errNothingToCommit) {
		return nil
	}
	if err != nil {
		return err
	}
	s.events.Announce(t.queued.Recorded())
	t.settle()
	return nil
}

// lockAndRead queues the statements that lock the account, free slots, and write what submissions claim.
func (t *joint) lockAndRead(q *pgx.Batch) {
	queueLockAdmission(q, t.account, len(t.submits), &t.state)
	if len(t.ends) > 0 {
		ids := make([]string, len(t.ends))
		for i, c := range t.ends {
			ids[i] = string(c.end.ID)
			c.end.queueLeaseEnd(q)
		}
		t.store.slots.Leave(q, t.account, ids, &t.freed)
		q.Queue(`delete from sealed_credentials where job_id = any($1::uuid[])`, ids)
	}
	for _, c := range t.submits {
		c.submission.queueClaims(q, c.fail)
	}
}

// write decides about each change and queues what is written: ends first, since they make room for jobs that wait, and
// these come before the submissions.
func (t *joint) write(ctx context.Context, db postgres.Tx, q *pgx.Batch) error {
	if err := t.checkEnds(); err != nil {
		return err
	}
	if err := t.writeEnds(ctx, db, q); err != nil {
		return err
	}
	if err := t.writeSubmissions(ctx, db, q); err != nil {
		return err
	}
	if len(t.appends) == 0 {
		return errNothingToCommit
	}
	return t.queueAppend(q)
}

// checkEnds returns the error of the first change that has failed already.
func (t *joint) checkEnds() error {
	for _, c := range t.ends {
		c.fail(c.end.check())
	}
	for _, changes := range [][]*change{t.ends, t.submits} {
		for _, c := range changes {
			if c.err != nil {
				return c.err
			}
		}
	}
	return nil
}

// writeEnds queues what ends write, and admits jobs that wait.
func (t *joint) writeEnds(ctx context.Context, db postgres.Tx, q *pgx.Batch) error {
	if len(t.ends) == 0 {
		return nil
	}
	t.state.running -= int64(len(t.freed))
	last := t.ends[len(t.ends)-1].end
	admitted, intents, err := t.store.slots.Admit(ctx, db, q, t.account, t.state.free(last.Bounds.Slots), fits)
	if err != nil {
		return err
	}
	last.intents = intents
	t.state.running += int64(len(admitted))
	t.state.queued -= int64(len(admitted))
	for _, c := range t.ends {
		charged, err := t.store.charge(ctx, db, t.state, c.end.Ending)
		if err != nil {
			return c.caused(err)
		}
		t.ledger = append(t.ledger, charged...)
		t.appends = append(t.appends, c.end.append)
	}
	return t.prepare(admitted)
}

// caused notes an error of the change and returns it.
func (c *change) caused(err error) error {
	c.fail(err)
	return err
}

// writeSubmissions queues what the submissions write that are not refused.
func (t *joint) writeSubmissions(ctx context.Context, db postgres.Tx, q *pgx.Batch) error {
	for i, c := range t.submits {
		n := c.submission
		held, err := n.decide(ctx, t, db, t.state.number-int64(len(t.submits)-1-i))
		if err != nil {
			return c.caused(err)
		}
		if n.refused != nil {
			continue
		}
		t.ledger = append(t.ledger, held...)
		t.appends = append(t.appends, n.append)
		n.queueRows(q)
		ref := job.RunRef{Job: n.ID, Account: n.Account, Run: firstRun}
		if n.admitted {
			t.enter = append(t.enter, ref)
		} else {
			t.wait = append(t.wait, admission.Placed[job.RunRef]{Unit: ref, Place: n.Submitted.Number})
		}
	}
	t.intents = t.store.slots.Enter(q, t.account, t.enter...)
	t.store.slots.Wait(q, t.account, t.wait...)
	return nil
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

// settle tells submissions what was recorded of them.
func (t *joint) settle() {
	intents := t.intents
	for _, c := range t.submits {
		n := c.submission
		if n.refused != nil {
			continue
		}
		if n.admitted {
			n.out.Intents, intents = intents[:1:1], intents[1:]
		}
		n.out.Job, n.unread = t.store.fold(job.Job{}, t.queued.RecordedOf(n.append))
	}
}
