package catalog

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Defaults of fields that an entry omits.
const (
	defaultAnswer    = 2 * time.Minute  // most synchronous models answer within a minute
	defaultStall     = 90 * time.Second // a model sends nothing while it computes its first byte
	defaultTotal     = 20 * time.Minute // the slowest video of the catalog takes about ten minutes
	defaultFirstPoll = time.Second
	defaultPollEvery = 2 * time.Second
	defaultBytes     = 256 << 20
	maxLifetime      = 24 * time.Hour // lifetime of hosted results
)

// simulatorBase is the base of entries that the provider simulator serves.
const simulatorBase = "simulator"

// address returns the provider's base address, and the private host:port that the operator has allowed.
func (f *file) address(opts Options) (base string, allow []string, ok bool) {
	base, overridden := opts.Bases[f.Provider]
	if !overridden {
		if f.Base != simulatorBase {
			return f.Base, nil, true
		}
		if base = opts.Simulator; base == "" {
			return "", nil, false
		}
	}
	base = strings.TrimRight(base, "/")
	if u, err := url.Parse(base); err == nil {
		allow = []string{hostPort(u)}
	}
	return base, allow, true
}

func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	if u.Scheme == "http" {
		return u.Hostname() + ":80"
	}
	return u.Hostname() + ":443"
}

// model makes the model of the i-th entry of the file.
func (f *file) model(i int, base string) (*Model, error) {
	node := &f.Models[i]
	var e entry
	if !f.Defaults.IsZero() {
		if err := f.Defaults.Decode(&e); err != nil {
			return nil, err
		}
	}
	shared := e.Errors
	e.Errors = nil
	if err := node.Decode(&e); err != nil {
		return nil, err
	}
	e.Errors = append(e.Errors, shared...)
	m := e.compile(f)
	m.Base = base
	if u, err := url.Parse(base); err == nil {
		m.Hosts = append(slices.Clone(f.Hosts), u.Hostname())
	}
	if err := m.addCommon(); err != nil {
		return nil, err
	}
	if err := e.schemas(m); err != nil {
		return nil, err
	}
	if msg := m.inconsistent(); msg != "" {
		return nil, &problem{node, msg}
	}
	for i := range e.Alternates {
		other, err := e.Alternates[i].compile()
		if err != nil {
			return nil, err
		}
		m.Alternates = append(m.Alternates, other)
	}
	return m, e.checkExample(m)
}

func (e *entry) compile(f *file) *Model {
	m := &Model{
		ID: f.Provider + "/" + e.Model, Provider: f.Provider, Name: e.Model, Variant: e.Variant, Aliases: e.Aliases,
		Title: or(e.Title, e.Model), Docs: e.Docs, Settings: f.Settings, Auth: f.Auth,
		Protocol: or(e.Protocol, Sync),
		Submit:   e.Submit.by("POST"), Accepted: e.Accepted, Handle: e.Handle,
		Poll: e.Poll.by("GET"), Done: e.Done, Failed: e.Failed,
		Result: e.Result.by("GET"), Cancel: e.Cancel.by("POST"),
		Encoding: or(e.Encoding, "json"), Task: e.Task, Idempotency: e.Idempotency,
		Limits: e.Limits.compile(), Message: e.Message,
		Billing:    Billing{ChargesOnPolicyRejection: or(e.Charges, ChargesUnknown)},
		Hosting:    Hosting{Assets: e.Hosting.Assets, Lifetime: time.Duration(e.Hosting.Lifetime), Links: e.Hosting.Links},
		InputMedia: e.Media, Node: e.Node, ContentType: e.ContentType, Errors: e.Errors, price: e.Price, docs: &documents{},
	}
	if e.Variant != "" {
		m.ID += "/" + e.Variant
	}
	for _, r := range e.Rules {
		if r.Unpriced {
			m.unpriced = append(m.unpriced, inputRule{refuse: r.Refuse, loc: r.Loc, msg: unpricedMsg, kind: unpricedKind})
			continue
		}
		m.rules = append(m.rules, inputRule{refuse: r.Refuse, loc: r.Loc, msg: r.Msg, kind: or(r.Type, "value_error")})
	}
	return m
}

