package accounts

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

type createParams struct {
	Name string       `name:"name" arg:"NAME" label:"Name" required:"true"`
	Tier account.Tier `name:"tier" choices:"free,standard,creator,pro,local" default:"standard" label:"Tier" required:"true"`
}

// Create creates an account.
var Create = action.Of[Service, createParams, View]{
	Spec: action.Spec{
		ID: "adminCreateAccount", Route: "POST /accounts", Summary: "Create an account.", Page: "/accounts", Reason: action.Optional,
		Status: 201, Schema: "AdminAccount", Help: map[string]string{"tier": "tier: free, standard, creator, pro or local"},
		Commands: []action.Command{{
			Use: "create NAME", Short: "Create an account and print its id",
			Label: "New account", Warning: "The account has no key at first: make one on its page.",
		}},
	},
	Do: func(ctx context.Context, o Service, p createParams, by operate.Attribution) (View, error) {
		a, err := o.by(by).Create(ctx, p.Name, p.Tier)
		return viewOf(a), err
	},
	Show: func(out *terminal.Printer, _ createParams, v View) { out.Printf("%s\n", v.ID) },
	Back: func(_ createParams, v View) string { return "/accounts/" + v.ID },
}.Untyped()

// View is an account as operators see it.
type View struct {
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	Tier      account.Tier `json:"tier"`
	Active    bool         `json:"active"`
	Suspended bool         `json:"suspended"`
	CreatedAt time.Time    `json:"created_at"`
}

func viewOf(a account.Account) View {
	return View{a.ID, a.Name, a.Tier, a.Active, a.Suspended, a.CreatedAt}
}
