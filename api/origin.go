package api

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

// guardHost protects a server that asks for no credential from web pages:
// a foreign Host is a rebound DNS name, a foreign Origin is another site's script.
// It covers WebSocket upgrades too, since they pass here like any request.
func (s *server) guardHost(c *gin.Context) {
	if s.opts.Mode != account.ModeNone {
		return
	}
	r := c.Request
	switch {
	case !s.hostAllowed(r.Host):
		s.fail(c, fault.New(fault.Denied, "forbidden", "this Host is not served without authentication"))
	case !s.originAllowed(r):
		s.fail(c, fault.New(fault.Denied, "forbidden", "requests from other sites are not served without authentication"))
	}
}

// shareWith lets scripts of web pages of those origins read what is answered. Nothing that a browser keeps counts
// with them: they bring their credential in a header.
func (s *server) shareWith(origins []string, next http.Handler) http.Handler {
	if len(origins) == 0 {
		return next
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{
			http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		},
		AllowedHeaders: []string{"*"}, ExposedHeaders: []string{"*"},
		AllowPrivateNetwork: true, // a page of the internet may be meant to use a service of this network: it is named
		MaxAge:              int((10 * time.Minute).Seconds()),
	}).Handler(next)
}

func (s *server) hostAllowed(host string) bool {
	if slices.Contains(s.opts.AllowedHosts, "*") {
		return true
	}
	name := hostname(host)
	if s.public != nil && strings.EqualFold(name, s.public.Hostname()) {
		return true
	}
	return isLoopback(name) || slices.ContainsFunc(s.opts.AllowedHosts, func(h string) bool { return strings.EqualFold(h, name) })
}

func (s *server) originAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		// No Origin: not a script's request, but a page may embed or link us. A link that
		// is followed is fine, anything else of another site is not.
		return r.Header.Get("Sec-Fetch-Site") != "cross-site" ||
			(r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate")
	}
	if slices.Contains(s.opts.AllowedOrigins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" { // "null" has no host
		return false
	}
	return strings.EqualFold(u.Host, r.Host) || (s.public != nil && strings.EqualFold(u.Host, s.public.Host))
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

// baseURL returns the address that absolute links in the answer to r begin with,
// without a trailing slash: the configured public URL, else the request's own.
// Forwarded headers count only when a configured proxy sent them.
func (s *server) baseURL(r *http.Request) string {
	if s.public != nil {
		return s.public.String()
	}
	scheme, host, prefix := "http", r.Host, ""
	if r.TLS != nil {
		scheme = "https"
	}
	if s.trusted(r.RemoteAddr) {
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

func (s *server) trusted(remoteAddr string) bool {
	addr, err := netip.ParseAddrPort(remoteAddr)
	if err != nil {
		return false
	}
	ip := addr.Addr().Unmap()
	return slices.ContainsFunc(s.opts.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// nearest returns the last value of a comma list: what the trusted proxy itself said. Those before it are
// the word of whoever asked the proxy.
func nearest(list string) string {
	return strings.TrimSpace(list[strings.LastIndexByte(list, ',')+1:])
}
