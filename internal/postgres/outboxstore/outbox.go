// Package outboxstore stores the outbox in PostgreSQL: the intents that a transaction records together with its
// events, for a relay to deliver. It promises that the intents of one workflow are claimed in order, and each by one
// relay at a time.
package outboxstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// grace is how long a new intent is reserved for the process that wrote it before a relay may claim it.
const grace = 5 * time.Second

// clockSet is longer than any delay of an intent: an intent that is due later was leased before the database's clock
// was set back.
const clockSet = 5 * time.Minute

// Store is the table of intents. It implements outbox.Store.
type Store struct{ pool *pgxpool.Pool }

var _ outbox.Store = (*Store)(nil)

// New returns the outbox in pool's database.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// insertIntents inserts in the order of its arguments: the ids ascend in it.
const insertIntents = `insert into outbox (workflow_id, kind, payload, due_at)
	select i.workflow, i.kind, i.payload::jsonb, now() + $4::interval
	from unnest($1::text[], $2::text[], $3::text[]) with ordinality as i (workflow, kind, payload, n) order by i.n returning id`

// insertIntent inserts one intent. It is planned once in a session, and the statement of several each time.
const insertIntent = `insert into outbox (workflow_id, kind, payload, due_at) values ($1, $2, $3::jsonb, now() + $4::interval) returning id`

// Claim implements outbox.Store: it leases the oldest intent of each workflow, if that is due.
func (o *Store) Claim(ctx context.Context, limit int, lease time.Duration) ([]outbox.Intent, error) {
	return postgres.Collect(ctx, o.pool, "claim intents", func(row pgx.CollectableRow) (in outbox.Intent, err error) {
		err = row.Scan(&in.ID, &in.WorkflowID, &in.Kind, &in.Payload, &in.Attempts)
		return in, err
	}, `
		update outbox set due_at = now() + $2::interval, attempts = attempts + 1
		where id in (
			select id from outbox o
			where (due_at <= now() or due_at > now() + $3::interval)
			  and not exists (select 1 from outbox p where p.workflow_id = o.workflow_id and p.id < o.id)
			order by id limit $1 for update skip locked)
		returning id, workflow_id, kind, payload, attempts`, limit, lease, clockSet)
}

// Done implements outbox.Store.
func (o *Store) Done(ctx context.Context, ids []int64) error {
	_, err := o.pool.Exec(ctx, `delete from outbox where id = any($1)`, ids)
	return err
}

// Retry implements outbox.Store.
func (o *Store) Retry(ctx context.Context, id int64, delay time.Duration, cause string) error {
	_, err := o.pool.Exec(ctx, `update outbox set due_at = now() + $2::interval, attempts = greatest(attempts, 1), last_error = left($3, 1000)
		where id = $1`, id, delay, cause)
	return err
}

// Queue queues the statement that records the intents. Their ids are set once the batch was sent.
func Queue(batch *pgx.Batch, intents []outbox.Intent) {
	if len(intents) == 0 {
		return
	}
	var rows postgres.Columns
	for i := range intents {
		in := &intents[i]
		if in.Payload == nil {
			in.Payload = []byte("null")
		}
		rows.Add(in.WorkflowID, string(in.Kind), string(in.Payload))
	}
	record := func() *pgx.QueuedQuery { return batch.Queue(insertIntents, append(rows.Args(), grace)...) }
	if in := intents[0]; len(intents) == 1 {
		record = func() *pgx.QueuedQuery {
			return batch.Queue(insertIntent, in.WorkflowID, string(in.Kind), string(in.Payload), grace)
		}
	}
	record().Query(func(rows pgx.Rows) error {
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		for i, id := range ids {
			intents[i].ID = id
		}
		return err
	})
}
