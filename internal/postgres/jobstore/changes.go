package jobstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/admission"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/serverstore"
)

// change is a submission or an end: the commands that lock the admission state of an account until they are on the disk.
type change struct {
	eventstore.Outcome
	submission *submission
	end        *end
}

// Size implements eventstore.Command.
func (c *change) Size() int {
	if c.end != nil {
		return c.end.append.Size()
	}
	return c.submission.size()
}

// end is the end of a job.
type end struct {
	job.Ending
	append *eventstore.Prepared
	leased bool // its driver has the lease of the run's last segment
}

// queueLeaseEnd queues the statement that ends the lease of the run's last segment.
func (e *end) queueLeaseEnd(q *pgx.Batch) {
	if e.leased = e.Lease == nil; !e.leased {
		serverstore.QueueEnd(q, e.Ending, &e.leased)
	}
}

func ending(e job.Ending) eventlog.Append {
	end := eventlog.Event{ID: endingID(e), Type: e.Type, Data: e.Data}
	expected := eventlog.AnyVersion
	if e.After > 0 {
		expected = e.After
	}
	events := append(e.Before[:len(e.Before):len(e.Before)], end)
	return eventlog.Append{
		Stream: e.ID.Stream(), Account: e.Account, Expected: expected, Close: true, Events: events,
		Meta: eventlog.Meta{Actor: e.Actor, Reason: e.Reason},
	}
}

// changes are submissions and ends of jobs of one account, which are decided together.
type changes struct {
	store   *Store
	account string
	ends    []*change
	submits []*change

	state  admissionState
	freed  []job.RunRef
	ledger []eventlog.Append
}

// decide returns the decision on submissions and ends of an account: ends first, since they make room for jobs that wait, and
// these come before the submissions.
func (s *Store) decide(account string, all []*change) eventstore.Decision {
	t := &changes{store: s, account: account}
	for _, c := range all {
		if c.end != nil {
			t.ends = append(t.ends, c)
		} else {
			t.submits = append(t.submits, c)
		}
	}
	return eventstore.Decision{What: "change jobs of account " + account, Read: t.read, Decide: t.decide}
}

// read locks the account, frees slots, and writes what submissions claim.
func (t *changes) read(q *pgx.Batch) {
	t.state, t.freed, t.ledger = admissionState{}, nil, nil
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
		c.submission.queueClaims(q, func(err error) {
			if err != nil {
				_ = c.Fail(err) // the writer returns it
			}
		})
	}
}

func (t *changes) decide(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
	for _, e := range t.ends {
		if !e.end.leased {
			return e.Fail(serverstore.ErrLeaseLost)
		}
	}
	if err := t.decideEnds(ctx, tx, c); err != nil {
		return err
	}
	accepted, err := t.decideSubmissions(ctx, tx, c)
	if err != nil {
		return err
	}
	if accepted == 0 && len(t.ends) == 0 {
		return eventstore.ErrNothing
	}
	return c.Append(accountstore.Joined(t.ledger)...)
}

// decideEnds ends jobs, and admits jobs that wait.
func (t *changes) decideEnds(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
	if len(t.ends) == 0 {
		return nil
	}
	t.state.running -= int64(len(t.freed))
	if t.state.released > 0 { // some of these jobs may have ended
		row := tx.QueryRow(ctx, `select released from job_admissions where account = $1`, t.account)
		if err := row.Scan(&t.state.released); err != nil {
			return err
		}
	}
	for _, e := range t.ends {
		charged, err := t.store.charge(ctx, tx, t.state, e.end.Ending)
		if err != nil {
			return e.Fail(err)
		}
		t.ledger = append(t.ledger, charged...)
		c.AppendPrepared(e.end.append)
	}
	last := t.ends[len(t.ends)-1].end
	admitted, err := t.store.slots.Admit(ctx, tx, c, t.account, t.state.free(last.Bounds.Slots), fits)
	t.state.running += int64(admitted)
	t.state.queued -= int64(admitted)
	return err
}

// decideSubmissions adds the submissions that are not refused, and returns their number.
func (t *changes) decideSubmissions(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) (accepted int, err error) {
	var enter []job.RunRef
	var wait []admission.Placed[job.RunRef]
	for i, s := range t.submits {
		n := s.submission
		reserved, err := n.decide(ctx, t, tx, s, t.state.number-int64(len(t.submits)-1-i))
		if err != nil {
			return 0, s.Fail(err)
		}
		if s.Refused() != nil {
			continue
		}
		accepted++
		t.ledger = append(t.ledger, reserved...)
		c.AppendPrepared(n.append)
		n.queueRows(c)
		ref := job.RunRef{Job: n.ID, Account: n.Account, Run: firstRun}
		if n.admitted {
			enter = append(enter, ref)
			c.StartBy(&n.intents, kind.Start(ref))
		} else {
			wait = append(wait, admission.Placed[job.RunRef]{Unit: ref, Place: n.Submitted.Number})
		}
	}
	t.store.slots.Enter(c, t.account, enter...)
	t.store.slots.Wait(c, t.account, wait...)
	return accepted, nil
}
