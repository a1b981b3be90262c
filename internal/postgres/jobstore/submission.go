package jobstore

import (
	"cmp"
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/deploymentstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/keystore"
)

// submission is a job to accept.
type submission struct {
	job.NewJob
	first uuid.UUID // of its events

	routing  deployment.Routing // of the deployment, if it chooses the version
	repeated bool               // the account has chosen its public id before
	admitted bool
	append   *eventstore.Prepared
	intents  []outbox.Intent // after the commit
}

// size returns about how many bytes the submission writes.
func (n *submission) size() int {
	size := 2*eventOverhead + len(n.Submitted.Document.Inline) + len(n.Sealed) + len(n.Pins)*64
	for name, value := range n.Submitted.Metadata {
		size += len(name) + len(value)
	}
	return size
}

// eventOverhead is about what an event of a job takes in the log beside the data of its client.
const eventOverhead = 512

// claims reports whether the submission writes before it is known whether it is refused.
func (n *submission) claims() bool {
	return len(n.Pins) > 0 || n.IdempotencyKey != "" || n.Submitted.PublicID != ""
}

// queueClaims queues the statements that write what the submission claims: its files, its idempotency key and its public id.
func (n *submission) queueClaims(q *pgx.Batch, fail func(error)) {
	n.repeated, n.admitted, n.append, n.intents, n.routing = false, false, nil, nil, deployment.Routing{}
	if n.RouteKey != "" {
		deploymentstore.QueueRouting(q, n.Submitted.Deployment.ID, &n.routing)
	}
	if n.Submitted.PublicID != "" {
		n.queueTaken(q, fail)
	}
	if len(n.Pins) > 0 {
		q.Queue(pinAssets, n.Account, n.ID, n.Pins).Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() < int64(len(n.Pins)) {
				fail(fault.New(fault.Invalid, fault.CodeMissingAsset, "a file that the workflow loads was deleted meanwhile"))
			}
			return nil
		})
	}
	if n.IdempotencyKey != "" {
		keystore.QueueClaim(q, n.Account, n.Operation, n.IdempotencyKey, string(n.ID), fail)
	}
	if chosen := n.Submitted.PublicID; chosen != "" {
		q.Queue(`insert into job_public_ids (account, public_id, job_id) values ($1, $2, $3) on conflict do nothing`, n.Account, chosen, n.ID).
			Exec(func(tag pgconn.CommandTag) error {
				n.repeated = tag.RowsAffected() == 0
				return nil
			})
	}
}

// takenID finds a job of the account that clients know by an id that nobody chose: the id that a client chooses now.
const takenID = `select exists (select from streams where id = $1 and account = $2)
	and not exists (select from job_public_ids where job_id = $3)`

func (n *submission) queueTaken(q *pgx.Batch, fail func(error)) {
	chosen := n.Submitted.PublicID
	q.Queue(takenID, job.ID(chosen).Stream(), n.Account, chosen).QueryRow(func(row pgx.Row) error {
		var taken bool
		err := row.Scan(&taken)
		if taken {
			fail(duplicateJob(nil))
		}
		return err
	})
}

// pinAssets pins the files that a job loads, so that they are not deleted. The row locks order it against a
// concurrent deletion.
const pinAssets = `insert into asset_holds (asset_id, job_id)
	select asset_id, $2 from files where account = $1 and asset_id = any($3::uuid[]) for share`

// decide decides whether the job is accepted, and whether it runs now. counter is its number in the account. It returns what
// is appended to the ledger of a metered account.
func (n *submission) decide(ctx context.Context, t *changes, tx postgres.Tx, c *change, counter int64) ([]eventlog.Append, error) {
	if err := t.state.refusal(n.Bounds, n.Price.Hold()); err != nil {
		return nil, n.refuse(c, err)
	}
	if n.repeated {
		return nil, duplicateJob(nil)
	}
	if err := n.routed(); err != nil {
		return nil, n.refuse(c, err)
	}
	reserved, err := t.store.reserve(ctx, tx, t.state, &n.NewJob)
	if fault.Is(err, fault.Exhausted) {
		return nil, n.refuse(c, err)
	}
	if err != nil {
		return nil, err
	}
	n.Submitted.Number = numberOf(n.NewJob, counter)
	n.admitted = t.state.admits(n.Bounds.Slots)
	t.state.enter(n.admitted, n.Price.Hold())
	n.append, err = t.store.events.Prepare(n.begin())
	return reserved, err
}

// routed returns why the version of a call does not answer it, or nil.
func (n *submission) routed() error {
	if n.RouteKey == "" {
		return nil
	}
	called := n.Submitted.Deployment
	if err := n.routing.Refusal(called.Name); err != nil {
		return err
	}
	if n.routing.Of(n.RouteKey) != called.Version {
		return deployment.ErrMoved
	}
	return nil
}

// refuse refuses the submission alone, if it has written nothing.
func (n *submission) refuse(c *change, err error) error {
	if n.claims() {
		return err
	}
	c.Refuse(err)
	return nil
}

// numberOf picks the queue number: the client's own, else the counter, negative for front.
func numberOf(n job.NewJob, counter int64) float64 {
	switch {
	case n.Number != nil:
		return *n.Number
	case n.Front:
		return -float64(counter)
	default:
		return float64(counter)
	}
}

// queueRows adds a job's rows beside its slot: its credential, and what it is a retry of.
func (n *submission) queueRows(c *eventstore.Changes) {
	if n.Sealed != nil {
		c.Queue(`insert into sealed_credentials (job_id, sealed) values ($1, $2)`, n.ID, n.Sealed)
	}
	if o := n.Submitted.Origin; o != nil {
		c.Queue(`insert into job_retries (job_id, origin) values ($1, $2)`, n.ID, o.Job)
	}
}

// begin is the append that begins the job. Its first event has an id of this one request: a second
// submission under a client's chosen job id must run into the stream's version and be refused, not
// be taken for a repetition of the first, which may be another account's.
func (n *submission) begin() eventlog.Append {
	events := []eventlog.Event{{ID: n.first, Type: job.TypeSubmitted, Data: n.Submitted}}
	if n.admitted {
		events = append(events, admitted(n.ID))
	}
	return eventlog.Append{
		Stream: n.ID.Stream(), Account: n.Account, Expected: 0, Events: events,
		Meta: eventlog.Meta{Actor: cmp.Or(n.Actor, n.Account), RequestID: n.RequestID, Reason: n.Reason},
	}
}
