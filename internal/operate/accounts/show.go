package accounts

import (
	"context"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// whole is an account with everything that belongs to it.
type whole struct {
	View
	Storage account.Storage `json:"storage"`
	Credit  credit.Balance  `json:"credit"`
	Router  bool            `json:"router"`
	Allowed []string        `json:"allowed"`
	Denied  []string        `json:"denied"`
	Labels  []string        `json:"server_labels"`
}

var show = action.Of[Service, named, whole]{
	Spec: action.Spec{
		ID: "adminAccount", Route: "GET /accounts/{account}", Summary: "Get an account.", Schema: "AdminAccount",
		Commands: []action.Command{{Use: "show ACCOUNT", Short: "Show an account: tier, subscription, storage, credit, models"}},
	},
	Do: func(ctx context.Context, o Service, p named, _ operate.Attribution) (whole, error) {
		a, err := o.Account(ctx, p.Account)
		if err != nil {
			return whole{}, err
		}
		w := whole{View: viewOf(a), Router: !a.Access.Off, Allowed: a.Access.Models, Denied: a.Access.Denied, Labels: a.Labels.Allowed}
		if w.Storage, err = o.Storage(ctx, a); err != nil {
			return whole{}, err
		}
		w.Credit, err = o.credits.Balance(ctx, a.ID)
		return w, err
	},
	Body: func(w whole) any { return w.View },
	Show: func(p *terminal.Printer, _ named, w whole) {
		p.Field("account", w.ID, terminal.Bold)
		p.Field("name", w.Name, terminal.Plain)
		p.Field("tier", string(w.Tier), terminal.Plain)
		p.Field("status", statusLine(w.View), terminal.Plain)
		p.Field("created", w.CreatedAt.Format(time.DateTime)+" UTC", terminal.Plain)
		p.Field("storage", describeStorage(w.Storage), terminal.Plain)
		p.Field("credit", strings.TrimPrefix(balanceLine("", w.Credit), ": "), terminal.Plain)
		p.Field("labels", (&action.Names{Names: w.Labels}).Text(), terminal.Plain)
	},
}.Untyped()

func statusLine(v View) string {
	switch {
	case v.Suspended:
		return "suspended: its keys and tokens are refused"
	case !v.Active:
		return "inactive: it can read but not submit"
	}
	return "active"
}
