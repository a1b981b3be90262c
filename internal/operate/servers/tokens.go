package servers

import (
	"context"
	"errors"
	"strings"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

type tokenParams struct {
	Name  string         `name:"name" arg:"NAME" required:"true"`
	Hosts []string       `name:"hosts" flag:"host"`
	Price action.Dollars `name:"price_usd" flag:"price"`
}

// token is a registration token. Secret is set only when it is made.
type token struct {
	server.Token
	Secret string `json:"secret,omitempty"`
}

var addToken = action.Of[*Service, tokenParams, token]{
	Spec: action.Spec{
		ID: "adminAddServerToken", Route: "POST /servers/tokens", Reason: action.Required, Status: 201, Schema: "AdminServerToken",
		Summary: "Create a registration token. Only this answer has its secret.",
		Help: map[string]string{
			"hosts":     "address, network, name or *.DOMAIN of machines that it may register; may be repeated; default: the requesting machine",
			"price_usd": "price of a second on its servers for metered accounts, in US dollars, such as 0.0005",
		},
		Commands: []action.Command{{Use: "create NAME [--host HOST]… --reason TEXT", Short: "Create a token and print it, once"}},
	},
	Do: func(ctx context.Context, o *Service, p tokenParams, by operate.Attribution) (token, error) {
		hosts, err := server.ParseHosts(p.Hosts)
		if err := errors.Join(server.CheckTokenName(p.Name), err, server.CheckTokenPrice(int64(p.Price)), server.CheckBy(by)); err != nil {
			return token{}, err
		}
		secret, prefix := server.NewTokenSecret()
		made := server.Token{Name: p.Name, Prefix: prefix, Hosts: hosts, Price: int64(p.Price)}
		t, err := o.Store.AddToken(ctx, made, server.HashToken(secret), by)
		return token{t, secret}, err
	},
	Show: func(out *terminal.Printer, _ tokenParams, t token) {
		out.Printf("registration token %s, which is shown only once:\n%s\n", t.Name, t.Secret)
	},
}.Untyped()

var listTokens = action.Of[*Service, struct{}, []token]{
	Spec: action.Spec{
		ID: "adminServerTokens", Route: "GET /servers/tokens", Schema: "AdminServerToken", Member: "tokens", List: true,
		Summary:  "List the registration tokens, with which machines register themselves, revoked ones included.",
		Commands: []action.Command{{Use: "list", Short: "List the tokens by their first characters"}},
	},
	Do: func(ctx context.Context, o *Service, _ struct{}, _ operate.Attribution) ([]token, error) {
		all, err := o.Store.Tokens(ctx)
		shown := make([]token, len(all))
		for i, t := range all {
			shown[i] = token{Token: t}
		}
		return shown, err
	},
	Show: func(out *terminal.Printer, _ struct{}, all []token) {
		out.Columns([]string{"NAME", "TOKEN", "HOSTS", "ID", "CREATED", "LAST USED", "REVOKED"}, func(row func(...any)) {
			for _, t := range all {
				hosts := "itself"
				if len(t.Hosts) > 0 {
					hosts = strings.Join(t.Hosts, ",")
				}
				row(t.Name, t.Prefix+"…", hosts, t.ID, &t.CreatedAt, t.LastUsed, t.RevokedAt)
			}
		})
	},
}.Untyped()

var revokeToken = action.Of[*Service, named, server.Token]{
	Spec: action.Spec{
		ID: "adminRevokeServerToken", Route: "DELETE /servers/tokens/{id}", Reason: action.Required, Status: 204,
		Summary:  "Revoke a registration token, by its id or name. Registrations that were made with it expire.",
		Commands: []action.Command{{Use: "revoke REF --reason TEXT", Short: "Revoke a token at once; the servers that it registered expire"}},
	},
	Do: func(ctx context.Context, o *Service, p named, by operate.Attribution) (server.Token, error) {
		if err := server.CheckBy(by); err != nil {
			return server.Token{}, err
		}
		return o.Store.RevokeToken(ctx, p.ID, by)
	},
	Show: func(out *terminal.Printer, _ named, t server.Token) {
		out.Printf("registration token %s is revoked\n", t.Name)
	},
}.Untyped()
