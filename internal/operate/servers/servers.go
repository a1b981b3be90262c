// Package servers implements the operators' commands on ComfyUI servers. Headers for a proxy in front of a server are
// encrypted before they are stored and never shown. Every change is recorded with its actor and reason.
package servers

import (
	"context"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/serverstore"
)

// Sealer encrypts the headers of a server.
type Sealer interface {
	Seal(owner, secret string) []byte
}

// Service reads and changes the registry of servers.
type Service struct {
	Pool  *postgres.Pool
	Store *serverstore.Store
	Seal  Sealer
}

// Actions are what operators do to servers.
var Actions = action.Group[*Service]{
	Use:   "servers",
	Short: "Register ComfyUI servers, list, drain, resume and remove them",
	Long: `Register ComfyUI servers, list, drain, resume and remove them. A server runs the parts of graphs whose
classes are not native. A change is in force at once in every process, survives restarts, and is recorded
with its actor and reason. REF is an id or an address.

  healthy   answers, and is idle
  busy      answers, and runs prompts
  away      does not answer
  refused   cannot be used; the list contains the reason
  draining  finishes its segments and gets no new ones
  stuck     runs a canceled prompt that does not end, and gets no segments
  resting   gets no segments for a while, because jobs failed on it; resume ends this`,
	Example: `  millrace servers add http://10.0.0.7:8188 --label sdxl --reason "second GPU"
  millrace servers list
  millrace servers drain http://10.0.0.7:8188 --reason "driver update"`,
	Actions: []action.For[*Service]{Add, list, show, logs, compare, Change, usage},
	Groups: []action.Group[*Service]{{
		Use:   "tokens",
		Short: "Create, list and revoke the tokens with which machines register themselves",
		Long: `Create, list and revoke the tokens with which machines register themselves as servers, for example machines
that an autoscaler starts. A token may only register servers that expire, and renew them (POST /admin/servers):
the requesting machine, by its address, or the hosts for which the token was created. It is shown once, when it
is created; only its hash is stored. REF is an id or a name.`,
		Example: `  millrace servers tokens create autoscaler --reason "GPU group in eu-west"
  millrace servers tokens create cluster --host 10.0.3.0/24 --host '*.gpu.internal' --reason "behind a NAT"
  millrace servers tokens list
  millrace servers tokens revoke autoscaler --reason "leaked"`,
		Actions: []action.For[*Service]{addToken, listTokens, revokeToken},
	}},
}

// View is a server as operators see it.
type View struct {
	ID    server.ID    `json:"id"`
	URL   string       `json:"url"`
	State server.State `json:"state"`
	*server.Server
	Headers bool `json:"headers"` // whether headers are sent with every request
}

func view(s *server.Server) View {
	return View{ID: s.ID, URL: s.URL, State: s.State(), Server: s, Headers: len(s.Sealed) > 0}
}

// named is the parameter of actions on one server.
type named struct {
	ID string `name:"id" arg:"REF"`
}

// find returns one server by its id or address, or NotFound.
func (o *Service) find(ctx context.Context, ref string) (View, error) {
	s, err := o.Store.Server(ctx, ref)
	if err != nil {
		return View{}, err
	}
	return view(s), nil
}

// Token returns the registration token with that secret, or NotFound if the secret is not valid.
func (o *Service) Token(ctx context.Context, secret string) (server.Token, error) {
	return o.Store.TokenByHash(ctx, server.HashToken(secret))
}