// by returns the endpoint with a method, unless the entry gives one.
func (e Endpoint) by(method string) Endpoint {
	e.Method = or(e.Method, method)
	return e
}

func (l limits) compile() Limits {
	return Limits{
		Answer: time.Duration(or(l.Answer, duration(defaultAnswer))), Stall: time.Duration(or(l.Stall, duration(defaultStall))),
		Total:     time.Duration(or(l.Total, duration(defaultTotal))),
		PollFirst: time.Duration(or(l.FirstPoll, duration(defaultFirstPoll))),
		PollEvery: time.Duration(or(l.PollEvery, duration(defaultPollEvery))),
		Bytes:     int64(or(l.Bytes, defaultBytes)),
	}
}

func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// inconsistent returns a description of the first contradiction between fields of the entry, or "".
func (m *Model) inconsistent() string {
	polls := m.Protocol == SubmitPoll
	switch {
	case len(m.ID)-len(m.Variant) > maxIDLength+1:
		return fmt.Sprintf("the id %s has more than %d characters", m.ID, maxIDLength)
	case reserved[m.Name]:
		return fmt.Sprintf("%q is a route of the API and cannot be the name of a model", m.Name)
	case reserved[m.Variant]:
		return fmt.Sprintf("%q is a route of the API and cannot be the name of a variant", m.Variant)
	case !m.Submit.URL.Set():
		return "needs submit.url, the address that calls are sent to"
	case polls && (!m.Handle.Set() || !m.Poll.URL.Set() || !m.Done.Set()):
		return "protocol submit-poll needs handle, poll.url and done"
	case !polls && (m.Handle.Set() || m.Poll.URL.Set() || m.Result.URL.Set()):
		return fmt.Sprintf("handle, poll and result belong to protocol submit-poll, not %s", m.Protocol)
	case (m.Encoding == EncodingTasks) != (m.Task.ID != "" || len(m.Task.Members) > 0):
		return "task and encoding: tasks belong together: task names the members that the encoding adds"
	case m.Auth.Kind != "none" && len(m.Auth.Env) == 0:
		return "auth needs env, the names of the variables that hold the credential"
	case m.Auth.Kind == "header" && m.Auth.Header == "":
		return "auth of kind header needs header, the name of the header"
	case m.Hosting.Lifetime > maxLifetime:
		return fmt.Sprintf("hosting.lifetime is at most %s", maxLifetime)
	case m.price.AsOf == "":
		return "needs price; if the price is not known beforehand, price.unknown gives the reason"
	default:
		return ""
	}
}

// reserved are the path segments that follow a model's id in routes.
var reserved = map[string]bool{"requests": true, "estimate": true, "openapi.json": true}

// schemas compiles the input and output schema.
func (e *entry) schemas(m *Model) error {
	var err error
	if m.input, err = compileSchema(&e.Input); err != nil {
		return err
	}
	m.output, err = compileSchema(&e.Output)
	return err
}

// checkExample refuses an example that does not match the entry's own input schema.
func (e *entry) checkExample(m *Model) error {
	if e.Example.IsZero() {
		return nil
	}
	raw, err := ordered(&e.Example)
	if err != nil {
		return err
	}
	m.Example = raw
	violations := m.Validate(raw)
	if len(violations) == 0 {
		return nil
	}
	steps := make([]string, 0, len(violations[0].Loc))
	for _, step := range violations[0].Loc[1:] {
		steps = append(steps, fmt.Sprint(step))
	}
	return &problem{at(&e.Example, steps), fmt.Sprintf("the example does not match the entry's own input schema at %s: %s",
		strings.Join(steps, "."), violations[0].Msg)}
}

var _ yaml.Unmarshaler = (*Expr)(nil)
