//go:build unix

package temporaltest

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// quiet drops the log lines of a server whose clients are refused on purpose.
var quiet = log.New(io.Discard, "", 0)

// Front is a TLS server in front of a plain Temporal, like a hosted or hardened Temporal. Change changes its rules
// while it serves; Drop makes clients connect again.
type Front struct {
	Address string // HOST:PORT

	mu    sync.Mutex // guards the fields below
	rules FrontRules
	conns map[net.Conn]bool
}

// FrontRules are the certificate, the required credentials and the refusals of a Front.
type FrontRules struct {
	Certificate tls.Certificate
	ClientCAs   *x509.CertPool // nil = no client certificate is required
	Bearer      string         // API key that requests must carry; "" = none
	Denied      string         // a path that is refused, such as /temporal.api.operatorservice.v1.OperatorService/AddSearchAttributes
}

// NewFront serves in front of the Temporal at address until the test ends.
func NewFront(t testing.TB, address string, rules FrontRules) *Front {
	t.Helper()
	plain := &http.Transport{Protocols: new(http.Protocols), MaxIdleConnsPerHost: 8}
	plain.Protocols.SetUnencryptedHTTP2(true)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	proxy.Transport, proxy.FlushInterval, proxy.ErrorLog = plain, -1, quiet
	f := &Front{rules: rules, conns: map[net.Conn]bool{}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.serve(proxy, w, r) }))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = quiet
	server.Config.ConnState = f.track
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: f.config}
	server.StartTLS()
	t.Cleanup(server.Close)
	f.Address = server.Listener.Addr().String()
	return f
}

// Change replaces the rules.
func (f *Front) Change(change func(*FrontRules)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.rules)
}

// Drop closes all connections.
func (f *Front) Drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		_ = c.Close() // the client may have closed it
	}
}

func (f *Front) current() FrontRules {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rules
}

func (f *Front) config(*tls.ClientHelloInfo) (*tls.Config, error) {
	rules := f.current()
	cfg := &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{rules.Certificate}, NextProtos: []string{"h2"},
		SessionTicketsDisabled: true,
	}
	if rules.ClientCAs != nil {
		cfg.ClientAuth, cfg.ClientCAs = tls.RequireAndVerifyClientCert, rules.ClientCAs
	}
	return cfg, nil
}

func (f *Front) track(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if state == http.StateClosed || state == http.StateHijacked {
		delete(f.conns, c)
		return
	}
	f.conns[c] = true
}

// serve refuses a request as gRPC does, in headers alone, or passes it on.
func (f *Front) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	rules := f.current()
	switch {
	case rules.Bearer != "" && r.Header.Get("Authorization") != "Bearer "+rules.Bearer:
		refuse(w, "16", "Request unauthorized.") // unauthenticated
	case rules.Denied == r.URL.Path:
		refuse(w, "7", "Request unauthorized.") // permission denied
	default:
		next.ServeHTTP(w, r)
	}
}

func refuse(w http.ResponseWriter, code, message string) {
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Grpc-Status", code)
	w.Header().Set("Grpc-Message", message)
}
