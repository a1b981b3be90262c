package webhookstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// claimLock is locked while deliveries are claimed, so that the count of leased deliveries is exact.
const claimLock = `select pg_advisory_xact_lock(hashtextextended(current_schema() || '/webhooks', 0))`

// claimDeliveries leases due deliveries. waiting finds the endpoints with deliveries by skipping from one to the next
// in the index, so that a long queue of one endpoint costs as much as a short one. due selects the few oldest of each
// endpoint within its share; picked selects those within the share of their account, the first of every account
// before the second of any.
const claimDeliveries = `
	with recursive waiting (webhook) as (
		(select webhook from webhook_deliveries where state = 'pending' order by webhook limit 1)
		union all
		select (select d.webhook from webhook_deliveries d where d.state = 'pending' and d.webhook > w.webhook order by d.webhook limit 1)
		from waiting w where w.webhook is not null
	), asked as materialized (
		select e.id, e.account, b.busy, sum(b.busy) over (partition by e.account) as busy_account
		from waiting w join webhook_endpoints e on e.id = w.webhook
		cross join lateral (select count(*) as busy from webhook_deliveries l where l.webhook = e.id and l.leased_until > now()) b
	), due as (
		select d.id, a.account, a.busy_account, d.due_at, d.seq, row_number() over (partition by a.id order by d.due_at, d.seq) as place
		from asked a cross join lateral (
			select q.id, q.due_at, q.seq from webhook_deliveries q
			where q.webhook = a.id and q.state = 'pending' and q.due_at <= now() and (q.leased_until is null or q.leased_until <= now())
			  and not exists (select from webhook_deliveries p where p.webhook = q.webhook and p.subject = q.subject and p.state = 'pending'
				and p.seq < q.seq)
			order by q.due_at, q.seq limit greatest($3 - a.busy, 0)) d
	), picked as (
		select id, place, due_at, busy_account + row_number() over (partition by account order by place, due_at, seq) as place_account from due
	)
	update webhook_deliveries d set lease = gen_random_uuid(), leased_until = now() + $4::interval, attempts = d.attempts + 1
	from webhook_endpoints e
	where e.id = d.webhook and d.id in (select id from picked where place_account <= $2 order by place, due_at limit $1)
	returning d.id, d.account, d.webhook::text, d.subject, d.kind, d.body, d.attempts, d.replays, d.lease, e.sealed, e.disabled`

// Claim implements webhook.Queue.
func (s *Store) Claim(ctx context.Context, free int, share webhook.AttemptLimits,
	lease time.Duration,
) (claimed []*webhook.Claimed, err error) {
	var waiting bool
	err = s.pool.QueryRow(ctx, `select exists (select from webhook_deliveries where state = 'pending')`).Scan(&waiting)
	if err != nil || !waiting {
		return nil, postgres.Classify(err, "look for deliveries")
	}
	_, err = s.events.Write(ctx, eventstore.Decision{
		What: "claim deliveries",
		Read: func(q *pgx.Batch) {
			q.Queue(claimLock)
			found := q.Queue(claimDeliveries, free, share.Account, share.Endpoint, lease)
			postgres.CollectInto(found, &claimed, func(row pgx.CollectableRow) (*webhook.Claimed, error) {
				c := new(webhook.Claimed)
				err := row.Scan(&c.ID, &c.Account, &c.Webhook, &c.Subject, &c.Kind, &c.Body, &c.Attempts, &c.Replays, &c.Lease, &c.Sealed, &c.Disabled)
				return c, err
			})
		},
		Decide: func(context.Context, postgres.Tx, *eventstore.Changes) error { return nil },
	})
	return claimed, err
}

// finishDelivery records an outcome. A success is recorded even without the lease, any other outcome only with it.
const finishDelivery = `update webhook_deliveries set state = $3, lease = null, leased_until = null,
		due_at = now() + $4::interval, ended_at = case when $3 = 'pending' then null else now() end,
		tries = (select coalesce(jsonb_agg(t order by n), '[]') from
			(select t, n from jsonb_array_elements(tries || jsonb_build_array($5::jsonb)) with ordinality as all_tries (t, n) order by n desc
				limit $6) kept)
	where id = $1 and state <> 'delivered' and ($3 = 'delivered' or lease = $2 and state = 'pending')`

// Finish implements webhook.Queue.
func (s *Store) Finish(ctx context.Context, c *webhook.Claimed, o webhook.Outcome) (failing time.Duration, err error) {
	try, err := json.Marshal(o.Try)
	if err != nil {
		return 0, fmt.Errorf("encode an attempt: %w", err)
	}
	var finished int64
	_, err = s.events.Write(ctx, eventstore.Decision{
		What: "finish a delivery",
		Read: func(q *pgx.Batch) {
			postgres.CountInto(q.Queue(finishDelivery, c.ID, c.Lease, string(o.State), o.Retry, string(try), webhook.MaxTries), &finished)
		},
		Decide: func(_ context.Context, _ postgres.Tx, changes *eventstore.Changes) error {
			switch {
			case finished == 0:
				return eventstore.ErrNothing
			case o.State == webhook.Delivered:
				changes.Queue(`update webhook_endpoints set failing_since = null where id = $1 and failing_since is not null`, string(c.Webhook))
			default:
				postgres.ScanInto(changes.Queue(`update webhook_endpoints set failing_since = coalesce(failing_since, now()) where id = $1
					returning now() - failing_since`, string(c.Webhook)), &failing) // no row: the endpoint was removed meanwhile
			}
			return nil
		},
	})
	return failing, err
}

