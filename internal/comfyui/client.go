package comfyui

import (
	"bytes"
	"cmp"
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

// Options configure a Client. The zero value works.
type Options struct {
	// Header is sent with every request to the server: for example the credentials of a proxy in front of it.
	Header http.Header
	// Silence is how long a server may send nothing, not even an answer to a ping, before it counts as lost; default
	// 30 s.
	Silence time.Duration
	// Timeout bounds requests with small answers, and the opening of a socket; default 10 s, or Silence if that is less.
	Timeout time.Duration
	// RootCAs verify the server's certificate; the default is the system's.
	RootCAs *x509.CertPool
}

// Limits of the client.
const (
	defaultSilenceTimeout = 30 * time.Second
	defaultTimeout        = 10 * time.Second
	dialTimeout           = 3 * time.Second  // also the time in which a missing machine is detected
	idleTimeout           = 30 * time.Second // below the 75 s after which ComfyUI closes a connection
	maxIdle               = 8
	maxHeaderBytes        = 64 << 10
	maxSmall              = 1 << 20  // bytes of an answer with a fixed set of members
	maxListing            = 16 << 20 // bytes of a list of names
	maxDefinitions        = 32 << 20 // bytes of class definitions; those of a plain installation have 1.6 MB
	maxDocument           = 64 << 20 // bytes of an answer with prompts
	maxMessage            = 500      // characters of a server's error text that are repeated
)

// Client is a Server over the network.
type Client struct {
	base           *url.URL
	header         http.Header
	http           *http.Client
	dialer         *websocket.Dialer
	silenceTimeout time.Duration
	timeout        time.Duration
	secrets        *redact.Secrets // overwritten in everything that the server returns
	noJobs         *atomic.Bool    // the server has no /api/jobs
}

var _ Server = (*Client)(nil)

// New returns the client of the server at an address; see ParseAddress. It does not connect.
func New(address string, opts Options) (*Client, error) {
	base, err := ParseAddress(address)
	if err != nil {
		return nil, err
	}
	c := &Client{
		base: base, header: opts.Header.Clone(), silenceTimeout: opts.Silence, timeout: opts.Timeout,
		secrets: redact.New(credentials(opts.Header)...), noJobs: new(atomic.Bool),
	}
	c.silenceTimeout = cmp.Or(c.silenceTimeout, defaultSilenceTimeout)
	c.timeout = cmp.Or(c.timeout, min(defaultTimeout, c.silenceTimeout))
	certificates := &tls.Config{RootCAs: opts.RootCAs, MinVersion: tls.VersionTLS12}
	dialer := &net.Dialer{Timeout: dialTimeout}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: certificates, TLSHandshakeTimeout: dialTimeout,
			MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idleTimeout, MaxResponseHeaderBytes: maxHeaderBytes,
		},
		// A redirect could lead to any host, with the credentials of this server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c.dialer = &websocket.Dialer{NetDialContext: dialer.DialContext, TLSClientConfig: certificates, HandshakeTimeout: c.timeout}
	return c, nil
}

// ParseAddress reads the address of a server, such as "http://10.0.0.7:8188", which may have a path if a proxy serves
// the server below it. It returns the address in canonical form, so that equal addresses mean one server. Any host is
// allowed, because servers are in private networks. An address that is malformed or contains a password is Invalid.
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
	return fault.New(fault.Invalid, fault.CodeServerRefused, "the address of the server is not valid: %s", why)
}

// Address returns the server's address in canonical form.
func (c *Client) Address() string { return c.base.String() }

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// request is one request to the server.
type request struct {
	method string
	path   string // decoded; relative to the server's address
	query  url.Values
	body   []byte // JSON; nil = no body
}

// response is a complete response.
type response struct {
	status int
	body   []byte
}

// decode decodes the answer, which must be JSON of the expected form.
func (a response) decode(into any) error {
	if err := json.Unmarshal(a.body, into); err != nil {
		return fault.Wrap(err, fault.Unavailable, fault.CodeServerGarbage, "the server's answer does not have the form of a ComfyUI answer")
	}
	return nil
}

func (c *Client) url(path string, query url.Values) *url.URL {
	u := *c.base
	u.Path += path
	u.RawQuery = query.Encode()
	return &u
}

// open sends a request and returns the response as soon as its header has arrived. Answers that refuse the client are
// errors; the caller checks all other statuses.
func (c *Client) open(ctx context.Context, req *http.Request) (*http.Response, error) {
	for name, values := range c.header {
		req.Header[name] = values
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.transportError(ctx, err)
	}
	c.redact(res)
	if err := refusal(res.StatusCode, res.Header.Get("Location")); err != nil {
		return nil, errors.Join(err, res.Body.Close())
	}
	return res, nil
}

