// Package openid signs people in at a provider with OpenID Connect: the code flow with PKCE. It promises that a person
// is identified only by an ID token of the configured issuer, for this client, that answers the request of this browser,
// and that nobody without a grant gets in. It stores nothing: what belongs to a browser is the caller's Flow.
package openid

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/millrace-dev/millrace/internal/domain/session"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/webtoken"
)

// Options say who may sign in, and where.
type Options struct {
	Issuer      string // exactly as the provider names itself
	ClientID    string
	Secret      string   // of the client; "" = a public client
	Scopes      []string // beside openid, such as email, profile and groups
	GroupsClaim string   // claim that lists the groups of a person; "a.b" = b within a
	Domains     []string // of email addresses that may sign in; empty = all
	Rules       session.Rules
	Lasts       time.Duration    // of a session
	Now         func() time.Time // nil = time.Now
	HTTP        *http.Client     // for requests to the provider
}

// maxAnswer bounds an answer of the provider, in bytes.
const maxAnswer = 1 << 20

// Timeout bounds a request to the provider.
const Timeout = 10 * time.Second

// pause is the time for which the failure of a provider to describe itself answers for it.
const pause = 3 * time.Second

// flowLasts bounds the time from the start of a sign-in to its end.
const flowLasts = 10 * time.Minute

// Provider signs people in. Its methods are safe for concurrent use.
type Provider struct {
	Options
	host   string
	flight singleflight.Group // of requests for the description

	mu     sync.Mutex // guards the rest
	found  *discovered
	failed error     // of the last request, if it failed
	again  time.Time // nothing is requested before
}

// discovered is what the provider says about itself.
type discovered struct {
	provider *oidc.Provider
	verifier *oidc.IDTokenVerifier
	names    bool // it names itself in its answers (RFC 9207)
}

// New returns a provider. It sends nothing: the provider is asked about itself at the first sign-in.
func New(o Options) (*Provider, error) {
	issuer, err := url.Parse(o.Issuer)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	bounded := *o.HTTP
	bounded.Transport = limited{o.HTTP.Transport}
	o.HTTP = &bounded
	return &Provider{Options: o, host: issuer.Host}, nil
}

// Host returns the name of the provider's host, for people to read.
func (p *Provider) Host() string { return p.host }

// limited bounds the bodies of answers.
type limited struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}

// discover asks the provider about itself, once with success. Concurrent callers share one request, which continues if a
// caller leaves; for a while after a failure there is no other one.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	if found, err := p.discovered(); found != nil || err != nil {
		return found, err
	}
	asked := p.flight.DoChan("", func() (any, error) {
		if found, err := p.discovered(); found != nil || err != nil {
			return found, err
		}
		found, err := p.ask(context.WithoutCancel(ctx))
		p.mu.Lock()
		defer p.mu.Unlock()
		p.found, p.failed, p.again = found, err, p.Now().Add(pause)
		return found, err
	})
	select {
	case <-ctx.Done():
		return nil, fault.Wrap(ctx.Err(), fault.Unavailable, "", "the provider of the sign-in, %s, has not answered yet", p.host)
	case r := <-asked:
		found, _ := r.Val.(*discovered)
		return found, r.Err
	}
}

// discovered returns what the provider has said about itself, or its failure of just now, or neither.
func (p *Provider) discovered() (*discovered, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil && p.Now().Before(p.again) {
		return nil, p.failed
	}
	return p.found, nil
}

// ask asks the provider about itself. The key set of the provider keeps the context, so it must outlive the request.
func (p *Provider) ask(ctx context.Context) (*discovered, error) {
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.HTTP), p.Issuer)
	if err != nil {
		cause := errors.New(printable(err.Error())) // a whole page may have answered
		return nil, fault.Wrap(cause, fault.Unavailable, "", "the provider of the sign-in, %s, does not answer now", p.host)
	}
	var says struct {
		Names bool `json:"authorization_response_iss_parameter_supported"`
	}
	if err := found.Claims(&says); err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "", "the provider of the sign-in, %s, describes itself in no known form", p.host)
	}
	verifier := found.Verifier(&oidc.Config{ClientID: p.ClientID, Now: p.Now})
	return &discovered{provider: found, verifier: verifier, names: says.Names}, nil
}

// Flow is one attempt of a browser to sign in. The browser keeps it, sealed.
type Flow struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"` // of PKCE
	Issuer   string    `json:"issuer"`
	Return   string    `json:"return"` // path of the page to which the browser returns
	Until    time.Time `json:"until"`
}