// GiveBack implements webhook.Queue.
func (s *Store) GiveBack(ctx context.Context, c *webhook.Claimed) error {
	_, err := s.pool.Exec(ctx, `update webhook_deliveries set lease = null, leased_until = null, attempts = greatest(attempts - 1, 0)
		where id = $1 and lease = $2`, c.ID, c.Lease)
	return postgres.Classify(err, "give a delivery back")
}

// pruned bounds the rows that one statement of Prune deletes.
const pruned = 5000

// Prune implements webhook.Queue.
func (s *Store) Prune(ctx context.Context, retention time.Duration) (more bool, err error) {
	done, err := s.pool.Exec(ctx, `delete from webhook_deliveries where id in (
		select id from webhook_deliveries where ended_at < now() - $1::interval order by ended_at limit $2 for update skip locked)`, retention,
		pruned)
	if err != nil {
		return false, postgres.Classify(err, "forget old deliveries")
	}
	_, err = s.pool.Exec(ctx, `delete from webhook_deliveries d where state = 'pending'
		and not exists (select from webhook_endpoints e where e.id = d.webhook)`)
	return done.RowsAffected() == pruned, postgres.Classify(err, "forget deliveries without an endpoint")
}

const deliveryColumns = `id, seq, account, webhook::text, subject, kind, body, state, attempts, replays, created_at, due_at, ended_at,
	tries`

func scanDelivery(row pgx.CollectableRow) (found numbered, err error) {
	d := &found.Delivery
	err = row.Scan(&d.ID, &found.seq, &d.Account, &d.Webhook, &d.Subject, &d.Kind, &d.Body, &d.State, &d.Attempts, &d.Replays, &d.CreatedAt,
		&d.DueAt, &d.EndedAt, &d.Tries)
	return found, err
}

// numbered is a delivery with its position in listings.
type numbered struct {
	webhook.Delivery
	seq int64
}

// maxDeliveries bounds one page.
const maxDeliveries = 1000

// Deliveries returns the deliveries that a query selects, newest first.
func (s *Store) Deliveries(ctx context.Context, q webhook.Query) (webhook.Page, error) {
	limit := min(max(q.Limit, 1), maxDeliveries)
	var of *string
	if q.Webhook != "" {
		of = (*string)(&q.Webhook)
	}
	found, err := postgres.Collect(ctx, s.pool, "list deliveries", scanDelivery, `select `+deliveryColumns+` from webhook_deliveries
		where ($1 = '' or account = $1) and ($2::uuid is null or webhook = $2) and ($3 = '' or state = $3) and ($4 = 0 or seq < $4)
		order by seq desc limit $5`, q.Account, of, string(q.State), q.Before, limit+1)
	if err != nil {
		return webhook.Page{}, err
	}
	var page webhook.Page
	if len(found) > limit {
		found = found[:limit]
		page.Next = found[limit-1].seq
	}
	for _, d := range found {
		page.Deliveries = append(page.Deliveries, d.Delivery)
	}
	return page, nil
}

// Delivery returns one delivery of an account; account "" = any, for operators. A delivery of another account is
// NotFound.
func (s *Store) Delivery(ctx context.Context, account string, id uuid.UUID) (webhook.Delivery, error) {
	found, ok, err := postgres.One(ctx, s.pool, "read a delivery", scanDelivery,
		`select `+deliveryColumns+` from webhook_deliveries where id = $1 and ($2 = '' or account = $2)`, id, account)
	if err == nil && !ok {
		err = webhook.ErrNoDelivery()
	}
	return found.Delivery, err
}

// State is the state of all deliveries, for operators.
type State struct {
	Pending, Dead, Disabled int64
	Oldest                  time.Duration // age of the oldest pending delivery
}

// maxCounted bounds the counts that operators and gauges show.
const maxCounted = 100_000

// State reads the state of all deliveries. Counts end at 100,000.
func (s *Store) State(ctx context.Context) (st State, err error) {
	err = s.pool.QueryRow(ctx, `select (select count(*) from (select from webhook_deliveries where state = 'pending' limit $1) p),
		(select count(*) from (select from webhook_deliveries where state = 'dead' limit $1) d),
		(select count(*) from webhook_endpoints where disabled),
		coalesce((select now() - min(queued_at) from webhook_deliveries where state = 'pending'), interval '0')`, maxCounted).
		Scan(&st.Pending, &st.Dead, &st.Disabled, &st.Oldest)
	return st, postgres.Classify(err, "read the state of webhooks")
}
