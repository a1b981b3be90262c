// Package servers implements the operators' commands on ComfyUI servers. Headers for a proxy in front of a server are
// encrypted before they are stored and never shown. Every change is recorded with its actor and reason.
package servers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/serverstore"
	"github.com/millrace-dev/millrace/projections/serverusage"
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

// List returns all servers, in the order of their registration.
func (o *Service) List(ctx context.Context) ([]View, error) {
	all, err := o.Store.Servers(ctx)
	views := make([]View, 0, len(all))
	for _, s := range all {
		views = append(views, view(s))
	}
	return views, err
}

// Waiting returns the segments that wait for a server, with the reasons.
func (o *Service) Waiting(ctx context.Context) ([]server.Waiting, error) {
	return o.Store.Waits(ctx)
}

// Show returns one server by its id or address, or NotFound.
func (o *Service) Show(ctx context.Context, ref string) (View, error) {
	s, err := o.Store.Server(ctx, ref)
	if err != nil {
		return View{}, err
	}
	return view(s), nil
}

// Request is a request to register a server.
type Request struct {
	URL       string
	Labels    []string
	Slots     int
	Headers   map[string]string
	ExpiresIn time.Duration
	Price     int64         // price of a second on the server, in USD millionths
	Token     *server.Token // the token of the request; nil = an operator's request
	From      netip.Addr    // the origin of a request with a token
}

// Add registers a server, or renews a registration that expires. An invalid address is Invalid with
// server.CodeInvalid. A server with a different registration is Conflict.
func (o *Service) Add(ctx context.Context, r Request, by operate.Attribution) (View, error) {
	reg := server.Registration{URL: r.URL, Labels: r.Labels, Slots: r.Slots, Headers: r.Headers, ExpiresIn: r.ExpiresIn, Price: r.Price, Token: r.Token, From: r.From, By: server.By(by)}
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
}

// Change drains, resumes or removes a server. Callers must pass a known verb.
func (o *Service) Change(ctx context.Context, verb, ref string, by operate.Attribution) (View, error) {
	s, err := o.Store.Server(ctx, ref)
	if err != nil {
		return View{}, err
	}
	switch verb {
	case "drain", "resume":
		err = o.Store.Drain(ctx, s.ID, verb == "drain", server.By(by))
	case "remove":
		return view(s), o.Store.Remove(ctx, s.ID, server.By(by))
	default:
		err = fmt.Errorf("unknown change %q of a server", verb)
	}
	if err != nil {
		return View{}, err
	}
	return o.Show(ctx, string(s.ID))
}

// TokenRequest asks for a registration token.
type TokenRequest struct {
	Name  string
	Hosts []string // hosts that the token may register; empty = only the requesting machine
	Price int64    // price of a second on its servers, in USD millionths
}

// AddToken makes a registration token and returns it with its secret, which is shown once.
func (o *Service) AddToken(ctx context.Context, r TokenRequest, by operate.Attribution) (secret string, t server.Token, err error) {
	hosts, err := server.ParseHosts(r.Hosts)
	if err := errors.Join(server.CheckTokenName(r.Name), err, server.CheckTokenPrice(r.Price), server.By(by).Check()); err != nil {
		return "", server.Token{}, err
	}
	secret, prefix := server.NewTokenSecret()
	t, err = o.Store.AddToken(ctx, server.Token{Name: r.Name, Prefix: prefix, Hosts: hosts, Price: r.Price}, server.HashToken(secret), server.By(by))
	return secret, t, err
}

// Tokens returns all registration tokens, revoked ones included.
func (o *Service) Tokens(ctx context.Context) ([]server.Token, error) { return o.Store.Tokens(ctx) }

// RevokeToken ends a registration token, named by its id or name. Registrations made with it expire.
func (o *Service) RevokeToken(ctx context.Context, ref string, by operate.Attribution) (server.Token, error) {
	if err := server.By(by).Check(); err != nil {
		return server.Token{}, err
	}
	return o.Store.RevokeToken(ctx, ref, server.By(by))
}

// Token returns the registration token with that secret, or NotFound if the secret is not valid.
func (o *Service) Token(ctx context.Context, secret string) (server.Token, error) {
	return o.Store.TokenByHash(ctx, server.HashToken(secret))
}

// UsageSince is the default period for which usage is added up.
const UsageSince = "720h"

// Usage adds up the time on servers by day, account and server, for one account, given by name or id, or for all.
// since is a duration before now or a time; "" means UsageSince.
func (o *Service) Usage(ctx context.Context, account, since string) ([]serverusage.Day, error) {
	names, err := operate.AccountNames(ctx, o.Pool)
	if err != nil {
		return nil, err
	}
	id, err := operate.AccountNamed(account, names)
	if err != nil {
		return nil, err
	}
	now, err := operate.Now(ctx, o.Pool)
	if err != nil {
		return nil, err
	}
	since = cmp.Or(since, UsageSince)
	from, err := operate.ParseSince(since, now)
	if err != nil {
		return nil, err
	}
	return serverusage.NewReader(o.Pool).Between(ctx, id, from, now)
}
