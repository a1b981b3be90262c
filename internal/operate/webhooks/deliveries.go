package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

type deliveryParams struct {
	Account string        `name:"account" resolve:"account" help:"name or id of an account; default: all"`
	Webhook string        `name:"webhook" resolve:"webhook" help:"id of a webhook; default: all"`
	Status  webhook.State `name:"status" choices:"pending,delivered,dead" help:"pending, delivered or dead; default: any"`
	Limit   int           `name:"limit" default:"20" served:"100" min:"1" help:"maximum number, newest first, up to 1,000"`
	Before  int64         `name:"before" flag:"-" min:"1" help:"next_before of the previous page"`
}

var deliveries = action.Of[*Service, deliveryParams, webhook.Page]{
	Spec: action.Spec{
		ID: "adminWebhookDeliveries", Route: "GET /webhooks/deliveries", Member: "deliveries", List: true, Next: true,
		Summary: "List deliveries of all accounts, newest first. Deliveries with status dead are dead letters.",
		Commands: []action.Command{
			{Use: "deliveries", Short: "List deliveries, newest first"},
			{Use: "dead", Short: "List dead letters: deliveries that were abandoned", Set: map[string]string{"status": "dead"}},
		},
	},
	Do: func(ctx context.Context, o *Service, p deliveryParams, _ operate.Attribution) (webhook.Page, error) {
		q := webhook.Query{Account: p.Account, State: p.Status, Limit: p.Limit, Before: p.Before}
		if p.Webhook != "" {
			var err error
			if q.Webhook, err = webhook.ParseID(p.Webhook); err != nil {
				return webhook.Page{}, err
			}
		}
		return o.Deliveries(ctx, q)
	},
	JSON: func(page webhook.Page) any { return Deliveries(page.Deliveries) },
	Body: func(page webhook.Page) any { return action.Page("deliveries", Deliveries(page.Deliveries), page.Next) },
	Show: func(out *terminal.Printer, _ deliveryParams, page webhook.Page) {
		styles := map[webhook.State]terminal.Style{webhook.Delivered: terminal.Good, webhook.Dead: terminal.Bad, webhook.Pending: terminal.Notice}
		rows := make([][]terminal.Cell, len(page.Deliveries))
		for i, d := range page.Deliveries {
			rows[i] = []terminal.Cell{
				{Text: d.ID.String()},
				{Text: string(d.State), Style: styles[d.State]},
				{Text: lastAttempt(d)},
				{Text: fmt.Sprint(d.Attempts), Right: true},
				{Text: string(d.Kind)},
				{Text: inspect.Span(time.Since(d.CreatedAt)), Right: true},
				{Text: string(d.Webhook)[:8]}, // commands accept it
			}
		}
		out.Table([]string{"ID", "STATUS", "LAST", "TRIES", "TYPE", "AGE", "WEBHOOK"}, rows)
	},
}.Untyped()

// Deliveries returns a page of deliveries.
func (o *Service) Deliveries(ctx context.Context, q webhook.Query) (webhook.Page, error) {
	return o.Store.Deliveries(ctx, q)
}

// lastAttempt describes the outcome of the latest attempt.
func lastAttempt(d webhook.Delivery) string {
	if len(d.Tries) == 0 {
		return "–"
	}
	if t := d.Tries[len(d.Tries)-1]; t.Status == 0 {
		return string(t.Error)
	}
	return fmt.Sprint(d.Tries[len(d.Tries)-1].Status)
}

type replayParams struct {
	Deliveries []string `name:"deliveries" arg:"DELIVERY..." route:"-"`
	Webhook    string   `name:"webhook" flag:"webhook" resolve:"webhook" help:"id of a webhook, to select all of its dead letters"`
	Sure       bool     `name:"yes" route:"-" served:"true" help:"make the change; without it, dead letters of a webhook are only counted"`
}

