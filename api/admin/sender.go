package admin

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// sender returns the address of the client: the address of the connection, or the one that a trusted proxy wrote into
// X-Forwarded-For. It is the zero Addr if a trusted proxy wrote none.
func (s *server) sender(r *http.Request) netip.Addr {
	connection, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	from := connection.Addr().Unmap().WithZone("")
	said := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, next := range slices.Backward(said) { // the nearest proxy added the last address
		if !s.isProxy(from) {
			return from
		}
		if from, err = netip.ParseAddr(strings.TrimSpace(next)); err != nil {
			return netip.Addr{}
		}
		from = from.Unmap().WithZone("")
	}
	return from
}

func (s *server) isProxy(a netip.Addr) bool {
	return slices.ContainsFunc(s.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(a) })
}
