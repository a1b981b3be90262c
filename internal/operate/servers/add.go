package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// Registration is a request to register a server.
type Registration struct {
	URL       string            `name:"url" arg:"URL" label:"Address, as in http://10.0.0.7:8188" required:"true"`
	Labels    []string          `name:"labels" flag:"label" label:"Labels, separated by spaces"`
	Slots     int               `name:"slots" default:"1" help:"segments that the server runs at the same time"`
	Headers   map[string]string `name:"headers" flag:"header" secret:"true"`
	Price     action.Dollars    `name:"price_usd" flag:"price"`
	ExpiresIn time.Duration     `name:"expires_in" max:"31536000"`
	Models    string            `name:"models_folder" help:"folder of its models that workers reach under this path; weights are put there"`

	Token *server.Token // the token of the request; nil = an operator's request
	From  netip.Addr    // the origin of a request with a token
}

// Add registers a server, or renews a registration that expires. An invalid address is Invalid with
// server.CodeInvalid. A server with a different registration is Conflict.
var Add = action.Of[*Service, Registration, View]{
	Spec: action.Spec{
		ID: "adminAddServer", Route: "POST /servers", Summary: "Register a server, or renew a registration that expires.",
		Detail: `A registration token may call this, too, and nothing else. What it registers expires, after five minutes where the
request does not say and after a day at most. It registers the machine that asks, by its address, or the hosts that
the token was made for; another address is 403. The actor is the token, actor and reason need not be given, and the
answer names the server only. It renews what tokens have registered; what an operator has registered is 409.`,
		Page: "/servers", Reason: action.Required, Status: 201, Schema: "AdminServer", Refusal: map[int]string{
			403: "The registration token may not register this address.", 409: registered,
			422: notComfyUI, 429: "Too many servers are registered with the token.",
		},
		Help: map[string]string{
			"labels":     "label that jobs may request; may be repeated",
			"price_usd":  "price of a second for metered accounts, in US dollars, such as 0.0005; a registration token has a price of its own",
			"headers":    "header for a proxy in front of it, \"NAME: VALUE\"; encrypted when stored",
			"expires_in": "remove the server unless it is added again within this time, in requests a number of seconds; 0 = never",
		},
		Commands: []action.Command{{
			Use: "add URL [--label NAME]… --reason TEXT", Short: "Register a server",
			Label: "Register a server", Warning: "Every process reads the classes of the server, and jobs are placed on it.",
		}},
	},
	Do: func(ctx context.Context, o *Service, r Registration, by operate.Attribution) (View, error) {
		reg := server.Registration{
			URL: r.URL, Labels: r.Labels, Slots: r.Slots, Headers: r.Headers, ExpiresIn: r.ExpiresIn, Price: int64(r.Price),
			ModelsFolder: r.Models, Token: r.Token, From: r.From, By: by,
		}
		if err := reg.Check(); err != nil {
			return View{}, err
		}
		var sealed []byte
		if len(r.Headers) > 0 {
			raw, err := json.Marshal(r.Headers)
			if err != nil {
				return View{}, fmt.Errorf("encode headers: %w", err)
			}
			sealed = o.Seal.Seal(reg.URL, string(raw))
		}
		s, err := o.Store.Register(ctx, reg, sealed)
		if err != nil {
			return View{}, err
		}
		return view(s), nil
	},
	JSON: func(v View) any { return []View{v} },
	Show: func(out *terminal.Printer, _ Registration, v View) { print(out, v) },
	Back: func(Registration, View) string { return "/servers" },
}.Untyped()

// Refusals of the operations on servers.
const (
	registered = "The address is registered already, or the state of the server does not allow the change."
	notComfyUI = "This is not the address of a ComfyUI server."
)
