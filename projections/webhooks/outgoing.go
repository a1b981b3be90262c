package webhooks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/webhookstore"
	"github.com/millrace-dev/millrace/projections"
)

// OutgoingName is the checkpoint of Outgoing.
const OutgoingName = "webhooks_outgoing"

// NewOutgoing returns a reader of the log that queues a delivery for each event and each endpoint that selects it. An event
// that cannot be rendered halts its stream, as in a view: an operator can list and resume the stream. It has no tables: a
// rebuild must not replace the queue. base is the public URL of links, or "".
func NewOutgoing(registry *eventlog.Registry, base string) projections.Projection {
	o := outgoing{registry: registry, base: strings.TrimRight(base, "/")}
	return projections.Projection{
		Name: OutgoingName, Fold: o.fold,
		Wants: func(e eventlog.Recorded) bool {
			_, ok := webhook.KindOf(e.Type)
			return ok
		},
	}
}

type outgoing struct {
	registry *eventlog.Registry
	base     string
}

// fold reads the current endpoints, at least as new as the batch. An endpoint receives no event from before its registration,
// and no events while it is disabled.
func (o outgoing) fold(ctx context.Context, tx pgx.Tx, ends []eventlog.Recorded) error {
	books, err := readEndpoints(ctx, tx, o.registry, accountsOf(ends))
	if err != nil {
		return err
	}
	ends = slices.DeleteFunc(slices.Clone(ends), func(e eventlog.Recorded) bool { return len(receivers(books[e.Account], e)) == 0 })
	if len(ends) == 0 {
		return nil
	}
	origins, err := o.origins(ctx, tx, ends)
	if err != nil {
		return err
	}
	var all []webhook.Delivery
	for _, rec := range ends {
		made, err := o.deliveries(rec, receivers(books[rec.Account], rec), origins[rec.Stream])
		if err != nil {
			return err
		}
		all = append(all, made...)
	}
	return webhookstore.EnqueueDeliveries(ctx, tx, all)
}

func accountsOf(events []eventlog.Recorded) []string {
	accounts := make([]string, len(events))
	for i, e := range events {
		accounts[i] = e.Account
	}
	slices.Sort(accounts)
	return slices.Compact(accounts)
}

// receivers returns the endpoints that receive an event.
func receivers(b webhook.Book, rec eventlog.Recorded) []webhook.ID {
	kind, _ := webhook.KindOf(rec.Type)
	var ids []webhook.ID
	for _, e := range b.Endpoints {
		if e.Wants(kind, rec.Position) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

func (o outgoing) deliveries(rec eventlog.Recorded, to []webhook.ID, from webhook.Origin) ([]webhook.Delivery, error) {
	data, err := o.registry.Decode(rec.Type, rec.Data)
	if err != nil {
		return nil, err
	}
	kind, body, ok, err := webhook.Message(rec, data, from, o.base)
	if err != nil || !ok {
		return nil, err
	}
	all := make([]webhook.Delivery, len(to))
	for i, id := range to {
		all[i] = webhook.Delivery{
			ID: webhook.DeliveryID(id, rec.ID), Account: rec.Account, Webhook: id, Kind: kind, Subject: rec.Stream, Body: body,
		}
	}
	return all, nil
}

// origins reads the first event of the stream of each event. Of a job it reads only the time and public id, because a
// submission is large.
func (o outgoing) origins(ctx context.Context, tx pgx.Tx, events []eventlog.Recorded) (map[string]webhook.Origin, error) {
	streams := make([]string, len(events))
	for i, e := range events {
		streams[i] = e.Stream
	}
	found := map[string]webhook.Origin{}
	return found, postgres.Each(ctx, tx, "read the first events of jobs and calls", func(row pgx.CollectableRow) error {
		var stream string
		var at time.Time
		var accepted *string
		var origin webhook.Origin
		if err := row.Scan(&stream, &at, &accepted, &origin.Job); err != nil {
			return err
		}
		at = at.UTC()
		origin.At = &at
		if accepted != nil {
			data, err := o.registry.Decode(call.TypeAccepted, []byte(*accepted))
			if err != nil {
				return err
			}
			first, ok := data.(call.AcceptedV1)
			if !ok {
				return fmt.Errorf("%s begins with a %T", stream, data)
			}
			origin.Call = &first
		}
		found[stream] = origin
		return nil
	}, `select stream, recorded_at, case when type = $2 then data::text end,
			coalesce(case when type = $3 then data->>'public_id' end, '') from events
		where version = 1 and stream = any($1)`, streams, call.TypeAccepted, job.TypeSubmitted)
}
