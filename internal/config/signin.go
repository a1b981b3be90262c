package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// OpenID configures the sign-in of people to the console and the editor with OpenID Connect. Without an issuer there is none.
type OpenID struct {
	Issuer  string        // MILLRACE_OIDC_ISSUER, URL of the provider, exactly as it names itself; "" = nobody signs in there
	Client  string        // MILLRACE_OIDC_CLIENT_ID, id of this service at the provider
	Secret  string        // MILLRACE_OIDC_CLIENT_SECRET; "" = a public client
	Scopes  []string      // MILLRACE_OIDC_SCOPES, requested besides openid, separated by spaces
	Claim   string        // MILLRACE_OIDC_GROUPS_CLAIM, that lists the groups of a person; "a.b" = b within a
	Domains []string      // MILLRACE_OIDC_DOMAINS, comma list of the domains of email addresses that may sign in; "" = any
	Grants  string        // MILLRACE_OIDC_GRANTS, GROUP=ROLE[:ACCOUNT] comma list; the first group that a person has applies
	Session time.Duration // MILLRACE_OIDC_SESSION, how long a session lasts
}

func defaultOpenID() OpenID {
	return OpenID{Scopes: []string{"profile", "email"}, Claim: "groups", Session: 8 * time.Hour}
}

var openIDSettings = []setting{
	text("MILLRACE_OIDC_ISSUER", func(c *Config) *string { return &c.OpenID.Issuer }),
	text("MILLRACE_OIDC_CLIENT_ID", func(c *Config) *string { return &c.OpenID.Client }),
	text("MILLRACE_OIDC_CLIENT_SECRET", func(c *Config) *string { return &c.OpenID.Secret }),
	{"MILLRACE_OIDC_SCOPES", func(c *Config, v string) error {
		c.OpenID.Scopes = strings.Fields(v)
		return nil
	}},
	text("MILLRACE_OIDC_GROUPS_CLAIM", func(c *Config) *string { return &c.OpenID.Claim }),
	{"MILLRACE_OIDC_DOMAINS", func(c *Config, v string) error {
		for part := range strings.SplitSeq(v, ",") {
			domain := strings.TrimSpace(part)
			if domain == "" || strings.ContainsAny(domain, "@*/: ") {
				return fmt.Errorf("MILLRACE_OIDC_DOMAINS takes domains such as example.com, separated by commas, not %q", part)
			}
			c.OpenID.Domains = append(c.OpenID.Domains, domain)
		}
		return nil
	}},
	text("MILLRACE_OIDC_GRANTS", func(c *Config) *string { return &c.OpenID.Grants }),
	duration("MILLRACE_OIDC_SESSION", func(c *Config) *time.Duration { return &c.OpenID.Session }),
}

// maxSession bounds a session: somebody who was removed at the provider stays signed in until it ends.
const maxSession = 30 * 24 * time.Hour

// checkOpenID reports settings of the sign-in that do not go together.
func (c Config) checkOpenID() error {
	o := c.OpenID
	if o.Issuer == "" {
		return nil
	}
	var problems []error
	if o.Client == "" || o.Grants == "" {
		problems = append(problems, errors.New("MILLRACE_OIDC_ISSUER needs MILLRACE_OIDC_CLIENT_ID and MILLRACE_OIDC_GRANTS"))
	}
	if c.Auth == AuthNone {
		problems = append(problems, errors.New("MILLRACE_OIDC_ISSUER needs --auth keys or token: without authentication nobody signs in"))
	}
	if c.PublicURL == "" && !c.loopback() {
		problems = append(problems, errors.New("MILLRACE_OIDC_ISSUER needs --public-url or MILLRACE_PUBLIC_URL, to which the provider "+
			"sends browsers back"))
	}
	if o.Session > maxSession {
		problems = append(problems, fmt.Errorf("MILLRACE_OIDC_SESSION must be at most %s", maxSession))
	}
	u, err := url.Parse(o.Issuer)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		problems = append(problems, errors.New("MILLRACE_OIDC_ISSUER must be an https URL (http on loopback only), without query and fragment"))
	}
	return errors.Join(problems...)
}

// HomeOf returns the address at which a server at an address reaches this service, or "" if none is known.
func (c Config) HomeOf(server string) string {
	if u, err := url.Parse(server); err == nil && c.PublicURL == "" && isLoopback(u.Hostname()) {
		host, port, err := net.SplitHostPort(c.Addr)
		if ip, no := netip.ParseAddr(host); host == "" || no == nil && ip.IsUnspecified() { // every interface has it, and so has loopback
			host = "127.0.0.1"
		}
		if err == nil {
			return "http://" + net.JoinHostPort(host, port)
		}
	}
	return strings.TrimRight(c.PublicURL, "/")
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Endpoint returns HOST:PORT of the issuer.
func (o OpenID) Endpoint() string {
	u, err := url.Parse(o.Issuer)
	if err != nil {
		return ""
	}
	port := u.Port()
	port = cmp.Or(port, map[string]string{"https": "443", "http": "80"}[u.Scheme])
	return u.Hostname() + ":" + port
}
