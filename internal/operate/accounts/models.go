package accounts

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// onOff is true or false in JSON, and on or off in a command.
type onOff struct{ given, on bool }

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *onOff) UnmarshalText(text []byte) error {
	if o.given, o.on = true, string(text) == "on"; !o.on && string(text) != "off" {
		return errors.New("neither on nor off")
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *onOff) UnmarshalJSON(raw []byte) error {
	o.given = true
	return json.Unmarshal(raw, &o.on)
}

// Takes describes the values.
func (*onOff) Takes() string { return "on or off, in JSON true or false" }

// Schema describes the values in the OpenAPI document.
func (*onOff) Schema() map[string]any { return map[string]any{"type": "boolean"} }

// exceptions is a list of names, or none. It is never all: null is refused.
type exceptions struct{ action.Names }

// Takes describes the values.
func (*exceptions) Takes() string { return "a list of names, or an empty one" }

// Schema describes the values in the OpenAPI document.
func (*exceptions) Schema() map[string]any {
	return map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
}

type modelParams struct {
	named
	Router  onOff        `name:"router" required:"route" help:"on or off: access to the model router as a whole"`
	Allowed action.Names `name:"allowed" flag:"allow" commas:"true" required:"route"`
	Denied  exceptions   `name:"denied" flag:"deny" commas:"true" served:"none"`
}

// access is an account's access to the model router.
type access struct {
	Account string   `json:"account"`
	Name    string   `json:"name"`
	Router  bool     `json:"router"`  // whether the account may use the router
	Allowed []string `json:"allowed"` // null = every model, empty = none
	Denied  []string `json:"denied"`  // exceptions from Allowed
}

func accessOf(a account.Account) access {
	return access{a.ID, a.Name, !a.Access.Off, a.Access.Models, append([]string{}, a.Access.Denied...)}
}

var showModels = action.Of[Service, named, access]{
	Spec: action.Spec{
		ID: "adminModels", Route: "GET /accounts/{account}/models", Schema: "AdminAccess",
		Summary: "Get the access of an account to the model router.",
	},
	Do: func(ctx context.Context, o Service, p named, _ operate.Attribution) (access, error) {
		a, err := o.Account(ctx, p.Account)
		return accessOf(a), err
	},
}.Untyped()

// A request replaces the whole access, so that concurrent changes by two operators never produce a mixture of both.
var setModels = action.Of[Service, modelParams, access]{
	Spec: action.Spec{
		ID: "adminSetModels", Route: "PUT /accounts/{account}/models", Schema: "AdminAccess", Reason: action.Optional,
		Summary: "Replace the access of an account to the model router. It takes effect with the next request, in every process.",
		Help: map[string]string{
			"allowed": "models that the account may use: PROVIDER/MODEL, PROVIDER/*, all or none",
			"denied":  "exceptions that the account may not use; none = no exceptions",
		},
		Commands: []action.Command{{
			Use: "models ACCOUNT", Short: "Show or change the models that an account may use",
			Long: `Show or change the models that an account may use. A list replaces the previous one: PROVIDER/MODEL,
or PROVIDER/* for all models of a provider; all = every model, none = no model. A denied model is denied
even if another entry allows it. A call of a model that the account may not use is refused with 403, and
the account's lists do not contain the model. The change is in force from the next request on, in every
process, and is recorded with its actor and reason.`,
			Example: `  millrace accounts models acme
  millrace accounts models acme --allow 'bfl/*' --allow openai/gpt-image-2 --reason "contract of May"
  millrace accounts models acme --allow all --deny 'kling/*' --reason "no video"
  millrace accounts models acme --router off --reason "disabled on the owner's request"`,
		}},
	},
	Do: func(ctx context.Context, o Service, p modelParams, by operate.Attribution) (access, error) {
		a, err := o.Account(ctx, p.Account)
		if err != nil || !p.Router.given && !p.Allowed.Given && !p.Denied.Given {
			return accessOf(a), err
		}
		if p.Router.given {
			a.Access.Off = !p.Router.on
		}
		if p.Allowed.Given {
			a.Access.Models = p.Allowed.Names
		}
		if p.Denied.Given {
			a.Access.Denied = p.Denied.Names.Names
		}
		switch {
		case by.Reason == "":
			return access{}, errNoReason
		case p.Denied.Given && p.Denied.Names.Names == nil:
			return access{}, fault.New(fault.Invalid, fault.CodeInvalidRequest, "to deny every model, allow none: --allow none")
		}
		a, err = o.change(ctx, account.Change{Account: a.ID, Access: &a.Access}, by)
		return accessOf(a), err
	},
	Show: func(out *terminal.Printer, _ modelParams, a access) {
		router := "on"
		if !a.Router {
			router = "off"
		}
		allowed, denied := action.Names{Names: a.Allowed}, action.Names{Names: a.Denied}
		out.Printf("%s: router %s, allowed %s, denied %s\n", a.Name, router, allowed.Text(), denied.Text())
	},
}.Untyped()
