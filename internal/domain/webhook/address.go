package webhook

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/outbound"
)

// maxURL bounds an address, in bytes.
const maxURL = 2048

func badAddress(why string) error {
	return fault.New(fault.Invalid, fault.CodeWebhookURLInvalid, "url %s", why)
}

// checkAddress returns the host of a URL to which messages may be sent. allow lists the host:port pairs that the
// operator permits although they are not public or not https.
func checkAddress(text string, allow []string) (host string, err error) {
	if len(text) > maxURL {
		return "", badAddress("is longer than 2048 bytes")
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Opaque != "" || u.Hostname() == "" {
		return "", badAddress("must be an absolute https address")
	}
	if u.User != nil || u.Fragment != "" || strings.Contains(text, "#") {
		return "", badAddress("must have no user, password or fragment: messages are signed instead")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "", badAddress("must have a port from 1 to 65535")
		}
	}
	if slices.Contains(allow, hostPort(u)) && (u.Scheme == "http" || u.Scheme == "https") {
		return u.Host, nil
	}
	if u.Scheme != "https" {
		return "", badAddress("must be an absolute https address")
	}
	if !publicName(u.Hostname()) {
		return "", badAddress("must be a public address")
	}
	return u.Host, nil
}

func hostPort(u *url.URL) string {
	port := u.Port()
	port = cmp.Or(port, map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return net.JoinHostPort(u.Hostname(), port)
}

// publicName refuses names and literal IP addresses that are not public. A name that ends in a number is no name: it is
// an address in an old form, such as 2130706433 or 127.1.
func publicName(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return outbound.Public(a)
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	last := name[strings.LastIndexByte(name, '.')+1:]
	if _, err := strconv.ParseUint(last, 0, 64); err == nil || strings.Trim(last, "0123456789") == "" {
		return false
	}
	return name != "localhost" && !strings.HasSuffix(name, ".localhost")
}
