package accounts

import (
	"context"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// owner is the parameter of actions on the keys of an account.
type owner struct {
	Account string `name:"account" flag:"account" resolve:"account" required:"true" help:"name or id of the account"`
}

type issueParams struct {
	owner
	Scopes []string `name:"scopes" form:"scope" flag:"scope" commas:"true" choices:"read,write" label:"It may"`

	Deployments []string `name:"deployments" form:"deployment" flag:"deployment" commas:"true" label:"Only these deployments"`
}

// key is a key as operators see it. Secret is set only when the key is created.
type key struct {
	ID        string          `json:"id"`
	Prefix    string          `json:"prefix"`
	Scopes    []account.Scope `json:"scopes"`
	CreatedAt time.Time       `json:"created_at,omitzero"`
	LastUsed  *time.Time      `json:"last_used_at,omitempty"` // accurate to a minute
	RevokedAt *time.Time      `json:"revoked_at,omitempty"`
	Secret    string          `json:"secret,omitempty"`
}

func keyOf(k account.Key) key {
	return key{ID: k.ID, Prefix: k.Prefix, Scopes: k.Scopes, CreatedAt: k.CreatedAt, LastUsed: k.LastUsed, RevokedAt: k.RevokedAt}
}

// IssuedKey is a new key with its secret.
type IssuedKey struct {
	Owner  account.Account
	Key    account.Key
	Secret string
}

// body is the key as programs read it, with its secret.
func (i IssuedKey) body() key {
	k := keyOf(i.Key)
	k.Secret = i.Secret
	return k
}

// IssueKey makes a key of an account.
var IssueKey = action.Of[Service, issueParams, IssuedKey]{
	Spec: action.Spec{
		ID: "adminIssueKey", Route: "POST /accounts/{account}/keys", Summary: "Issue a key.",
		Page: "/accounts/:account/keys", Reason: action.Optional,
		Status: 201, Schema: "AdminKey", Help: map[string]string{
			"scopes":      "scopes of the key: read, write; default: both",
			"deployments": "the key may call these deployments and do nothing else",
		},
		Commands: []action.Command{{
			Use: "create --account NAME", Short: "Create a key and print it, once",
			Label: "New key", Warning: "The key is shown once.",
		}},
	},
	Do: func(ctx context.Context, o Service, p issueParams, by operate.Attribution) (IssuedKey, error) {
		var scopes []account.Scope
		for _, name := range p.Scopes {
			if scope := account.Scope(name); !slices.Contains(scopes, scope) {
				scopes = append(scopes, scope)
			}
		}
		for _, name := range p.Deployments {
			if err := deployment.CheckName(name); err != nil {
				return IssuedKey{}, err
			}
			scopes = append(scopes, account.CallScope(name))
		}
		if len(p.Deployments) > 0 && len(p.Scopes) > 0 {
			return IssuedKey{}, fault.New(fault.Invalid, fault.CodeInvalidRequest, "a key limited to deployments has no scopes")
		}
		return o.IssueKey(ctx, p.Account, scopes, by)
	},
	Body: func(i IssuedKey) any { return i.body() },
	JSON: func(i IssuedKey) any { return i.body() },
	Show: func(out *terminal.Printer, _ issueParams, i IssuedKey) {
		out.Printf("key of account %s, which is shown only once:\n%s\n", terminal.Clean(i.Owner.Name), i.Secret)
	},
}.Untyped()

// IssueKey makes a key of an account and returns it with its secret, which nobody can read again.
func (a Service) IssueKey(ctx context.Context, owner string, scopes []account.Scope, by operate.Attribution) (IssuedKey, error) {
	of, err := a.Account(ctx, owner)
	if err != nil {
		return IssuedKey{}, err
	}
	secret, k, err := account.Issue(ctx, a.by(by), account.Key{Account: owner, Scopes: scopes})
	return IssuedKey{of, k, secret}, err
}

// RevokeKey revokes a key of an account.
func (a Service) RevokeKey(ctx context.Context, owner, key string, by operate.Attribution) error {
	return a.by(by).RevokeKey(ctx, owner, key)
}

var listKeys = action.Of[Service, owner, []key]{
	Spec: action.Spec{
		ID: "adminKeys", Route: "GET /accounts/{account}/keys", Summary: "List the keys of an account.",
		Schema: "AdminKey", Member: "keys", List: true,
		Commands: []action.Command{{Use: "list --account NAME", Short: "List keys by their first characters"}},
	},
	Do: func(ctx context.Context, o Service, p owner, _ operate.Attribution) ([]key, error) {
		all, err := o.Keys(ctx, p.Account)
		shown := make([]key, len(all))
		for i, k := range all {
			shown[i] = keyOf(k)
		}
		return shown, err
	},
	Show: func(out *terminal.Printer, _ owner, all []key) {
		out.Columns([]string{"ID", "KEY", "SCOPES", "CREATED", "LAST USED", "REVOKED"}, func(row func(...any)) {
			for _, k := range all {
				row(k.ID, k.Prefix+"…", k.Scopes, &k.CreatedAt, k.LastUsed, k.RevokedAt)
			}
		})
	},
}.Untyped()

type revokeParams struct {
	owner
	Key string `name:"key" arg:"ID"`
}

// RevokeKey revokes a key.
var RevokeKey = action.Of[Service, revokeParams, account.Account]{
	Spec: action.Spec{
		ID: "adminRevokeKey", Route: "DELETE /accounts/{account}/keys/{key}",
		Page: "/accounts/:account/keys/revoke", Reason: action.Optional, Status: 204,
		Commands: []action.Command{{
			Use: "revoke --account NAME ID", Short: "Revoke a key at once",
			Label: "Revoke", Danger: true, Warning: "Requests with this key are refused from now on.",
		}},
	},
	Do: func(ctx context.Context, o Service, p revokeParams, by operate.Attribution) (account.Account, error) {
		a, err := o.Account(ctx, p.Account)
		if err != nil {
			return a, err
		}
		return a, o.RevokeKey(ctx, a.ID, p.Key, by)
	},
	Show: func(out *terminal.Printer, p revokeParams, a account.Account) {
		out.Printf("key %s of account %s is revoked\n", terminal.Clean(p.Key), terminal.Clean(a.Name))
	},
	JSON: action.Done[account.Account],
	Back: func(p revokeParams, _ account.Account) string { return "/accounts/" + p.Account },
}.Untyped()
