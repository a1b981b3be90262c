package edge

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/rs/cors"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
)

// guardHost protects a server without credentials from web pages: a foreign Host is a rebound DNS name, a foreign
// Origin is a script of another site. It also checks WebSocket upgrades.
func (e *Edge) guardHost(c *gin.Context) {
	if e.opts.Mode != account.ModeNone {
		return
	}
	r := c.Request
	switch {
	case !e.hostAllowed(r.Host):
		e.fail(c, fault.New(fault.Denied, fault.CodeForbidden, "this Host is not served without authentication"))
	case !e.originAllowed(r):
		e.fail(c, fault.New(fault.Denied, fault.CodeForbidden, "requests from other sites are not served without authentication"))
	}
}

// shareWith lets scripts of web pages of the origins read answers. They must send their credential in a header:
// cookies are not accepted from them.
func (e *Edge) shareWith(origins []string, next http.Handler) http.Handler {
	if len(origins) == 0 {
		return next
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{
			http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		},
		AllowedHeaders: []string{"*"}, ExposedHeaders: []string{"*"},
		AllowPrivateNetwork: true, // the operator has named the origins, which may be pages of the internet
		MaxAge:              int((10 * time.Minute).Seconds()),
	}).Handler(next)
}

func (e *Edge) hostAllowed(host string) bool {
	if slices.Contains(e.opts.AllowedHosts, "*") {
		return true
	}
	name := hostname(host)
	if e.public != nil && strings.EqualFold(name, e.public.Hostname()) {
		return true
	}
	return isLoopback(name) || slices.ContainsFunc(e.opts.AllowedHosts, func(h string) bool { return strings.EqualFold(h, name) })
}

func (e *Edge) originAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		// Without an Origin, the request is not from a script, but a page may embed or link this address. Following a
		// link is allowed; any other request from another site is not.
		return r.Header.Get("Sec-Fetch-Site") != "cross-site" ||
			(r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate")
	}
	if slices.Contains(e.opts.AllowedOrigins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" { // the origin "null" has no host
		return false
	}
	return strings.EqualFold(u.Host, r.Host) || (e.public != nil && strings.EqualFold(u.Host, e.public.Host))
}

func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

func isLoopback(name string) bool {
	if strings.EqualFold(name, "localhost") || strings.HasSuffix(strings.ToLower(name), ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}

// BaseURL returns the base of absolute links in the answer to r, without a trailing slash: the configured public URL,
// or else the request's own address. Forwarded headers are used only if a trusted proxy sent them.
func (e *Edge) BaseURL(r *http.Request) string {
	if e.public != nil {
		return e.public.String()
	}
	scheme, host, prefix := "http", r.Host, ""
	if r.TLS != nil {
		scheme = "https"
	}
	if e.trusted(r.RemoteAddr) {
		if proto := nearest(r.Header.Get("X-Forwarded-Proto")); proto == "http" || proto == "https" {
			scheme = proto
		}
		if h := nearest(r.Header.Get("X-Forwarded-Host")); h != "" {
			host = h
		}
		prefix = strings.TrimRight(nearest(r.Header.Get("X-Forwarded-Prefix")), "/")
	}
	return (&url.URL{Scheme: scheme, Host: host, Path: prefix}).String()
}

func (e *Edge) trusted(remoteAddr string) bool {
	addr, err := netip.ParseAddrPort(remoteAddr)
	if err != nil {
		return false
	}
	ip := addr.Addr().Unmap()
	return slices.ContainsFunc(e.opts.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// nearest returns the last value of a comma-separated list, which the trusted proxy wrote. The client may have forged
// the values before it.
func nearest(list string) string {
	return strings.TrimSpace(list[strings.LastIndexByte(list, ',')+1:])
}
