package config

import (
	"fmt"
	"net/url"
	"strings"
)

// AnyOrigin is the value of MILLRACE_ALLOWED_ORIGINS that allows all web pages.
const AnyOrigin = "*"

// allow parses origins as browsers write them: a scheme and a host in lower case, and a port unless it is the
// scheme's default.
func (c *Config) allow(list string) error {
	for part := range strings.SplitSeq(list, ",") {
		origin := strings.TrimSpace(part)
		u, err := url.Parse(origin)
		if origin != AnyOrigin && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" ||
			origin != u.Scheme+"://"+strings.ToLower(u.Host)) {
			return fmt.Errorf("MILLRACE_ALLOWED_ORIGINS takes origins such as https://app.example, separated by commas, or *, not %q", origin)
		}
		c.Origins = append(c.Origins, origin)
	}
	return nil
}
