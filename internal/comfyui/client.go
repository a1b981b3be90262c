package comfyui

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/outbound/redact"
)

// Options are the tunables of a Client. The zero value works.
type Options struct {
	// Header is sent with every request to the server: credentials of a proxy in front of it.
	Header http.Header
	// Silence is the time without a sign of life after which a server counts as lost; default 30 s.
	Silence time.Duration
	// Timeout bounds requests with small answers; default 10 s.
	Timeout time.Duration
	// RootCAs verify the server's certificate; default the system's.
	RootCAs *x509.CertPool
}

// Numbers of the client.
const (
	defaultSilence = 30 * time.Second
	defaultTimeout = 10 * time.Second
	dialTimeout    = 3 * time.Second  // a machine that is gone is known to be gone within it
	idleTimeout    = 30 * time.Second // below the 75 s after which ComfyUI closes
	maxIdle        = 8
	maxHeaderBytes = 64 << 10
	maxSmall       = 1 << 20   // bytes of an answer of fixed shape
	maxListing     = 16 << 20  // of a list of names
	maxDocument    = 128 << 20 // of an answer that holds prompts or class definitions
	maxMessage     = 500       // characters of a foreign error text that are repeated
)

// Client is a Server over the network.
type Client struct {
	base    *url.URL
	header  http.Header
	http    *http.Client
	dialer  *websocket.Dialer
	silence time.Duration
	timeout time.Duration
	secrets *redact.Secrets // overwritten in all that the server answers
	noJobs  *atomic.Bool    // the server has no /api/jobs
}

var _ Server = (*Client)(nil)

// New returns the client of the server at an address; see ParseAddress. It does not connect.
func New(address string, opts Options) (*Client, error) {
	base, err := ParseAddress(address)
	if err != nil {
		return nil, err
	}
	c := &Client{
		base: base, header: opts.Header.Clone(), silence: opts.Silence, timeout: opts.Timeout,
		secrets: redact.New(credentials(opts.Header)...), noJobs: new(atomic.Bool),
	}
	if c.silence == 0 {
		c.silence = defaultSilence
	}
	if c.timeout == 0 {
		c.timeout = defaultTimeout
	}
	certificates := &tls.Config{RootCAs: opts.RootCAs, MinVersion: tls.VersionTLS12}
	dialer := &net.Dialer{Timeout: dialTimeout}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: certificates, TLSHandshakeTimeout: dialTimeout,
			MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idleTimeout, MaxResponseHeaderBytes: maxHeaderBytes,
		},
		// A redirect could lead anywhere, with the credentials of this server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c.dialer = &websocket.Dialer{NetDialContext: dialer.DialContext, TLSClientConfig: certificates, HandshakeTimeout: c.timeout}
	return c, nil
}

// ParseAddress reads the address of a server, "http://10.0.0.7:8188" or with a path below which a
// proxy serves it, and returns it in one spelling, so that equal addresses are one server. Any host
// is allowed: servers stand in private networks. An address that cannot be one, or that carries a
// password, is Invalid.
func ParseAddress(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil:
		return nil, badAddress("it is not a URL")
	case u.User != nil:
		return nil, badAddress("it has a user name or password; give credentials as headers")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, badAddress("it does not begin with http:// or https://")
	case u.Hostname() == "":
		return nil, badAddress("it has no host")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, badAddress("it has a query or fragment")
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		host += ":" + port
	}
	return &url.URL{Scheme: u.Scheme, Host: host, Path: strings.TrimRight(u.Path, "/")}, nil
}

func badAddress(why string) error {
	return fault.New(fault.Invalid, fault.CodeServerRefused, "this is not the address of a server: %s", why)
}

// Address returns the server's address in its one spelling.
func (c *Client) Address() string { return c.base.String() }

// Close closes the connections that nobody uses.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// request is one request to the server.
type request struct {
	method string
	path   string // decoded, below the server's address
	query  url.Values
	body   []byte // JSON; nil = none
}

// answer is a whole response.
type answer struct {
	status int
	body   []byte
}

// decode reads the answer as JSON of the expected shape.
func (a answer) decode(into any) error {
	if err := json.Unmarshal(a.body, into); err != nil {
		return fault.Wrap(err, fault.Unavailable, fault.CodeServerGarbage, "the server's answer is not what ComfyUI answers")
	}
	return nil
}

func (c *Client) url(path string, query url.Values) *url.URL {
	u := *c.base
	u.Path += path
	u.RawQuery = query.Encode()
	return &u
}

