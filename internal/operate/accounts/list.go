package accounts

import (
	"context"
	"strconv"
	"time"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// listed is an account with its stored bytes.
type listed struct {
	View
	Bytes int64 `json:"bytes"`
	Limit int64 `json:"limit_bytes"` // 0 = no limit
}

var list = action.Of[Service, struct{}, []listed]{
	Spec: action.Spec{
		ID: "adminAccounts", Route: "GET /accounts", Schema: "AdminAccount", Member: "accounts", List: true,
		Commands: []action.Command{{Use: "list", Short: "List accounts, with their stored bytes and storage limits"}},
	},
	Do: func(ctx context.Context, o Service, _ struct{}, _ operate.Attribution) ([]listed, error) {
		all, err := o.store.Accounts(ctx)
		if err != nil {
			return nil, err
		}
		kept, err := o.storage.All(ctx)
		shown := make([]listed, len(all))
		for i, a := range all {
			shown[i] = listed{viewOf(a), kept[a.ID].Bytes, o.storage.LimitOf(a)}
		}
		return shown, err
	},
	Show: func(out *terminal.Printer, _ struct{}, all []listed) {
		out.Columns([]string{"NAME", "ID", "TIER", "ACTIVE", "KEEPS", "LIMIT", "CREATED"}, func(row func(...any)) {
			for _, a := range all {
				limit, active := "none", strconv.FormatBool(a.Active)
				if a.Limit > 0 {
					limit = amount.Bytes(a.Limit)
				}
				if a.Suspended { // none of its keys is accepted
					active = "suspended"
				}
				row(a.Name, a.ID, a.Tier, active, amount.Bytes(a.Bytes), limit, a.CreatedAt.Format(time.RFC3339))
			}
		})
	},
}.Untyped()
