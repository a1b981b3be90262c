// Package webhookstore stores in PostgreSQL the endpoints that accounts register and the queue of deliveries to them.
// It promises that a delivery is leased to one sender at a time, and is not deleted before it was delivered or given
// up. Package internal/domain/webhook sends the deliveries.
package webhookstore

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Store keeps endpoints and their deliveries. It implements webhook.Store and webhook.Queue.
type Store struct {
	pool   *pgxpool.Pool
	events *eventstore.Store
}

var (
	_ webhook.Store = (*Store)(nil)
	_ webhook.Queue = (*Store)(nil)
)

// New returns the webhooks in pool's database that are changed through events.
func New(pool *pgxpool.Pool, events *eventstore.Store) *Store {
	return &Store{pool: pool, events: events}
}

// Commit implements webhook.Store.
func (s *Store) Commit(ctx context.Context, change webhook.Change) error {
	_, err := s.events.Write(ctx, eventstore.Decision{
		What: "change webhook " + string(change.Webhook), Repeats: true,
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			effect(c, change)
			return c.Append(eventlog.Append{
				Stream: webhook.Stream(change.Account), Account: change.Account, Expected: change.Expected, Events: change.Events, Meta: change.Meta,
			})
		},
	})
	return err
}

// effect adds the effects of a change other than its events.
func effect(c *eventstore.Changes, change webhook.Change) {
	id := string(change.Webhook)
	switch change.Effect {
	case webhook.Record:
	case webhook.Put:
		c.Queue(`insert into webhook_endpoints (id, account, sealed) values ($1, $2, $3)
			on conflict (id) do update set sealed = excluded.sealed where webhook_endpoints.account = excluded.account`,
			id, change.Account, change.Sealed)
	case webhook.Enable:
		c.Queue(`update webhook_endpoints set disabled = false, failing_since = null where id = $1 and account = $2`, id, change.Account)
	case webhook.Disable: // waiting deliveries become dead letters; running attempts end by themselves
		c.Queue(`update webhook_endpoints set disabled = true where id = $1 and account = $2`, id, change.Account)
		c.Queue(`update webhook_deliveries set state = 'dead', ended_at = now(), lease = null, leased_until = null
			where webhook = $1 and account = $2 and state = 'pending' and (leased_until is null or leased_until <= now())`, id, change.Account)
	case webhook.Remove:
		c.Queue(`delete from webhook_endpoints where id = $1 and account = $2`, id, change.Account)
		c.Queue(`delete from webhook_deliveries where webhook = $1 and account = $2`, id, change.Account)
	case webhook.Enqueue:
		c.Queue(enqueueDeliveries, deliveryArgs([]webhook.Delivery{change.Delivery})...)
	}
}

// Sealed implements webhook.Store.
func (s *Store) Sealed(ctx context.Context, account string) (map[webhook.ID][]byte, error) {
	return postgres.Map[webhook.ID, []byte](ctx, s.pool, "read webhooks",
		`select id::text, sealed from webhook_endpoints where account = $1`, account)
}

// Reseal implements webhook.Store.
func (s *Store) Reseal(ctx context.Context, id webhook.ID, old, fresh []byte) error {
	_, err := s.pool.Exec(ctx, `update webhook_endpoints set sealed = $3 where id = $1 and sealed = $2`, string(id), old, fresh)
	return postgres.Classify(err, "seal webhook "+string(id))
}

// AccountOf returns the account of an endpoint, or NotFound.
func (s *Store) AccountOf(ctx context.Context, id webhook.ID) (account string, err error) {
	ok, err := postgres.Find(ctx, s.pool, "find webhook "+string(id), []any{&account},
		`select account from webhook_endpoints where id = $1`, string(id))
	if err == nil && !ok {
		err = webhook.ErrNoEndpoint()
	}
	return account, err
}

// Find returns at most two endpoints whose ids begin with a text of hex digits and dashes.
func (s *Store) Find(ctx context.Context, prefix string) ([]webhook.ID, error) {
	return postgres.Collect(ctx, s.pool, "find webhooks", pgx.RowTo[webhook.ID],
		`select id::text from webhook_endpoints where starts_with(id::text, $1) limit 2`, prefix)
}

// Accounts returns the accounts that have endpoints, in order.
func (s *Store) Accounts(ctx context.Context) ([]string, error) {
	return postgres.Collect(ctx, s.pool, "read who has webhooks", pgx.RowTo[string],
		`select distinct account from webhook_endpoints order by account`)
}

const enqueueDeliveries = `insert into webhook_deliveries (id, account, webhook, subject, kind, body)
	select d.id, d.account, d.webhook, d.subject, d.kind, d.body
	from unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[])
		with ordinality as d (id, account, webhook, subject, kind, body, n)
	where exists (select from webhook_endpoints e where e.id = d.webhook and e.account = d.account)
	order by d.n on conflict (id) do nothing`

// EnqueueDeliveries adds deliveries in tx. It skips deliveries that exist already and deliveries without an endpoint.
func EnqueueDeliveries(ctx context.Context, tx pgx.Tx, all []webhook.Delivery) error {
	if len(all) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, enqueueDeliveries, deliveryArgs(all)...)
	return postgres.Classify(err, "enqueue deliveries")
}

// deliveryArgs returns the arguments of enqueueDeliveries.
func deliveryArgs(all []webhook.Delivery) []any {
	var rows postgres.Columns
	for _, d := range all {
		rows.Add(d.ID.String(), d.Account, string(d.Webhook), d.Subject, string(d.Kind), string(d.Body))
	}
	return rows.Args()
}

// Replay implements webhook.Store.
func (s *Store) Replay(ctx context.Context, r webhook.ReplayRequest) (int, error) {
	var replayed int64
	_, err := s.events.Write(ctx, eventstore.Decision{
		What: "replay deliveries",
		Read: func(q *pgx.Batch) {
			postgres.CountInto(q.Queue(`update webhook_deliveries set state = 'pending', attempts = 0, replays = replays + 1,
					due_at = now(), queued_at = now(), ended_at = null, lease = null, leased_until = null
				where id in (select id from webhook_deliveries where webhook = $1 and account = $2
					and (id = $3 and state in ('dead', 'delivered') or $3::uuid is null and state = 'dead') order by seq limit $4 for update)`,
				string(r.Webhook), r.Account, r.Only, r.Most), &replayed)
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if replayed == 0 && r.Only != nil {
				return fault.New(fault.NotFound, fault.CodeDeliveryNotFound, "no ended delivery has this id")
			}
			if replayed == 0 {
				return eventstore.ErrNothing
			}
			data := webhook.ReplayedV1{Webhook: r.Webhook, Deliveries: int(replayed), Delivery: r.Only}
			return c.Append(eventlog.AppendTo(webhook.Stream(r.Account), r.Account, r.Meta, eventlog.NewEvent(webhook.TypeReplayed, data)))
		},
	})
	if err != nil {
		return 0, err
	}
	return int(replayed), nil
}