func (p *Provider) client(d *discovered, redirect string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.Secret, Endpoint: d.provider.Endpoint(), RedirectURL: redirect,
		Scopes: append([]string{oidc.ScopeOpenID}, p.Scopes...),
	}
}

// Begin returns a new flow, and the address at the provider to which the browser is sent. The provider sends it to
// redirect afterwards.
func (p *Provider) Begin(ctx context.Context, redirect, returnTo string) (Flow, string, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return Flow{}, "", err
	}
	f := Flow{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Issuer: p.Issuer, Return: returnTo,
		Until: p.Now().Add(flowLasts),
	}
	return f, p.client(d, redirect).AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), nil
}

// Finish identifies the person with whom the provider answers a flow. A refusal is Denied; the returned person is then
// known if an ID token for this request has identified it.
func (p *Provider) Finish(ctx context.Context, f Flow, redirect string, answer url.Values) (session.Person, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return session.Person{}, err
	}
	if err := p.checkAnswer(d, f, answer); err != nil {
		return session.Person{}, err
	}
	ctx = oidc.ClientContext(ctx, p.HTTP)
	token, err := p.client(d, redirect).Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return session.Person{}, exchangeFailed(err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := d.verifier.Verify(ctx, raw)
	if err != nil {
		return session.Person{}, refuse(err, "the provider's ID token is not valid")
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(f.Nonce)) != 1 {
		return session.Person{}, refuse(nil, "the provider's ID token answers another request")
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return session.Person{}, refuse(err, "the claims of the provider's ID token cannot be read")
	}
	if azp, _ := claims["azp"].(string); len(id.Audience) > 1 && azp != p.ClientID || azp != "" && azp != p.ClientID {
		return session.Person{}, refuse(nil, "the provider's ID token was issued to another client")
	}
	if err := p.complete(ctx, d, token, id.Subject, claims); err != nil {
		return p.identified(id.Subject, claims), err
	}
	return p.person(id.Subject, claims)
}

// checkAnswer refuses an answer to another flow, of another provider, or without a code.
func (p *Provider) checkAnswer(d *discovered, f Flow, answer url.Values) error {
	iss := answer.Get("iss")
	switch {
	case f.State == "" || subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(f.State)) != 1:
		return refuse(nil, "the answer of the provider does not belong to a sign-in of this browser; start again")
	case p.Now().After(f.Until):
		return refuse(nil, "the sign-in took too long; start again")
	case f.Issuer != p.Issuer, iss != "" && iss != p.Issuer, iss == "" && d.names:
		return refuse(nil, "another provider than that of this sign-in answered")
	case answer.Get("error") != "":
		return refuse(nil, "the provider refused the sign-in: "+printable(answer.Get("error")))
	case answer.Get("code") == "":
		return refuse(nil, "the provider answered without a code")
	}
	return nil
}

// complete adds claims that the ID token lacks from the user info of the provider.
func (p *Provider) complete(ctx context.Context, d *discovered, token *oauth2.Token, subject string, claims map[string]any) error {
	if claims["email"] != nil && webtoken.Member(claims, p.GroupsClaim) != nil || d.provider.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := d.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return fault.Wrap(unanswered(err), fault.Unavailable, "", "the provider of the sign-in, %s, does not answer now", p.host)
	}
	if info.Subject != subject { // OpenID Connect Core, section 5.3.2
		return refuse(nil, "the provider's user info belongs to another person")
	}
	more := map[string]any{}
	if err := info.Claims(&more); err != nil {
		return refuse(err, "the user info of the provider cannot be read")
	}
	for name, value := range more {
		if _, ok := claims[name]; !ok {
			claims[name] = value
		}
	}
	return nil
}

// identified returns the person of claims, without a grant.
func (p *Provider) identified(subject string, claims map[string]any) session.Person {
	return session.Person{Issuer: p.Issuer, Subject: subject, Name: named(verifiedEmail(claims), claims, subject)}
}

// person returns the person of claims, if the domain and the groups are allowed.
func (p *Provider) person(subject string, claims map[string]any) (session.Person, error) {
	who := p.identified(subject, claims)
	_, domain, _ := strings.Cut(verifiedEmail(claims), "@")
	if len(p.Domains) > 0 && !slices.ContainsFunc(p.Domains, func(d string) bool { return strings.EqualFold(d, domain) }) {
		return who, refuse(nil, "the provider has verified no email address of an allowed domain")
	}
	grant, ok := p.Rules.Of(texts(webtoken.Member(claims, p.GroupsClaim)))
	if !ok {
		return who, refuse(nil, "none of the person's groups may use this service")
	}
	who.Grant = grant
	return who, nil
}
