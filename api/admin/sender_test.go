package admin

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// What X-Forwarded-For says counts as far as configured proxies have written it: a machine cannot claim another address.
func TestTheSenderOfARequestIsNotWhatItClaims(t *testing.T) {
	t.Parallel()
	s := &server{Deps: Deps{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}}
	for name, c := range map[string]struct {
		connection string
		forwarded  []string
		want       string
	}{
		"a connection":                 {"10.0.3.17:4711", nil, "10.0.3.17"},
		"a claim":                      {"10.0.3.17:4711", []string{"10.0.3.18"}, "10.0.3.17"},
		"a proxy":                      {"192.0.2.1:4711", []string{"10.0.3.17"}, "10.0.3.17"},
		"a claim through a proxy":      {"192.0.2.1:4711", []string{"10.0.3.18, 10.0.3.17"}, "10.0.3.17"},
		"two proxies":                  {"[::ffff:192.0.2.1]:4711", []string{"10.0.3.18", "10.0.3.17, 192.0.2.2"}, "10.0.3.17"},
		"a proxy that does not say":    {"192.0.2.1:4711", nil, ""},
		"a proxy that says no address": {"192.0.2.1:4711", []string{"unknown"}, ""},
		"no address":                   {"@", nil, ""},
	} {
		r := &http.Request{RemoteAddr: c.connection, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		var want netip.Addr
		if c.want != "" {
			want = netip.MustParseAddr(c.want)
		}
		require.Equal(t, want, s.sender(r), name)
	}
}