// open sends a request and returns the response once its header is there. Answers that refuse the
// client as such are errors; all other statuses are the caller's to judge.
func (c *Client) open(ctx context.Context, req *http.Request) (*http.Response, error) {
	for name, values := range c.header {
		req.Header[name] = values
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.transportError(ctx, err)
	}
	c.withhold(res)
	if err := refusal(res.StatusCode, res.Header.Get("Location")); err != nil {
		return nil, errors.Join(err, res.Body.Close())
	}
	return res, nil
}

// do sends a request and reads an answer of at most limit bytes, both within timeout.
func (c *Client) do(ctx context.Context, timeout time.Duration, limit int64, r request) (answer, error) {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(bounded, r.method, c.url(r.path, r.query).String(), body)
	if err != nil {
		return answer{}, fmt.Errorf("ask %s: %w", c.base, err)
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.open(ctx, req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close() // read only
	raw, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return answer{}, c.transportError(ctx, err)
	}
	if int64(len(raw)) > limit {
		return answer{}, fault.New(fault.Exhausted, fault.CodeTooLarge, "the server's answer to %s exceeds %d bytes", r.path, limit)
	}
	return answer{status: res.StatusCode, body: raw}, nil
}

// get reads a JSON document, which must be there.
func (c *Client) get(ctx context.Context, limit int64, path string, into any) error {
	a, err := c.do(ctx, c.patience(limit), limit, request{method: http.MethodGet, path: path})
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return statusError(a)
	}
	return a.decode(into)
}

// patience is how long an answer of at most limit bytes may take: documents are made on demand.
func (c *Client) patience(limit int64) time.Duration {
	if limit == maxDocument {
		return max(c.timeout, c.silence)
	}
	return c.timeout
}

// post sends a JSON body and ignores the answer's.
func (c *Client) post(ctx context.Context, path string, body any) (answer, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return answer{}, fmt.Errorf("encode the body of %s: %w", path, err)
	}
	return c.do(ctx, c.timeout, maxSmall, request{method: http.MethodPost, path: path, body: raw})
}

// refusal is the error of an answer that sends the client away.
func refusal(status int, location string) error {
	switch {
	case status >= 300 && status < 400 && status != http.StatusNotModified:
		return fault.New(fault.Denied, fault.CodeServerRedirect, "the server answers with a redirect to %q, which is not followed", clip(location))
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		return fault.New(fault.Unauthenticated, fault.CodeServerDenied, "the server refuses the credentials (status %d)", status)
	default:
		return nil
	}
}

// statusError is the error of an answer with an unexpected status.
func statusError(a answer) error {
	switch {
	case a.status >= 500:
		return fault.New(fault.Unavailable, fault.CodeServerError, "the server answers with status %d", a.status)
	case a.status == http.StatusRequestEntityTooLarge:
		return fault.New(fault.Exhausted, fault.CodeTooLarge, "the server accepts no request of this size; its --max-upload-size sets the bound")
	case a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed || a.status < 400:
		return fault.New(fault.Unavailable, fault.CodeServerGarbage, "the server's answer is not what ComfyUI answers (status %d)", a.status)
	default:
		return fault.New(fault.Invalid, fault.CodeServerRefused, "the server refuses the request (status %d)", a.status)
	}
}

// transportError classifies what net/http says of a request, or of an answer that broke off.
func (c *Client) transportError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var (
		withAddress *url.Error
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		dial        *net.OpError
	)
	if errors.As(err, &withAddress) {
		err = withAddress.Err // the address is known to whoever reads this
	}
	switch err = c.readable(err); {
	case errors.As(err, &certificate):
		return fault.Wrap(err, fault.Denied, fault.CodeServerCertificate, "the server's certificate is not valid: %v", certificate.Err)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return fault.Wrap(err, fault.Unavailable, fault.CodeServerUnreachable, "the server does not speak TLS; is it http:// ?")
	case errors.As(err, &dial) && dial.Op == "dial":
		return fault.Wrap(err, fault.Unavailable, fault.CodeServerUnreachable, "no connection to the server")
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Unavailable, fault.CodeServerLost, "the server does not answer in time")
	default:
		return fault.Wrap(err, fault.Unavailable, fault.CodeServerLost, "the connection to the server broke")
	}
}

// clip shortens a foreign text.
func clip(text string) string {
	if runes := []rune(text); len(runes) > maxMessage {
		return string(runes[:maxMessage]) + "…"
	}
	return text
}
