package config

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/config/amount"
)

// Router is the configuration of the model router.
type Router struct {
	Disabled   bool              // MILLRACE_ROUTER_DISABLED, the router is off for all accounts
	Catalog    []string          // MILLRACE_CATALOG, comma list of directories with catalog files
	Bases      map[string]string // MILLRACE_PROVIDER_URLS, PROVIDER=URL comma list: addresses that replace the catalog's, even if not public
	Simulator  string            // MILLRACE_SIMULATOR, address of the provider simulator that serves sim/*; "" = none
	Concurrent []Step            // MILLRACE_ROUTER_CONCURRENCY, calls in flight by lifetime spend
	Local      int               // MILLRACE_ROUTER_LOCAL_CONCURRENCY, calls of the local account in flight
	// MILLRACE_ROUTER_SPEND_CEILING in US dollars, limit of an account's reserved credit for calls in flight; 0 = no limit
	Ceiling int64
	// MILLRACE_ROUTER_PRICE_CEILINGS, MODEL=DOLLARS comma list, USD millionths: reserved for calls whose price the catalog does not know
	Ceilings map[string]int64
	// MILLRACE_ROUTER_FALLBACK, another server of a model takes over, unless the request has fallback_provider=false
	Fallback bool
	Windows  []Window      // MILLRACE_ROUTER_WINDOWS, calls per period; empty = no limit
	Backlog  int           // MILLRACE_ROUTER_BACKLOG, waiting queued requests of one account
	QueueFor time.Duration // MILLRACE_ROUTER_QUEUE_FOR, how long a queued request waits for a slot
	MaxBody  int64         // MILLRACE_ROUTER_MAX_BODY, bytes of a model's input
	Bodies   int64         // MILLRACE_ROUTER_BODIES, bytes of all models' inputs that one process reads at once; 0 = 8 times MaxBody
	Deadline time.Duration // MILLRACE_ROUTER_DEADLINE, how long a run keeps its connection open
}

// Step is the number of calls that may be in flight from a lifetime spend, in USD millionths, upwards.
type Step struct {
	Spent      int64
	Concurrent int
}

// Window is a rate limit: a number of calls in each period.
type Window struct {
	Name   string
	Length time.Duration
	Calls  int
}

// defaultRouter gives every account of a deployment the same number of calls in flight, whatever it has spent. 20
// calls let the partner nodes of a graph run at the same time.
func defaultRouter() Router {
	return Router{
		Concurrent: []Step{{Spent: 0, Concurrent: 20}},
		Fallback:   true, Local: 256, Backlog: 1000, QueueFor: time.Hour, MaxBody: 64 << 20, Deadline: 10 * time.Minute,
	}
}

// minBodies is the minimum of Bodies, in multiples of MaxBody. One account may use half of Bodies, and a buffer
// that is enlarged needs memory for both its old and its new size.
const minBodies = 4

func (r Router) check() error {
	if r.Bodies != 0 && r.Bodies < minBodies*r.MaxBody {
		return fmt.Errorf("MILLRACE_ROUTER_BODIES must be at least %d times MILLRACE_ROUTER_MAX_BODY (%d), not %d",
			minBodies, r.MaxBody, r.Bodies)
	}
	return nil
}

