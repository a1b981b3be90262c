package webhook

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
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
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// publicName refuses names and literal IP addresses that are not public.
func publicName(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return outbound.Public(a)
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	return name != "localhost" && !strings.HasSuffix(name, ".localhost")
}
