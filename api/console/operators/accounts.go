package operators

import (
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// accounts lists the accounts: GET /console/accounts.
func (r *Section) accounts(c *gin.Context, _ page.Visitor) (console.Page, error) {
	all, err := r.Accounts.Accounts(c.Request.Context())
	if err != nil {
		return nil, err
	}
	shown, search := searched(c, all, func(a account.Account) accountName { return accountName{a.Name, a.ID} })
	return &console.AccountsPage{Frame: console.Frame{Title: "Accounts"}, Accounts: shown, Search: search, Create: console.Act{
		Path: "/accounts", Label: "New account", Warning: "The account has no key at first: make one on its page.",
		Fields: []console.ActField{{Name: "name", Label: "Name", Required: true}, {Name: "tier", Label: "Tier", Choices: tiers(account.TierStandard)}},
	}}, nil
}

// tiers returns the choices of a tier; chosen is preselected.
func tiers(chosen account.Tier) []console.Choice {
	var all []console.Choice
	for _, t := range []account.Tier{account.TierFree, account.TierStandard, account.TierCreator, account.TierPro, account.TierLocal} {
		all = append(all, console.Choice{Value: string(t), Chosen: t == chosen})
	}
	return all
}

func (r *Section) createAccount(c *gin.Context, v page.Visitor) (string, error) {
	by, err := attribution(c, v)
	if err != nil {
		return "", err
	}
	tier, err := account.ParseTier(c.PostForm("tier"))
	if err != nil {
		return "", fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "%s", err.Error())
	}
	a, err := r.Accounts.Create(c.Request.Context(), strings.TrimSpace(c.PostForm("name")), tier, by)
	return "/accounts/" + a.ID, err
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
	shown := &console.AccountPage{Frame: console.Frame{Title: "Account " + a.Name}, Of: a}
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
		line := console.ShownKey{Key: k}
		if k.RevokedAt == nil {
			line.Acts = []console.Act{{
				Path: "/accounts/" + id + "/keys/revoke", Label: "Revoke", Hidden: map[string]string{"key": k.ID},
				Warning: "Requests with this key are refused from now on.",
			}}
		}
		shown.Keys = append(shown.Keys, line)
	}
	shown.Acts = changes(a)
	return shown, nil
}

// changes are the forms that change an account.
func changes(a account.Account) []console.Act {
	path := "/accounts/" + a.ID
	change := func(label, warning, name, value string) console.Act {
		return console.Act{Path: path, Label: label, Warning: warning, Hidden: map[string]string{name: value}}
	}
	acts := []console.Act{
		{Path: path + "/keys", Label: "New key", Warning: "The key is shown once.", Fields: []console.ActField{{Name: "scope", Label: "It may", Choices: []console.Choice{
			{Value: "read,write", Label: "read and change", Chosen: true}, {Value: "read", Label: "read"},
		}}}},
		{Path: path, Label: "Change tier", Fields: []console.ActField{{Name: "tier", Label: "Tier", Choices: tiers(a.Tier)}}},
		{
			Path: path + "/credit", Label: "Grant credit", Warning: "An account without any grant is not metered. The first grant starts metering.",
			Fields: []console.ActField{{Name: "usd", Label: "US dollars, as in 25 or 0.05", Required: true}},
		},
	}
	if a.Active {
		acts = append(acts, change("End the subscription", "The account can read its data but cannot submit.", "active", "false"))
	} else {
		acts = append(acts, change("Begin the subscription", "The account may submit again.", "active", "true"))
	}
	if a.Suspended {
		return append(acts, change("Resume", "The keys of the account are accepted again.", "suspended", "false"))
	}
	return append(acts, change("Suspend", "No key of the account is accepted. Running jobs continue.", "suspended", "true"))
}

func (r *Section) changeAccount(c *gin.Context, v page.Visitor) (string, error) {
	by, err := attribution(c, v)
	if err != nil {
		return "", err
	}
	change := account.Change{Account: c.Param("id"), Tier: account.Tier(c.PostForm("tier")), Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID}
	for name, value := range map[string]**bool{"active": &change.Active, "suspended": &change.Suspend} {
		switch text := c.PostForm(name); text {
		case "":
		case "true", "false":
			is := text == "true"
			*value = &is
		default:
			return "", fault.New(fault.Invalid, fault.CodeInvalidRequest, "%s must be true or false.", name)
		}
	}
	_, err = r.Accounts.Change(c.Request.Context(), change)
	return "/accounts/" + c.Param("id"), err
}

func (r *Section) grant(c *gin.Context, v page.Visitor) (string, error) {
	by, err := attribution(c, v)
	if err != nil {
		return "", err
	}
	micros, err := credit.ParseDollars(strings.TrimSpace(c.PostForm("usd")))
	if err != nil {
		return "", fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "Write the amount as in 25 or 0.05.")
	}
	_, err = r.Accounts.Grant(c.Request.Context(), c.Param("id"), micros, by)
	return "/accounts/" + c.Param("id"), err
}

// issueKey makes a key and shows its secret, once.
func (r *Section) issueKey(c *gin.Context, v page.Visitor) (console.Page, error) {
	by, err := attribution(c, v)
	if err != nil {
		return nil, err
	}
	scopes, err := scopesOf(c.PostForm("scope"))
	if err != nil {
		return nil, err
	}
	secret, key, err := r.Accounts.IssueKey(c.Request.Context(), c.Param("id"), scopes, by)
	if err != nil {
		return nil, err
	}
	return &console.NewKeyPage{Frame: console.Frame{Title: "New key"}, Of: c.Param("id"), Key: key, Secret: secret}, nil
}

func scopesOf(text string) ([]account.Scope, error) {
	var scopes []account.Scope
	for part := range strings.SplitSeq(text, ",") {
		scope, err := account.ParseScope(part)
		if err != nil {
			return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "%s", err.Error())
		}
		scopes = append(scopes, scope)
	}
	return scopes, nil
}

func (r *Section) revokeKey(c *gin.Context, v page.Visitor) (string, error) {
	by, err := attribution(c, v)
	if err != nil {
		return "", err
	}
	return "/accounts/" + c.Param("id"), r.Accounts.RevokeKey(c.Request.Context(), c.Param("id"), c.PostForm("key"), by)
}