var routerSettings = []setting{
	flag("MILLRACE_ROUTER_DISABLED", func(c *Config) *bool { return &c.Router.Disabled }),
	{"MILLRACE_CATALOG", func(c *Config, v string) error {
		c.Router.Catalog = strings.Split(v, ",")
		return nil
	}},
	{"MILLRACE_PROVIDER_URLS", func(c *Config, v string) (err error) {
		c.Router.Bases, err = parseBases(v)
		return err
	}},
	text("MILLRACE_SIMULATOR", func(c *Config) *string { return &c.Router.Simulator }),
	{"MILLRACE_ROUTER_CONCURRENCY", func(c *Config, v string) (err error) {
		c.Router.Concurrent, err = parseSteps(v)
		return err
	}},
	number("MILLRACE_ROUTER_LOCAL_CONCURRENCY", func(c *Config) *int { return &c.Router.Local }),
	{"MILLRACE_ROUTER_SPEND_CEILING", func(c *Config, v string) (err error) {
		if c.Router.Ceiling, err = amount.ParseDollars(v); err != nil || c.Router.Ceiling < 0 {
			return fmt.Errorf("MILLRACE_ROUTER_SPEND_CEILING takes US dollars such as 25, not %q", v)
		}
		return nil
	}},
	{"MILLRACE_ROUTER_PRICE_CEILINGS", func(c *Config, v string) (err error) {
		c.Router.Ceilings, err = parseCeilings(v)
		return err
	}},
	flag("MILLRACE_ROUTER_FALLBACK", func(c *Config) *bool { return &c.Router.Fallback }),
	{"MILLRACE_ROUTER_WINDOWS", func(c *Config, v string) (err error) {
		c.Router.Windows, err = parseWindows(v)
		return err
	}},
	number("MILLRACE_ROUTER_BACKLOG", func(c *Config) *int { return &c.Router.Backlog }),
	duration("MILLRACE_ROUTER_QUEUE_FOR", func(c *Config) *time.Duration { return &c.Router.QueueFor }),
	number("MILLRACE_ROUTER_MAX_BODY", func(c *Config) *int64 { return &c.Router.MaxBody }),
	number("MILLRACE_ROUTER_BODIES", func(c *Config) *int64 { return &c.Router.Bodies }),
	duration("MILLRACE_ROUTER_DEADLINE", func(c *Config) *time.Duration { return &c.Router.Deadline }),
}

// parseBases reads "bfl=http://127.0.0.1:8190/bfl,openai=https://proxy.example".
func parseBases(list string) (map[string]string, error) {
	bases := map[string]string{}
	for part := range strings.SplitSeq(list, ",") {
		provider, base, ok := strings.Cut(strings.TrimSpace(part), "=")
		u, err := url.Parse(base)
		if !ok || provider == "" || err != nil || u.Host == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") {
			return nil, fmt.Errorf("MILLRACE_PROVIDER_URLS takes PROVIDER=URL such as bfl=http://127.0.0.1:8190/bfl, not %q", part)
		}
		bases[provider] = base
	}
	return bases, nil
}

// parseCeilings reads "kling/*=5,google/gemini-3-pro-image=2.50": models, providers or all of them, and US dollars.
func parseCeilings(list string) (map[string]int64, error) {
	ceilings := map[string]int64{}
	for part := range strings.SplitSeq(list, ",") {
		models, dollars, ok := strings.Cut(strings.TrimSpace(part), "=")
		micros, err := amount.ParseDollars(dollars)
		provider, name, two := strings.Cut(models, "/")
		if !ok || err != nil || micros <= 0 || models != "*" && (!two || provider == "" || name == "") {
			return nil, fmt.Errorf("MILLRACE_ROUTER_PRICE_CEILINGS takes MODEL=DOLLARS such as kling/*=5,google/gemini-3-pro-image=2.50, "+
				"not %q", part)
		}
		ceilings[models] = micros
	}
	return ceilings, nil
}

// parseSteps reads "0:1,0.01:5,100:10": US dollars spent, then calls in flight.
func parseSteps(list string) ([]Step, error) {
	var steps []Step
	for part := range strings.SplitSeq(list, ",") {
		spent, count, ok := strings.Cut(strings.TrimSpace(part), ":")
		micros, err := amount.ParseDollars(spent)
		n, countErr := strconv.Atoi(count)
		if !ok || err != nil || countErr != nil || micros < 0 || n < 0 || len(steps) > 0 && micros <= steps[len(steps)-1].Spent {
			return nil, fmt.Errorf("MILLRACE_ROUTER_CONCURRENCY takes rising steps DOLLARS:CALLS such as 0:1,100:10, not %q", list)
		}
		steps = append(steps, Step{Spent: micros, Concurrent: n})
	}
	return steps, nil
}

// windowLengths are the possible periods of a window.
var windowLengths = map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}

// parseWindows reads "minute:60,day:1000".
func parseWindows(list string) ([]Window, error) {
	var windows []Window
	for part := range strings.SplitSeq(list, ",") {
		name, count, ok := strings.Cut(strings.TrimSpace(part), ":")
		n, err := strconv.Atoi(count)
		if !ok || err != nil || n < 1 || windowLengths[name] == 0 {
			return nil, fmt.Errorf("MILLRACE_ROUTER_WINDOWS takes PERIOD:CALLS such as minute:60,day:1000, not %q", list)
		}
		windows = append(windows, Window{Name: name, Length: windowLengths[name], Calls: n})
	}
	return windows, nil
}
