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

// ParseHosts reads the hosts that a token may register: addresses, networks such as 10.0.3.0/24, and names, of which
// *.example.org stands for all below example.org. It returns each once, in one spelling.
func ParseHosts(hosts []string) ([]string, error) {
	if len(hosts) > maxHosts {
		return nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "a token has at most %d hosts", maxHosts)
	}
	parsed := []string{}
	for _, text := range hosts {
		host, ok := parseHost(strings.ToLower(strings.TrimSpace(text)))
		if !ok {
			return nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "%q is not a host: give an address, a network such as 10.0.3.0/24, a name, or *.example.org", shorten(text))
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

// reaches reports whether a token of these hosts may register a server at an address, when the request comes from another.
// Without hosts it may register the machine that asks, by its address. A name is never looked up for that: what it means
// may change after the check.
func reaches(hosts []string, address string, from netip.Addr) bool {
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

// checkReach refuses a registration at an address that its token may not register.
func (r *Registration) checkReach() error {
	switch {
	case reaches(r.Token.Hosts, r.URL, r.From):
		return nil
	case len(r.Token.Hosts) > 0:
		return fault.New(fault.Denied, fault.CodeAddressNotAllowed, "the token %s does not register %s: it was made for %s", r.Token.Name, r.URL, strings.Join(r.Token.Hosts, ", "))
	case !r.From.IsValid():
		return fault.New(fault.Denied, fault.CodeAddressNotAllowed, "the token %s registers the machine that asks, and where the request comes from is not known", r.Token.Name)
	}
	return fault.New(fault.Denied, fault.CodeAddressNotAllowed, "the token %s registers the machine that asks, which is %s, and not %s; a token for other machines names their hosts", r.Token.Name, r.From.Unmap(), r.URL)
}
