// Package webhooks implements the operators' commands on webhooks of all accounts. It does not show the addresses of
// endpoints, because they may contain tokens of their owners.
package webhooks

import (
	"context"
	"regexp"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/webhookstore"
	"github.com/millrace-dev/millrace/projections/webhooks"
)

// Service implements the operators' commands on webhooks.
type Service struct {
	Endpoints *webhook.Service
	Store     *webhookstore.Store
	Reader    *webhooks.Reader
	Accounts  *accountstore.Store
}

// Actions are what operators do to webhooks.
var Actions = action.Group[*Service]{
	Use:   "webhooks",
	Short: "Notify accounts of ended jobs and calls; list and replay failed deliveries",
	Long: `An account registers an https address, to which the service sends the outcomes of its jobs and
model calls: signed, at least once, for days if necessary. A message that could not be delivered is
a dead letter until it is replayed or its retention ends. Addresses and secrets are encrypted; lists
show only hosts. The id of a webhook may be shortened to its first characters, at least four.`,
	Example: `  millrace webhooks add https://example.com/hooks --account acme --event 'job.*'
  millrace webhooks test 0d3c5a0e-9a57-4a4f-8f0b-52a4c1de7b11
  millrace webhooks dead --account acme
  millrace webhooks replay --webhook 0d3c5a0e-9a57-4a4f-8f0b-52a4c1de7b11 --yes --reason "their outage is over"`,
	Actions: []action.For[*Service]{
		list, register, rotate, deliveries, replayDead, Replay,
		verb("remove", "Remove a webhook, with all its deliveries"), verb("test", "Send a message of type webhook.test"),
		verb("enable", "Send new messages to a webhook again"),
		verb("disable", "Stop sending messages to a webhook; waiting ones become dead letters"),
	},
}

// shortID is the minimum length of a prefix of an id.
var shortID = regexp.MustCompile(`^[0-9a-f-]{4,36}$`)

// Resolve implements action.Resolver.
func (o *Service) Resolve(ctx context.Context, kind, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	if kind == "account" {
		return o.account(ctx, text)
	}
	if !shortID.MatchString(text) {
		return "", webhook.ErrNoEndpoint()
	}
	found, err := o.Store.Find(ctx, text)
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", webhook.ErrNoEndpoint()
	case len(found) > 1:
		return "", fault.New(fault.Conflict, fault.CodeAmbiguous, "the ids of several webhooks begin with %s", text)
	}
	return string(found[0]), nil
}

// account returns the id of the account with that name or id. The local account exists in the modes without accounts.
func (o *Service) account(ctx context.Context, text string) (string, error) {
	if text == account.LocalID {
		return text, nil
	}
	a, err := o.Accounts.Account(ctx, text)
	if fault.Is(err, fault.NotFound) {
		a, err = o.Accounts.AccountByName(ctx, text)
	}
	return a.ID, err
}

// replay attempts an ended delivery again; only = nil attempts all dead letters of the endpoint.
func (o *Service) replay(ctx context.Context, id webhook.ID, only *uuid.UUID, by operate.Attribution) (int, error) {
	owner, err := o.Store.AccountOf(ctx, id)
	if err != nil {
		return 0, err
	}
	return o.Endpoints.Replay(ctx, owner, id, only, by)
}
