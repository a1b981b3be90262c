package webhooks

import (
	"context"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

type registerParams struct {
	Account     string   `name:"account" flag:"account" resolve:"account" default:"local" help:"name or id of the account"`
	URL         string   `name:"url" arg:"URL" required:"true"`
	Events      []string `name:"events" flag:"event" commas:"true"`
	Description *string  `name:"description" help:"for people"`
}

// registered is a new endpoint with its secret.
type registered struct {
	Webhook
	Secret string `json:"secret"`
}

var register = action.Of[*Service, registerParams, registered]{
	Spec: action.Spec{
		ID: "adminRegisterWebhook", Route: "POST /accounts/{account}/webhooks", Reason: action.Optional, Status: 201, Schema: "AdminWebhook",
		Help:     map[string]string{"events": "events to send: job.*, call.* or single ones such as job.failed; default: job.*"},
		Summary:  "Register a webhook for an account. Only this answer has its secret.",
		Commands: []action.Command{{Use: "add URL", Short: "Register an address, and print its id and its secret, once"}},
	},
	Do: func(ctx context.Context, o *Service, p registerParams, by operate.Attribution) (registered, error) {
		if _, err := o.Accounts.Account(ctx, p.Account); err != nil && (!fault.Is(err, fault.NotFound) || p.Account != account.LocalID) {
			return registered{}, err
		}
		request := webhook.Request{URL: &p.URL, Events: p.Events, Description: p.Description}
		made, secret, err := o.Endpoints.Register(ctx, p.Account, request, by)
		return registered{Webhook{p.Account, made.Endpoint}, secret}, err
	},
	Show: func(out *terminal.Printer, _ registerParams, r registered) {
		out.Printf("webhook %s; its secret, which is shown only once:\n%s\n", r.ID, r.Secret)
	},
}.Untyped()

type named struct {
	Webhook string `name:"webhook" arg:"ID" resolve:"webhook"`
}

// endpoint returns the endpoint that a parameter names, and its account.
func (o *Service) endpoint(ctx context.Context, text string) (id webhook.ID, owner string, err error) {
	if id, err = webhook.ParseID(text); err == nil {
		owner, err = o.Store.AccountOf(ctx, id)
	}
	return id, owner, err
}

var rotate = action.Of[*Service, named, string]{
	Spec: action.Spec{Reason: action.Optional, Commands: []action.Command{{
		Use: "rotate ID", Short: "Make a new secret and print it, once; the old one also signs for 24 hours",
	}}},
	Do: func(ctx context.Context, o *Service, p named, by operate.Attribution) (string, error) {
		id, owner, err := o.endpoint(ctx, p.Webhook)
		if err != nil {
			return "", err
		}
		secret, _, err := o.Endpoints.Rotate(ctx, owner, id, webhook.DefaultOverlap, by)
		return secret, err
	},
	Show: func(out *terminal.Printer, _ named, secret string) { out.Printf("%s\n", secret) },
	JSON: func(secret string) any { return map[string]string{"secret": secret} },
}.Untyped()

// done is the answer to a change of an endpoint.
type done struct {
	Webhook  webhook.ID `json:"webhook"`
	Done     string     `json:"done"`
	Replayed *int       `json:"replayed,omitempty"`

	dead int // dead letters that would be replayed
	ids  []string
}

// verb returns the action that enables, disables, tests or removes an endpoint.
func verb(name, short string) action.For[*Service] {
	spec := action.Spec{
		ID: "adminWebhook" + string(name[0]-'a'+'A') + name[1:], Route: "POST /webhooks/{webhook}/" + name,
		Reason: action.Optional, Schema: "AdminWebhookDone",
		Commands: []action.Command{{Use: name + " ID", Short: short}},
	}
	if name == "remove" {
		spec.ID, spec.Route, spec.Status = "adminRemoveWebhook", "DELETE /webhooks/{webhook}", 204
	}
	return action.Of[*Service, named, done]{
		Spec: spec,
		Do: func(ctx context.Context, o *Service, p named, by operate.Attribution) (done, error) {
			id, owner, err := o.endpoint(ctx, p.Webhook)
			if err != nil {
				return done{}, err
			}
			switch name {
			case "enable", "disable":
				enabled := name == "enable"
				_, err = o.Endpoints.Change(ctx, owner, id, webhook.Request{Enabled: &enabled}, by)
			case "test":
				_, err = o.Endpoints.Test(ctx, owner, id, by)
			default:
				err = o.Endpoints.Remove(ctx, owner, id, by)
			}
			return done{Webhook: id, Done: name}, err
		},
		Show: func(out *terminal.Printer, _ named, d done) { out.Printf("%s: %s\n", d.Webhook, d.Done) },
	}.Untyped()
}
