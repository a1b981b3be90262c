package server

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/fault"
)

// maxHosts and maxHost bound the hosts of a token.
const (
	maxHosts = 32
	maxHost  = 253
)

// ParseHosts parses the hosts that a token may register: addresses, networks such as 10.0.3.0/24, and names, where
// *.example.org matches all names below example.org. It returns each once, in a normal form.
func ParseHosts(hosts []string) ([]string, error) {
	if len(hosts) > maxHosts {
		return nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "a token may have at most %d hosts", maxHosts)
	}
	parsed := []string{}
	for _, text := range hosts {
		host, ok := parseHost(strings.ToLower(strings.TrimSpace(text)))
		if !ok {
			return nil, fault.New(fault.Invalid, fault.CodeInvalidRequest,
				"%q is not a host: give an address, a network such as 10.0.3.0/24, a name, or *.example.org", shorten(text))
		}
		parsed = append(parsed, host)
	}
	slices.Sort(parsed)
	return slices.Compact(parsed), nil
}

func parseHost(text string) (string, bool) {
	if network, err := netip.ParsePrefix(text); err == nil {
		return network.Masked().String(), true
	}
	if address, err := netip.ParseAddr(text); err == nil {
		return address.Unmap().WithZone("").String(), true
	}
	name := strings.TrimPrefix(text, "*.")
	valid := name != "" && len(text) <= maxHost && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
	return text, valid && !slices.Contains(strings.Split(name, "."), "")
}

// mayRegister reports whether a token with these hosts may register a server at an address; from is the sender of the
// request. A token without hosts may register the machine that sends the request, by its address. Names are not
// resolved for this check, because their addresses may change afterwards.
func mayRegister(hosts []string, address string, from netip.Addr) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	ip, err := netip.ParseAddr(host)
	isName := err != nil
	ip = ip.Unmap()
	if len(hosts) == 0 {
		return !isName && from.IsValid() && ip == from.Unmap().WithZone("")
	}
	return slices.ContainsFunc(hosts, func(allowed string) bool {
		if network, err := netip.ParsePrefix(allowed); err == nil {
			return !isName && network.Contains(ip)
		}
		if below, ok := strings.CutPrefix(allowed, "*"); ok {
			return isName && strings.HasSuffix(host, below)
		}
		return host == allowed || !isName && ip.String() == allowed
	})
}

// checkAddress refuses a registration at an address that the token may not register.
func (r *Registration) checkAddress() error {
	switch {
	case mayRegister(r.Token.Hosts, r.URL, r.From):
		return nil
	case len(r.Token.Hosts) > 0:
		return fault.New(fault.Denied, fault.CodeAddressNotAllowed, "the token %s may not register %s: it was made for %s", r.Token.Name, r.URL,
			strings.Join(r.Token.Hosts, ", "))
	case !r.From.IsValid():
		return fault.New(fault.Denied, fault.CodeAddressNotAllowed,
			"the token %s may only register the machine that sends the request, whose address is unknown", r.Token.Name)
	}
	return fault.New(fault.Denied, fault.CodeAddressNotAllowed,
		"the token %s may only register the machine that sends the request, %s, not %s; a token for other machines must name their hosts",
		r.Token.Name, r.From.Unmap(), r.URL)
}
