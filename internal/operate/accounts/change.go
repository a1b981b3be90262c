package accounts

import (
	"context"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

type changeParams struct {
	named
	Tier      account.Tier `name:"tier" choices:"free,standard,creator,pro,local" label:"Tier"`
	Active    *bool        `name:"active" flag:"-" help:"whether the subscription is in force; without, the account can read but not submit"`
	Inactive  *bool        `name:"inactive" route:"-"`
	Suspended *bool        `name:"suspended" help:"refuse every key and token of the account; --suspended=false accepts them again"`
}

// Change changes the tier or the subscription of an account, or suspends it.
var Change = action.Of[Service, changeParams, View]{
	Spec: action.Spec{
		ID: "adminChangeAccount", Route: "PATCH /accounts/{account}", Page: "/accounts/:account", Reason: action.Optional, Schema: "AdminAccount",
		Help: map[string]string{
			"tier":     "tier: free, standard, creator, pro or local; default: unchanged",
			"inactive": "mark the subscription as lapsed: the account can read but not submit; --inactive=false renews it",
		},
		Commands: []action.Command{
			{
				Use: "set ACCOUNT", Short: "Change an account's tier and subscription, or suspend it",
				Long: `Change an account's tier and subscription, or suspend it. The change is in force from the next request
on, in every process; running jobs continue. A suspended account's keys and tokens are refused. The change
is recorded with its actor and reason.`,
				Example: `  millrace accounts set acme --tier pro --reason "upgrade, invoice 17"
  millrace accounts set acme --inactive --reason "unpaid"
  millrace accounts set acme --inactive=false
  millrace accounts set acme --suspended --reason "abuse, ticket 4"`,
				Label: "Change tier",
			},
			{
				Set: map[string]string{"active": "false"}, Label: "End the subscription", Danger: true,
				Warning: "The account can read its data but cannot submit.",
			},
			{Set: map[string]string{"active": "true"}, Label: "Begin the subscription", Warning: "The account may submit again."},
			{Set: map[string]string{"suspended": "false"}, Label: "Resume", Warning: "The keys of the account are accepted again."},
			{
				Set: map[string]string{"suspended": "true"}, Label: "Suspend", Danger: true,
				Warning: "No key of the account is accepted. Running jobs continue.",
			},
		},
	},
	Do: func(ctx context.Context, o Service, p changeParams, by operate.Attribution) (View, error) {
		if p.Inactive != nil {
			active := !*p.Inactive
			p.Active = &active
		}
		if p.Tier == "" && p.Active == nil && p.Suspended == nil {
			return View{}, fault.New(fault.Invalid, fault.CodeInvalidRequest,
				"nothing to change: give a tier, or say whether the account is active or suspended")
		}
		a, err := o.change(ctx, account.Change{Account: p.Account, Tier: p.Tier, Active: p.Active, Suspend: p.Suspended}, by)
		return viewOf(a), err
	},
	Show: func(out *terminal.Printer, _ changeParams, v View) {
		out.Printf("%s: tier %s, active %t, suspended %t\n", v.Name, v.Tier, v.Active, v.Suspended)
	},
	Back: func(_ changeParams, v View) string { return "/accounts/" + v.ID },
}.Untyped()
