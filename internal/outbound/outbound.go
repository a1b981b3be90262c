// Package outbound makes all requests to addresses that a third party chose: partner providers and the assets to
// which their results link. It connects only to public addresses. The check is made when the connection is dialled,
// after name resolution, so that no name, redirect or DNS rebinding reaches the internal network. The caller's Bounds
// limit sizes and times. An operator can allow other addresses by exact host and port.
package outbound

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
)

// ErrRefused is wrapped by every error of an address that the guard refused: nothing was sent.
var ErrRefused = errors.New("the address is not public")

// Options configure a Client. The zero value works.
type Options struct {
	DialTimeout time.Duration // default 10 s
	Resolver    *net.Resolver // default the system's
	UserAgent   string        // default "millrace"
}

// Client makes guarded requests. It is safe for concurrent use.
type Client struct {
	public *http.Transport // dials public addresses only
	open   *http.Transport // dials addresses that an operator allowed
	agent  string
}

// Limits of the transports.
const (
	dialTimeout    = 10 * time.Second
	tlsTimeout     = 10 * time.Second
	idleTimeout    = 60 * time.Second // below the 75 s after which common servers close a connection
	maxIdlePerHost = 64               // idle connections to one provider that are kept
	maxHeaderBytes = 64 << 10         // of a response
	maxRedirects   = 5
)

// New returns a client that reaches public addresses only.
func New(opts Options) *Client {
	timeout := opts.DialTimeout
	timeout = cmp.Or(timeout, dialTimeout)
	agent := opts.UserAgent
	agent = cmp.Or(agent, "millrace")
	guarded := &net.Dialer{Timeout: timeout, Resolver: opts.Resolver, ControlContext: checkAddress}
	plain := &net.Dialer{Timeout: timeout, Resolver: opts.Resolver}
	return &Client{public: transport(guarded), open: transport(plain), agent: agent}
}

func transport(d *net.Dialer) *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // a proxy would resolve names itself, past the guard
		DialContext:            d.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    tlsTimeout,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true, // answers are passed on byte for byte
	}
}

// Close closes idle connections.
func (c *Client) Close() {
	c.public.CloseIdleConnections()
	c.open.CloseIdleConnections()
}

// checkAddress checks every address that is dialled, after name resolution and before the connection is opened.
func checkAddress(_ context.Context, network, address string, _ syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return refused(address)
	}
	host, err := netip.ParseAddrPort(address)
	if err != nil || !Public(host.Addr()) {
		return refused(address)
	}
	return nil
}

func refused(address string) error {
	return fault.Wrap(ErrRefused, fault.Denied, fault.CodeAddressNotAllowed, "the address %s may not be reached", address)
}

// special are the address blocks that are not public and that the methods of netip.Addr do not report.
var special = prefixes(
	"0.0.0.0/8",                                         // this network
	"100.64.0.0/10",                                     // carrier-grade NAT
	"192.0.0.0/24",                                      // protocol assignments
	"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", // documentation
	"192.88.99.0/24",             // retired relays
	"198.18.0.0/15",              // benchmarks
	"240.0.0.0/4",                // reserved, broadcast
	"::/96",                      // unspecified, loopback, IPv4-compatible
	"64:ff9b:1::/48",             // local translation
	"100::/64",                   // discard
	"2001::/23",                  // protocol assignments, Teredo
	"2001:db8::/32", "3fff::/20", // documentation
	"5f00::/16", // segment routing
	"fec0::/10", // site-local, retired
)

func prefixes(blocks ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(blocks))
	for i, b := range blocks {
		all[i] = netip.MustParsePrefix(b)
	}
	return all
}

// embedded are the IPv6 blocks that contain an IPv4 address, with the offset of its first byte.
var embedded = []struct {
	block netip.Prefix
	at    int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4
}

// Public reports whether an address belongs to the public internet. It returns false for loopback, private,
// link-local, shared, multicast, documentation and reserved addresses of either family, and for IPv6 addresses that
// embed such an IPv4 address.
func Public(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() {
		return false
	}
	if slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return false
	}
	for _, e := range embedded {
		if raw := a.As16(); e.block.Contains(a) {
			return Public(netip.AddrFrom4([4]byte(raw[e.at : e.at+4])))
		}
	}
	return true
}

// RoundTrip sends one request and follows no redirect. allow lists addresses that may be reached although
// they are not public, each as host:port, exactly as in the URL.
func (c *Client) RoundTrip(req *http.Request, allow []string) (*http.Response, error) {
	allowed := slices.Contains(allow, hostPort(req))
	if req.URL.Scheme != "https" && !allowed {
		return nil, fault.Wrap(ErrRefused, fault.Denied, fault.CodeAddressNotAllowed, "only https addresses may be reached")
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", c.agent)
	}
	if allowed {
		return c.open.RoundTrip(req)
	}
	resp, err := c.public.RoundTrip(req)
	if _, literal := netip.ParseAddr(req.URL.Hostname()); literal != nil && errors.Is(err, ErrRefused) {
		return nil, fault.Wrap(err, fault.Denied, fault.CodeNameNotAllowed, "the name %s may not be reached", req.URL.Hostname())
	}
	return resp, err
}

func hostPort(req *http.Request) string {
	port := req.URL.Port()
	port = cmp.Or(port, map[string]string{"http": "80", "https": "443"}[req.URL.Scheme])
	return net.JoinHostPort(req.URL.Hostname(), port)
}

// errRedirects ends a chain of redirects.
func errRedirects() error {
	return fault.New(fault.Unavailable, fault.CodeTooManyRedirects, "more than %d redirects", maxRedirects)
}

// HTTP returns a client of the standard library whose requests, including redirects, go through the guard. It is for
// libraries that need such a client.
func (c *Client) HTTP(allow []string, timeout time.Duration) *http.Client {
	client := c.follow(allow)
	client.Timeout = timeout
	return client
}

// follow returns an http.Client that follows redirects through the guard.
func (c *Client) follow(allow []string) *http.Client {
	return &http.Client{
		Transport: roundTripper(func(req *http.Request) (*http.Response, error) { return c.RoundTrip(req, allow) }),
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return errRedirects()
			}
			return nil
		},
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// withoutAddress strips the address from an error of net/http, because addresses may contain signatures.
func withoutAddress(err error) error {
	var withAddress *url.Error
	if errors.As(err, &withAddress) {
		return withAddress.Err
	}
	return err
}
