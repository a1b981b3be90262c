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
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/webhookstore"
	"github.com/millrace-dev/millrace/projections/webhooks"
)

// shortID is the minimum length of a prefix of an id.
var shortID = regexp.MustCompile(`^[0-9a-f-]{4,36}$`)

// Find returns the endpoint whose id begins with text.
func (o *Service) Find(ctx context.Context, text string) (webhook.ID, error) {
	if !shortID.MatchString(text) {
		return "", webhook.ErrNoEndpoint()
	}
	found, err := o.Store.Find(ctx, text)
	if err != nil {
		return "", err
	}
	switch len(found) {
	case 0:
		return "", webhook.ErrNoEndpoint()
	case 1:
		return found[0], nil
	}
	return "", fault.New(fault.Conflict, fault.CodeAmbiguous, "the ids of several webhooks begin with %s", text)
}

// Account returns the id of the account that a flag names, and "" for "".
func (o *Service) Account(ctx context.Context, text string) (string, error) {
	if text == "" || text == account.LocalID {
		return text, nil
	}
	a, err := o.Accounts.Account(ctx, text)
	if fault.Is(err, fault.NotFound) {
		a, err = o.Accounts.AccountByName(ctx, text)
	}
	return a.ID, err
}

// Service implements the operators' commands on webhooks for the command line and the admin API. It implements
// admin.Webhooks.
type Service struct {
	Endpoints *webhook.Service
	Store     *webhookstore.Store
	Reader    *webhooks.Reader
	Accounts  *accountstore.Store
}

// Webhooks implements admin.Webhooks.
func (o *Service) Webhooks(ctx context.Context, account string) ([]Webhook, error) {
	accounts := []string{account}
	if account == "" {
		var err error
		if accounts, err = o.Store.Accounts(ctx); err != nil {
			return nil, err
		}
	}
	books, err := o.Reader.Books(ctx, accounts)
	if err != nil {
		return nil, err
	}
	all := []Webhook{}
	for _, account := range accounts {
		for _, e := range books[account].Endpoints {
			all = append(all, Webhook{Account: account, Endpoint: e})
		}
	}
	return all, nil
}

// Deliveries implements admin.Webhooks.
func (o *Service) Deliveries(ctx context.Context, q webhook.Query) (webhook.Page, error) {
	return o.Store.Deliveries(ctx, q)
}

// Register implements admin.Webhooks.
func (o *Service) Register(ctx context.Context, account string, w webhook.Request, by operate.Attribution) (webhook.EndpointWithURL, string, error) {
	if err := o.exists(ctx, account); err != nil {
		return webhook.EndpointWithURL{}, "", err
	}
	return o.Endpoints.Register(ctx, account, w, webhook.By(by))
}

// exists returns an error if an account does not exist. The local account exists in the modes without accounts.
func (o *Service) exists(ctx context.Context, id string) error {
	_, err := o.Accounts.Account(ctx, id)
	if fault.Is(err, fault.NotFound) && id == account.LocalID {
		return nil
	}
	return err
}

// Do implements admin.Webhooks.
func (o *Service) Do(ctx context.Context, verb string, id webhook.ID, by operate.Attribution) error {
	account, err := o.Store.AccountOf(ctx, id)
	if err != nil {
		return err
	}
	asked := webhook.By(by)
	switch verb {
	case "enable", "disable":
		enabled := verb == "enable"
		_, err = o.Endpoints.Change(ctx, account, id, webhook.Request{Enabled: &enabled}, asked)
	case "test":
		_, err = o.Endpoints.Test(ctx, account, id, asked)
	case "remove":
		err = o.Endpoints.Remove(ctx, account, id, asked)
	default:
		err = fault.New(fault.NotFound, fault.CodeNotFound, "there is nothing at this path")
	}
	return err
}

// Rotate gives an endpoint a new secret.
func (o *Service) Rotate(ctx context.Context, id webhook.ID, by operate.Attribution) (string, error) {
	account, err := o.Store.AccountOf(ctx, id)
	if err != nil {
		return "", err
	}
	secret, _, err := o.Endpoints.Rotate(ctx, account, id, webhook.DefaultOverlap, webhook.By(by))
	return secret, err
}

// Replay implements admin.Webhooks.
func (o *Service) Replay(ctx context.Context, id webhook.ID, only *uuid.UUID, by operate.Attribution) (int, error) {
	account, err := o.Store.AccountOf(ctx, id)
	if err != nil {
		return 0, err
	}
	return o.Endpoints.Replay(ctx, account, id, only, webhook.By(by))
}

// ReplayOne replays a delivery of any endpoint.
func (o *Service) ReplayOne(ctx context.Context, id uuid.UUID, by operate.Attribution) error {
	d, err := o.Store.Delivery(ctx, "", id)
	if err != nil {
		return err
	}
	_, err = o.Replay(ctx, d.Webhook, &id, by)
	return err
}
