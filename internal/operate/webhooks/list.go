package webhooks

import (
	"context"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

type listParams struct {
	Account string `name:"account" resolve:"account" help:"name or id of an account; default: all"`
}

var list = action.Of[*Service, listParams, []Webhook]{
	Spec: action.Spec{
		ID: "adminWebhooks", Route: "GET /webhooks", Summary: "List the webhooks of all accounts, without their URLs.",
		Schema: "AdminWebhook", Member: "webhooks", List: true,
		Commands: []action.Command{{Use: "list", Short: "List webhooks"}},
	},
	Do: func(ctx context.Context, o *Service, p listParams, _ operate.Attribution) ([]Webhook, error) {
		accounts := []string{p.Account}
		if p.Account == "" {
			var err error
			if accounts, err = o.Store.Accounts(ctx); err != nil {
				return nil, err
			}
		}
		books, err := o.Reader.Books(ctx, accounts)
		all := []Webhook{}
		for _, owner := range accounts {
			for _, e := range books[owner].Endpoints {
				all = append(all, Webhook{Account: owner, Endpoint: e})
			}
		}
		return all, err
	},
	Show: func(out *terminal.Printer, _ listParams, all []Webhook) {
		rows := make([][]terminal.Cell, len(all))
		for i, w := range all {
			state := terminal.Cell{Text: "enabled", Style: terminal.Good}
			if w.Disabled != "" {
				state = terminal.Cell{Text: "disabled: " + string(w.Disabled), Style: terminal.Bad}
			}
			rows[i] = terminal.Cells(string(w.ID), w.Account, w.Host, "", strings.Join(w.Events, ","),
				w.CreatedAt.Format(time.DateTime), w.Description)
			rows[i][3] = state
		}
		out.Table([]string{"ID", "ACCOUNT", "HOST", "STATE", "EVENTS", "CREATED", ""}, rows)
	},
}.Untyped()
