// Package webui is a reverse proxy that guards the Web UI of local mode's Temporal, which listens on a Unix socket of
// this user without authentication. No page of another site can read or change anything through it, not even by DNS
// rebinding. It requires the password if one is set, and is read-only unless Options.Writes is set.
package webui

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strings"
)

// Options configure the guard.
type Options struct {
	// Socket is the path of the Unix socket on which the UI listens.
	Socket string
	// Password is the required password, for any user name; "" = no password.
	Password string
	// Writes lets the UI change workflows; otherwise it only shows them.
	Writes bool
}

// New returns the guarded UI.
func New(opts Options) http.Handler {
	g := &accessGuard{opts: opts, password: sha256.Sum256([]byte(opts.Password))}
	g.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", r.In.Host
			r.Out.Header.Del("Authorization") // the password is for this guard, not for Temporal
		},
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", opts.Socket)
		}},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			http.Error(w, "Temporal's Web UI does not answer; it comes back with the Temporal server", http.StatusBadGateway)
		},
		ModifyResponse: func(r *http.Response) error {
			r.Header.Set("X-Frame-Options", "DENY") // prevents clickjacking
			return nil
		},
	}
	return g
}

type accessGuard struct {
	opts     Options
	password [sha256.Size]byte
	proxy    http.Handler
}

// ServeHTTP implements http.Handler.
func (g *accessGuard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !isLoopback(r.Host):
		http.Error(w, "this page is served under the names of this machine only, such as localhost", http.StatusMisdirectedRequest)
	case isForeign(r):
		http.Error(w, "pages of other sites may not use Temporal's Web UI", http.StatusForbidden)
	case !g.signedIn(r):
		w.Header().Set("WWW-Authenticate", `Basic realm="Temporal's Web UI"`)
		http.Error(w, "give the operator's token as the password", http.StatusUnauthorized)
	case !g.opts.Writes && isWrite(r):
		http.Error(w, "Temporal's Web UI is read-only: start millrace dev with --temporal-ui-writes", http.StatusMethodNotAllowed)
	default:
		g.proxy.ServeHTTP(w, r)
	}
}

// isLoopback reports whether a Host header names this machine. The name of another site that resolves to it does not.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
}

// isForeign reports whether a page of another origin sent the request. Following a link from such a page is allowed:
// the user sees the UI, and the page does not.
func isForeign(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return true
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
	}
	return false
}

func (g *accessGuard) signedIn(r *http.Request) bool {
	if g.opts.Password == "" {
		return true
	}
	_, password, _ := r.BasicAuth()
	sum := sha256.Sum256([]byte(password))
	return subtle.ConstantTimeCompare(sum[:], g.password[:]) == 1
}

// isWrite reports whether a request may change something. Queries of workflows are sent by POST and change nothing.
func isWrite(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	case http.MethodPost:
		return !strings.Contains(r.URL.Path, "/workflows/") || !strings.Contains(r.URL.Path, "/query/")
	}
	return true
}
