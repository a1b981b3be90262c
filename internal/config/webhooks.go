package config

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// Webhooks is the configuration of messages to accounts.
type Webhooks struct {
	Allow        []string        // MILLRACE_WEBHOOK_ALLOW, HOST:PORT comma list: endpoints that may be private or without https
	Timeout      time.Duration   // MILLRACE_WEBHOOK_TIMEOUT, of one attempt, from dialing to the response status
	Retries      []time.Duration // MILLRACE_WEBHOOK_RETRIES, pauses before the second attempt, the third, …
	DisableAfter time.Duration   // MILLRACE_WEBHOOK_DISABLE_AFTER, an endpoint is disabled after all attempts failed for this long
	Retention    time.Duration   // MILLRACE_WEBHOOK_RETENTION, of ended deliveries
}

// defaultWebhooks follows the advice of Standard Webhooks: retry soon at first, then for three days, so that an outage
// over a weekend loses no message. An endpoint that fails for five days is disabled.
func defaultWebhooks() Webhooks {
	return Webhooks{
		Timeout: 15 * time.Second,
		Retries: []time.Duration{
			5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour,
			5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
		},
		DisableAfter: 5 * 24 * time.Hour,
		Retention:    30 * 24 * time.Hour,
	}
}

var webhookSettings = []setting{
	{"MILLRACE_WEBHOOK_ALLOW", func(c *Config, v string) (err error) {
		c.Webhooks.Allow, err = parseHosts("MILLRACE_WEBHOOK_ALLOW", v)
		return err
	}},
	duration("MILLRACE_WEBHOOK_TIMEOUT", func(c *Config) *time.Duration { return &c.Webhooks.Timeout }),
	{"MILLRACE_WEBHOOK_RETRIES", func(c *Config, v string) (err error) {
		c.Webhooks.Retries, err = parsePauses("MILLRACE_WEBHOOK_RETRIES", v)
		return err
	}},
	duration("MILLRACE_WEBHOOK_DISABLE_AFTER", func(c *Config) *time.Duration { return &c.Webhooks.DisableAfter }),
	duration("MILLRACE_WEBHOOK_RETENTION", func(c *Config) *time.Duration { return &c.Webhooks.Retention }),
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