// do sends a request and reads an answer of at most limit bytes. timeout bounds both.
func (c *Client) do(ctx context.Context, timeout time.Duration, limit int64, r request) (response, error) {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(bounded, r.method, c.url(r.path, r.query).String(), body)
	if err != nil {
		return response{}, fmt.Errorf("ask %s: %w", c.base, err)
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.open(ctx, req)
	if err != nil {
		return response{}, err
	}
	defer res.Body.Close() // read only
	raw, err := io.ReadAll(&shaped{source: io.LimitReader(res.Body, limit+1), most: limit / bytesPerValue})
	if fault.CodeOf(err) == fault.CodeTooLarge {
		return response{}, err
	}
	if err != nil {
		return response{}, c.transportError(ctx, err)
	}
	if int64(len(raw)) > limit {
		return response{}, fault.New(fault.Exhausted, fault.CodeTooLarge, "the server's answer to %s exceeds %d bytes", r.path, limit)
	}
	return response{status: res.StatusCode, body: raw}, nil
}

// get reads a JSON document, which must exist.
func (c *Client) get(ctx context.Context, limit int64, path string, into any) error {
	a, err := c.do(ctx, c.responseTimeout(limit), limit, request{method: http.MethodGet, path: path})
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return statusError(a)
	}
	return a.decode(into)
}

// responseTimeout returns how long an answer of at most limit bytes may take. The server makes documents on demand.
func (c *Client) responseTimeout(limit int64) time.Duration {
	if limit >= maxDefinitions {
		return max(c.timeout, c.silenceTimeout)
	}
	return c.timeout
}

// post sends a JSON body and ignores the body of the answer.
func (c *Client) post(ctx context.Context, path string, body any) (response, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return response{}, fmt.Errorf("encode the body of %s: %w", path, err)
	}
	return c.do(ctx, c.timeout, maxSmall, request{method: http.MethodPost, path: path, body: raw})
}

// refusal returns the error for an answer that refuses the client, or nil.
func refusal(status int, location string) error {
	switch {
	case status >= 300 && status < 400 && status != http.StatusNotModified:
		return fault.New(fault.Denied, fault.CodeServerRedirect, "the server answers with a redirect to %q, which is not followed",
			clip(location))
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		return fault.New(fault.Unauthenticated, fault.CodeServerDenied, "the server refuses the credentials (status %d)", status)
	default:
		return nil
	}
}

// statusError returns the error for an answer with an unexpected status.
func statusError(a response) error {
	switch {
	case a.status >= 500:
		return fault.New(fault.Unavailable, fault.CodeServerError, "the server answers with status %d", a.status)
	case a.status == http.StatusRequestEntityTooLarge:
		return fault.New(fault.Exhausted, fault.CodeTooLarge, "the server accepts no request of this size; its --max-upload-size sets the bound")
	case a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed || a.status < 400:
		return fault.New(fault.Unavailable, fault.CodeServerGarbage, "the server's answer does not have the form of a ComfyUI answer (status %d)",
			a.status)
	default:
		return fault.New(fault.Invalid, fault.CodeServerRefused, "the server refuses the request (status %d)", a.status)
	}
}

// transportError classifies the error of net/http for a request, or for an answer that broke off.
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
		err = withAddress.Err // the reader of the error knows the address
	}
	switch err = c.readable(err); {
	case errors.As(err, &certificate):
		return fault.Wrap(err, fault.Denied, fault.CodeServerCertificate, "the server's certificate is not valid: %v", certificate.Err)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return fault.Wrap(err, fault.Unavailable, fault.CodeServerUnreachable,
			"the server does not use TLS; try an address that begins with http://")
	case errors.As(err, &dial) && dial.Op == "dial":
		return fault.Wrap(err, fault.Unavailable, fault.CodeServerUnreachable, "no connection to the server")
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Unavailable, fault.CodeServerLost, "the server does not answer in time")
	default:
		return fault.Wrap(err, fault.Unavailable, fault.CodeServerLost, "the connection to the server broke")
	}
}

// clip shortens a text of a server.
func clip(text string) string {
	if runes := []rune(text); len(runes) > maxMessage {
		return string(runes[:maxMessage]) + "…"
	}
	return text
}

// Bounds of the JSON of answers and messages, because decoding takes time and memory for each value. The class definitions of a
// plain installation have 112,000 values, and a thousand files of models add a few ten thousand.
const (
	bytesPerValue = 16     // an answer may have a sixteenth as many values as bytes
	maxDepth      = 128    // nested containers
	maxMembers    = 20_000 // members of an object that are read one by one, such as classes
)

// shaped is JSON that is read. Reading fails with CodeTooLarge as soon as it has more values, or is nested deeper, than allowed.
type shaped struct {
	source          io.Reader
	most            int64 // values
	values          int64
	depth           int
	quoted, escaped bool
}

// Read implements io.Reader.
func (s *shaped) Read(p []byte) (int, error) {
	n, err := s.source.Read(p)
	for _, c := range p[:n] {
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted:
			s.escaped, s.quoted = c == '\\', c != '"'
		case c == '"':
			s.quoted = true
		case c == '{' || c == '[':
			s.depth++
			s.values++
		case c == '}' || c == ']':
			s.depth--
		case c == ',':
			s.values++
		}
		if s.values > s.most || s.depth > maxDepth {
			return 0, fault.New(fault.Exhausted, fault.CodeTooLarge,
				"the server's answer has more than %d values or is nested deeper than %d levels", s.most, maxDepth)
		}
	}
	return n, err
}

// checkShape refuses a message of a socket that has too many values, or is nested too deep.
func checkShape(kind int, raw []byte) error {
	if kind == websocket.BinaryMessage {
		return nil
	}
	_, err := io.Copy(io.Discard, &shaped{source: bytes.NewReader(raw), most: maxFrame / bytesPerValue})
	return err
}
