package accounts

import (
	"context"
	"fmt"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

type grantParams struct {
	named
	Amount action.Dollars `name:"usd" flag:"amount" label:"US dollars, as in 25 or 0.05" required:"true" help:"amount in US dollars"`
}

// balance is the credit of an account after a grant.
type balance struct {
	name string
	credit.Balance
}

var showCredit = action.Of[Service, named, credit.Balance]{
	Spec: action.Spec{
		ID: "adminCredit", Route: "GET /accounts/{account}/credit", Schema: "AdminCredit", Summary: "Get the credit of an account.",
	},
	Do: func(ctx context.Context, o Service, p named, _ operate.Attribution) (credit.Balance, error) {
		return o.Balance(ctx, p.Account)
	},
	Body: balanceBody,
}.Untyped()

// Grant grants credit to an account.
var Grant = action.Of[Service, grantParams, balance]{
	Spec: action.Spec{
		ID: "adminGrant", Route: "POST /accounts/{account}/credit", Schema: "AdminCredit",
		Page: "/accounts/:account/credit", Reason: action.Optional,
		Commands: []action.Command{{
			Use: "credit ACCOUNT --amount USD --reason TEXT", Short: "Give an account credit, in US dollars",
			Long: `Give an account credit, in US dollars. The first grant, which may be 0, makes the account metered:
from then on it needs credit to submit. A negative amount is a correction; it cannot take more than
the available credit.`,
			Example: `  millrace accounts credit acme --amount 25 --reason "trial"
  millrace accounts credit acme --amount -2.50 --reason "booked twice"`,
			Label: "Grant credit", Warning: "An account without any grant is not metered. The first grant starts metering.",
		}},
	},
	Do: func(ctx context.Context, o Service, p grantParams, by operate.Attribution) (balance, error) {
		a, err := o.Account(ctx, p.Account)
		if err == nil {
			err = o.credits.Grant(ctx, a.ID, int64(p.Amount), by.Actor, by.Reason)
		}
		if err != nil {
			return balance{}, err
		}
		b, err := o.credits.Balance(ctx, a.ID)
		return balance{a.Name, b}, err
	},
	Body: func(b balance) any { return balanceBody(b.Balance) },
	JSON: func(b balance) any { return balanceBody(b.Balance) },
	Show: func(out *terminal.Printer, _ grantParams, b balance) {
		out.Printf("%s\n", balanceLine(b.name, b.Balance))
	},
	Back: func(p grantParams, _ balance) string { return "/accounts/" + p.Account },
}.Untyped()

// balanceBody is a ledger's state as programs read it, in millionths of a US dollar.
func balanceBody(b credit.Balance) any {
	return map[string]any{
		"metered": b.Metered, "available_micros": b.Available, "held_micros": b.Held, "settled_micros": b.Settled, "granted_micros": b.Granted,
	}
}

func balanceLine(name string, b credit.Balance) string {
	if !b.Metered {
		return name + ": not metered"
	}
	return fmt.Sprintf("%s: %s USD available (%s credits), %s reserved, %s spent, %s granted", name,
		amount.Dollars(b.Available), credit.Credits(b.Available), amount.Dollars(b.Held), amount.Dollars(b.Settled), amount.Dollars(b.Granted))
}
