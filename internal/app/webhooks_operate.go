package app

import (
	"context"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/api/admin"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	operatewebhooks "github.com/millrace-dev/millrace/internal/operate/webhooks"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/projections/webhooks"
)

// operatedWebhooks is what operators do to webhooks of all accounts, from the command line and over the admin
// API alike. It implements admin.Webhooks. Addresses are not shown: they may carry tokens of their owners.
type operatedWebhooks struct {
	service  *webhook.Service
	store    *postgres.Webhooks
	reader   *webhooks.Reader
	accounts *postgres.Accounts
}

var _ admin.Webhooks = (*operatedWebhooks)(nil)

func (in *instance) operatedWebhooks() (*operatedWebhooks, error) {
	service, err := in.webhookService()
	if err != nil {
		return nil, err
	}
	return &operatedWebhooks{
		service: service, store: postgres.NewWebhooks(in.pool, in.events), reader: webhooks.NewReader(in.pool, in.types), accounts: postgres.NewAccounts(in.pool),
	}, nil
}

// Webhooks implements admin.Webhooks.
func (o *operatedWebhooks) Webhooks(ctx context.Context, account string) ([]operatewebhooks.Webhook, error) {
	accounts := []string{account}
	if account == "" {
		var err error
		if accounts, err = o.store.Accounts(ctx); err != nil {
			return nil, err
		}
	}
	books, err := o.reader.Books(ctx, accounts)
	if err != nil {
		return nil, err
	}
	all := []operatewebhooks.Webhook{}
	for _, account := range accounts {
		for _, e := range books[account].Endpoints {
			all = append(all, operatewebhooks.Webhook{Account: account, Endpoint: e})
		}
	}
	return all, nil
}

// Deliveries implements admin.Webhooks.
func (o *operatedWebhooks) Deliveries(ctx context.Context, q webhook.Query) (webhook.Page, error) {
	return o.store.Deliveries(ctx, q)
}

// Register implements admin.Webhooks.
func (o *operatedWebhooks) Register(ctx context.Context, account string, w webhook.Wish, by operate.Attribution) (webhook.Shown, string, error) {
	if err := o.exists(ctx, account); err != nil {
		return webhook.Shown{}, "", err
	}
	return o.service.Register(ctx, account, w, webhook.By(by))
}

// exists refuses an account that is not there; the local one is there in the modes without accounts.
func (o *operatedWebhooks) exists(ctx context.Context, id string) error {
	_, err := o.accounts.Account(ctx, id)
	if fault.Is(err, fault.NotFound) && id == account.LocalID {
		return nil
	}
	return err
}

// Do implements admin.Webhooks.
func (o *operatedWebhooks) Do(ctx context.Context, verb string, id webhook.ID, by operate.Attribution) error {
	account, err := o.store.AccountOf(ctx, id)
	if err != nil {
		return err
	}
	asked := webhook.By(by)
	switch verb {
	case "enable", "disable":
		enabled := verb == "enable"
		_, err = o.service.Change(ctx, account, id, webhook.Wish{Enabled: &enabled}, asked)
	case "test":
		_, err = o.service.Test(ctx, account, id, asked)
	case "remove":
		err = o.service.Remove(ctx, account, id, asked)
	default:
		err = fault.New(fault.NotFound, "not_found", "there is nothing at this path")
	}
	return err
}

// Rotate gives an endpoint a new secret.
func (o *operatedWebhooks) Rotate(ctx context.Context, id webhook.ID, by operate.Attribution) (string, error) {
	account, err := o.store.AccountOf(ctx, id)
	if err != nil {
		return "", err
	}
	secret, _, err := o.service.Rotate(ctx, account, id, webhook.DefaultOverlap, webhook.By(by))
	return secret, err
}

// Replay implements admin.Webhooks.
func (o *operatedWebhooks) Replay(ctx context.Context, id webhook.ID, only *uuid.UUID, by operate.Attribution) (int, error) {
	account, err := o.store.AccountOf(ctx, id)
	if err != nil {
		return 0, err
	}
	return o.service.Replay(ctx, account, id, only, webhook.By(by))
}

// replayOne replays a delivery of any endpoint.
func (o *operatedWebhooks) replayOne(ctx context.Context, id uuid.UUID, by operate.Attribution) error {
	d, err := o.store.Delivery(ctx, "", id)
	if err != nil {
		return err
	}
	_, err = o.Replay(ctx, d.Webhook, &id, by)
	return err
}