var replayDead = action.Of[*Service, replayParams, done]{
	Spec: action.Spec{
		ID: "adminWebhookReplay", Route: "POST /webhooks/{webhook}/replay", Reason: action.Optional, Schema: "AdminWebhookDone",
		Summary: "Attempt the dead letters of a webhook again, 1,000 at a time.",
		Commands: []action.Command{{
			Use: "replay [DELIVERY...]", Short: "Attempt deliveries again: those named, or all dead letters of a webhook",
			Long: `Attempt deliveries again, under their original ids. Without --yes, the dead letters of a webhook are
only counted; with it, they are replayed 1,000 at a time.`,
		}},
	},
	Do: func(ctx context.Context, o *Service, p replayParams, by operate.Attribution) (done, error) {
		switch {
		case (p.Webhook == "") == (len(p.Deliveries) == 0):
			return done{}, errors.New("give ids of deliveries or --webhook, not both")
		case p.Webhook == "":
			return o.replayEach(ctx, p.Deliveries, by)
		}
		id, err := webhook.ParseID(p.Webhook)
		if err != nil {
			return done{}, err
		}
		if !p.Sure {
			page, err := o.Deliveries(ctx, webhook.Query{Webhook: id, State: webhook.Dead, Limit: webhook.MostReplayed})
			return done{dead: len(page.Deliveries)}, err
		}
		n, err := o.replay(ctx, id, nil, by)
		return done{Webhook: id, Done: "replay", Replayed: &n}, err
	},
	Show: func(out *terminal.Printer, p replayParams, d done) {
		for _, id := range d.ids {
			out.Printf("%s will be attempted again\n", id)
		}
		switch {
		case d.Replayed != nil:
			out.Printf("%d dead letters will be attempted again\n", *d.Replayed)
		case p.Webhook != "":
			out.Printf("would replay %d dead letters; nothing was changed: add --yes\n", d.dead)
		}
	},
}.Untyped()

// replayEach attempts deliveries of any endpoints again.
func (o *Service) replayEach(ctx context.Context, ids []string, by operate.Attribution) (d done, err error) {
	for _, text := range ids {
		id, err := uuid.Parse(text)
		if err != nil {
			return d, webhook.ErrNoDelivery()
		}
		found, err := o.Store.Delivery(ctx, "", id)
		if err == nil {
			_, err = o.replay(ctx, found.Webhook, &id, by)
		}
		if err != nil && len(d.ids) > 0 {
			err = fmt.Errorf("%d deliveries will be attempted again, then: %w", len(d.ids), err)
		}
		if err != nil {
			return d, err
		}
		d.ids = append(d.ids, id.String())
	}
	return d, nil
}

type replayOneParams struct {
	Webhook  string `name:"webhook"`
	Delivery string `name:"delivery"`
	Status   string `name:"status" route:"-"` // the page that lists the delivery
}

// Replay attempts one ended delivery again.
var Replay = action.Of[*Service, replayOneParams, done]{
	Spec: action.Spec{
		ID: "adminReplayDelivery", Route: "POST /webhooks/{webhook}/deliveries/{delivery}/replay",
		Page: "/deliveries/replay", Reason: action.Optional,
		Schema: "AdminWebhookDone", Summary: "Attempt one delivery again.",
		Commands: []action.Command{{Label: "Replay", Warning: "The message is sent again under the same id."}},
	},
	Do: func(ctx context.Context, o *Service, p replayOneParams, by operate.Attribution) (done, error) {
		id, err := webhook.ParseID(p.Webhook)
		if err != nil {
			return done{}, err
		}
		only, err := uuid.Parse(p.Delivery)
		if err != nil {
			return done{}, webhook.ErrNoDelivery()
		}
		n, err := o.replay(ctx, id, &only, by)
		return done{Webhook: id, Done: "replay", Replayed: &n}, err
	},
	Back: func(p replayOneParams, _ done) string {
		return "/deliveries?" + url.Values{"status": {p.Status}}.Encode()
	},
}.Untyped()
