package operators

import (
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/accounts"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// accounts lists the accounts: GET /console/accounts.
func (r *Section) accounts(c *gin.Context, _ page.Visitor) (console.Page, error) {
	all, err := r.Accounts.Accounts(c.Request.Context())
	if err != nil {
		return nil, err
	}
	shown, search := searched(c, all, func(a account.Account) accountName { return accountName{a.Name, a.ID} })
	create := Buttons(accounts.Create, map[string]string{"tier": string(account.TierStandard)})[0]
	return &AccountsPage{Frame: console.Frame{Title: "Accounts"}, Accounts: shown, Search: search, Create: create}, nil
}

// account shows an account with its keys, its credit and its storage: GET /console/accounts/{id}.
func (r *Section) account(c *gin.Context, _ page.Visitor) (console.Page, error) {
	ctx, id := c.Request.Context(), c.Param("id")
	a, err := r.Accounts.Account(ctx, id)
	if fault.Is(err, fault.NotFound) {
		err = noAccount()
	}
	if err != nil {
		return nil, err
	}
	shown := &AccountPage{Frame: console.Frame{Title: "Account " + a.Name}, Of: a}
	if shown.Balance, err = r.Accounts.Balance(ctx, id); err != nil {
		return nil, err
	}
	if shown.Kept, err = r.Accounts.Storage(ctx, a); err != nil {
		return nil, err
	}
	keys, err := r.Accounts.Keys(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		line := ShownKey{Key: k}
		if k.RevokedAt == nil {
			line.Acts = Buttons(accounts.RevokeKey, map[string]string{"account": id, "key": k.ID})
		}
		shown.Keys = append(shown.Keys, line)
	}
	shown.Acts = changes(a)
	return shown, nil
}

// changes are the forms that change an account.
func changes(a account.Account) []console.Act {
	of := map[string]string{"account": a.ID, "tier": string(a.Tier)}
	key := Buttons(accounts.IssueKey, of)[0]
	key.Fields[0].Choices = []console.Choice{{Value: "read,write", Label: "read and change", Chosen: true}, {Value: "read", Label: "read"}}
	acts := []console.Act{key}
	all := append(Buttons(accounts.Grant, of), Buttons(accounts.Change, of)...)
	return append(acts, slices.DeleteFunc(all, func(act console.Act) bool {
		return act.Hidden["active"] == strconv.FormatBool(a.Active) || act.Hidden["suspended"] == strconv.FormatBool(a.Suspended)
	})...)
}

// issueKey makes a key and shows its secret, once.
func (r *Section) issueKey(c *gin.Context, v page.Visitor) (console.Page, error) {
	_, result, err := carryOut(c, v, accounts.IssueKey, r.Accounts)
	issued, ok := result.(accounts.IssuedKey)
	if err != nil || !ok {
		return nil, err
	}
	return &NewKeyPage{Frame: console.Frame{Title: "New key"}, Of: issued.Owner.ID, Key: issued.Key, Secret: issued.Secret}, nil
}
