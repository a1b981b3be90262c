package config

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/webhook"
)

// Webhooks is the configuration of messages to accounts.
type Webhooks struct {
	Allow  []string // MILLRACE_WEBHOOK_ALLOW, host:port comma list of endpoints that are allowed although they are not public or not https
	Policy webhook.Policy
}

func defaultWebhooks() Webhooks { return Webhooks{Policy: webhook.DefaultPolicy()} }

var webhookSettings = []setting{
	{"MILLRACE_WEBHOOK_ALLOW", func(c *Config, v string) (err error) {
		c.Webhooks.Allow, err = parseHosts("MILLRACE_WEBHOOK_ALLOW", v)
		return err
	}},
	duration("MILLRACE_WEBHOOK_TIMEOUT", func(c *Config) *time.Duration { return &c.Webhooks.Policy.Timeout }),
	{"MILLRACE_WEBHOOK_RETRIES", func(c *Config, v string) (err error) {
		c.Webhooks.Policy.Retries, err = parsePauses("MILLRACE_WEBHOOK_RETRIES", v)
		return err
	}},
	duration("MILLRACE_WEBHOOK_DISABLE_AFTER", func(c *Config) *time.Duration { return &c.Webhooks.Policy.DisableAfter }),
	duration("MILLRACE_WEBHOOK_RETENTION", func(c *Config) *time.Duration { return &c.Webhooks.Policy.Retention }),
}

func parseHosts(env, list string) ([]string, error) {
	var hosts []string
	for part := range strings.SplitSeq(list, ",") {
		part = strings.TrimSpace(part)
		host, port, err := net.SplitHostPort(part)
		if err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("%s takes HOST:PORT, comma separated, not %q", env, part)
		}
		hosts = append(hosts, part)
	}
	return hosts, nil
}

// maxRetries bounds the number of pauses, because each attempt is stored with its delivery.
const maxRetries = 50

func parsePauses(env, list string) ([]time.Duration, error) {
	var pauses []time.Duration
	for part := range strings.SplitSeq(list, ",") {
		d, err := time.ParseDuration(strings.TrimSpace(part))
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("%s takes positive durations such as 5s,1m,2h, not %q", env, part)
		}
		pauses = append(pauses, d)
	}
	if len(pauses) > maxRetries {
		return nil, fmt.Errorf("%s takes at most %d pauses", env, maxRetries)
	}
	return slices.Clip(pauses), nil
}
