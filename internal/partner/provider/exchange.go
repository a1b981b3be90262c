package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/telemetry"
)

// payload is the body of a request.
type payload struct {
	reader      io.Reader
	size        int64
	contentType string
}

// message is one request to a provider.
type message struct {
	endpoint    catalog.Endpoint
	body        payload
	scope       catalog.Scope
	idempotency string // value of the provider's idempotency header; "" = none
	repeatable  bool   // the request changes nothing at the provider, so it may be repeated
}

// maxSilence bounds the time without a byte of the answer to a status, result or cancel request. Such a request
// computes nothing at the provider, so an unanswered request is repeated.
const maxSilence = 30 * time.Second

// exchange sends a message and returns the answer up to its headers. Errors wrap ErrNotSent or ErrUnknown, and also
// the cause if it was a time bound. Its span contains the model and the status, but neither address nor bodies, since
// both may contain content of a client.
func (c *Client) exchange(ctx context.Context, m *catalog.Model, msg message) (*response, error) {
	traced, span := telemetry.Begin(ctx, "provider "+msg.endpoint.Method, trace.SpanKindClient,
		attribute.String("http.request.method", msg.endpoint.Method), attribute.String("millrace.model", m.ID))
	a, err := c.send(traced, m, msg)
	failure := ""
	switch {
	case errors.Is(err, ErrNotSent):
		failure = "not sent"
	case err != nil:
		failure = "outcome unknown"
	default:
		span.SetAttributes(attribute.Int("http.response.status_code", a.status))
		if !a.ok() {
			failure = http.StatusText(a.status)
		}
	}
	telemetry.End(span, failure)
	return a, err
}

func (c *Client) send(ctx context.Context, m *catalog.Model, msg message) (*response, error) {
	stall := m.Limits.Stall
	if msg.repeatable {
		stall = min(stall, maxSilence)
	}
	ctx, watch := outbound.Watch(ctx, m.Limits.Answer, stall)
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	req, err := c.request(traced, m, msg)
	if err != nil {
		watch.Stop()
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	secrets := c.secrets(m, req.Header)
	resp, err := c.http.RoundTrip(req, m.Allow) //nolint:bodyclose // the answer closes it
	if err != nil {
		err = readable(secrets, watch.Cause(err))
		watch.Stop()
		if sent.Load() {
			return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
		}
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	return newResponse(resp, watch, m.Limits.Bytes, secrets), nil
}

// request builds the HTTP request. The credential goes only to the provider's own hosts.
func (c *Client) request(ctx context.Context, m *catalog.Model, msg message) (*http.Request, error) {
	address, err := addressOf(m, msg)
	if err != nil {
		return nil, err
	}
	body, err := msg.payload()
	if err != nil {
		return nil, err
	}
	// The wrapper around the body keeps the transport from sending it a second time on its own.
	req, err := http.NewRequestWithContext(ctx, msg.endpoint.Method, address.String(), onceReader(body))
	if err != nil {
		return nil, errNoAddress
	}
	req.ContentLength = body.size
	if body.size > 0 {
		req.Header.Set("Content-Type", body.contentType)
	}
	req.Header.Set("Accept", "application/json, */*;q=0.9")
	for name, value := range msg.endpoint.Headers {
		req.Header.Set(name, value)
	}
	if msg.idempotency != "" {
		req.Header.Set(m.Idempotency, msg.idempotency)
	}
	return req, c.authorize(ctx, m, req.Header)
}

func (msg message) payload() (payload, error) {
	if !msg.endpoint.Body.Set() {
		return msg.body, nil
	}
	encoded, err := json.Marshal(msg.endpoint.Body.Eval(msg.scope))
	if err != nil {
		return payload{}, fmt.Errorf("the body of a status request: %w", err)
	}
	return payload{reader: bytes.NewReader(encoded), size: int64(len(encoded)), contentType: "application/json"}, nil
}

func onceReader(p payload) io.Reader {
	if p.size == 0 {
		return nil
	}
	return struct{ io.Reader }{p.reader}
}

// Errors for addresses from a provider that are never requested.
var (
	errForeignHost = errors.New("the provider named an address on a host that the entry does not list")
	errUserInfo    = errors.New("the provider named an address with a user name or password in it")
	errNoAddress   = errors.New("the provider's address is not a URL")
)

// addressOf expands an endpoint's address. A relative address is resolved against the base.
func addressOf(m *catalog.Model, msg message) (*url.URL, error) {
	text, err := msg.endpoint.URL.Expand(msg.scope)
	if err != nil {
		return nil, fmt.Errorf("the provider's address: %w", err)
	}
	if strings.HasPrefix(text, "/") {
		text = m.Base + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errNoAddress
	}
	if u.User != nil {
		return nil, errUserInfo
	}
	if !belongs(m, u) {
		return nil, errForeignHost
	}
	return u, nil
}

// belongs reports whether an address is one of the provider's: it has the scheme of the base and a host of the
// provider's list.
func belongs(m *catalog.Model, u *url.URL) bool {
	base, err := url.Parse(m.Base)
	if err != nil || u.Scheme != base.Scheme {
		return false
	}
	if u.Host == base.Host {
		return true
	}
	if u.Port() != "" {
		return false
	}
	for _, pattern := range m.Hosts {
		suffix, wild := strings.CutPrefix(pattern, "*")
		if u.Hostname() == pattern || wild && strings.HasSuffix(u.Hostname(), suffix) {
			return true
		}
	}
	return false
}
