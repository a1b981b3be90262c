// Package server is the registry of ComfyUI servers: which there are, what operators did to them, and which one a
// segment of a graph is given to. It keeps one promise: who registered, drained or removed a server, and why, is an
// event, and so is why a segment went where it went. It decides only; what servers say is read by package placement,
// and rows are kept by package postgres/servers.
package server

import (
	"cmp"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/label"
	"github.com/millrace-dev/millrace/internal/fault"
)

// ID names a server.
type ID string

// NewID returns a fresh id.
func NewID() ID { return ID(uuid.NewString()) }

// Stream returns the name of the server's stream of events.
func (id ID) Stream() string { return "server-" + string(id) }

// Account is the account of the events of servers, which belong to nobody's.
const Account = "*"

// State is the state of a server, as an operator reads it, in one word.
type State string

// The states.
const (
	Healthy  State = "healthy"  // answers, and has nothing to do
	Busy     State = "busy"     // answers, and runs something
	Away     State = "away"     // does not answer
	Refused  State = "refused"  // is no server that can be driven
	Draining State = "draining" // takes no new segment
)

// Health is what the last look at a server came to.
type Health string

// The values of Health.
const (
	Unseen   Health = "unseen" // nobody has looked yet
	Answers  Health = "answers"
	Absent   Health = "absent"
	Unusable Health = "unusable"
)

// Device is one device of a server.
type Device struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Total int64  `json:"memory_total"`
	Free  int64  `json:"memory_free"`
}

// Server is one registered server with what is known of it.
type Server struct {
	ID           ID         `json:"id"`
	URL          string     `json:"url"`
	Labels       []string   `json:"labels"`
	Slots        int        `json:"slots"` // segments at once
	Fixed        bool       `json:"fixed"` // named by the configuration of a process
	Drained      bool       `json:"drained"`
	ExpiresAt    *time.Time `json:"expires_at,omitempty"`
	RegisteredAt time.Time  `json:"registered_at"`
	Price        int64      `json:"second_micros,omitempty"` // of a second there, in USD millionths; 0 = nothing
	Token        string     `json:"token_id,omitempty"`      // that registered it; "" = an operator did
	Sealed       []byte     `json:"-"`                       // headers for the proxy in front of it

	Health   Health     `json:"health"`
	Problem  string     `json:"problem,omitempty"` // why it is away or refused
	Version  string     `json:"version,omitempty"`
	OS       string     `json:"os,omitempty"`
	RAMTotal int64      `json:"ram_total,omitempty"`
	RAMFree  int64      `json:"ram_free,omitempty"`
	Devices  []Device   `json:"devices,omitempty"`
	Running  int        `json:"queue_running"` // prompts that run there, whoever sent them
	Pending  int        `json:"queue_pending"`
	Foreign  int        `json:"queue_foreign"`      // of both, those that others sent
	Digest   string     `json:"classes,omitempty"`  // of its class definitions
	Models   []string   `json:"loaded,omitempty"`   // what the loaders of its last prompt named
	SeenAt   *time.Time `json:"seen_at,omitempty"`  // when it last answered
	LookedAt *time.Time `json:"-"`                  // when somebody last looked
	Leases   []Lease    `json:"segments,omitempty"` // that run there now
}

// Has reports whether the server has all of these labels.
func (s *Server) Has(labels []string) bool { return contains(s.Labels, labels) }

// State returns the server's state in one word.
func (s *Server) State() State {
	switch {
	case s.Health == Unusable:
		return Refused
	case s.Drained:
		return Draining
	case s.Health != Answers:
		return Away
	case s.Running+s.Pending > 0 || len(s.Leases) > 0:
		return Busy
	}
	return Healthy
}

// HasLoaded reports whether the server has all of some models loaded, as far as its last prompt tells.
func (s *Server) HasLoaded(models []string) bool { return contains(s.Models, models) }

// Memory returns the free and total bytes of the first device, which is the one that samplers use.
func (s *Server) Memory() (free, total int64) {
	if len(s.Devices) == 0 {
		return s.RAMFree, s.RAMTotal
	}
	return s.Devices[0].Free, s.Devices[0].Total
}

// Registration asks for a server to be registered.
type Registration struct {
	URL       string
	Labels    []string
	Slots     int               // 0 = 1
	Headers   map[string]string // for the proxy in front of it, sealed when kept
	ExpiresIn time.Duration     // 0 = never; registering again renews
	Price     int64             // of a second there, in USD millionths
	Fixed     bool
	Token     *Token     // that asks for it; nil = an operator or the configuration does
	From      netip.Addr // where the request of a token comes from
	By        By
}

// By says who asks for something, and why.
type By struct {
	Actor, Reason, RequestID string
}

// maxURL, maxReason and maxPrice bound what an operator writes.
const (
	maxURL    = 2000
	maxReason = 1000
	maxPrice  = 1000 * credit.Dollar
)

// ParseURL returns the address of a server in its one spelling: without a slash at the end, the host in lower case.
func ParseURL(text string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil || len(text) > maxURL || u.Host == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", fault.New(fault.Invalid, fault.CodeInvalidServer, "%q is not the address of a server: give http://HOST:PORT or https://HOST[:PORT]", shorten(text))
	case u.User != nil:
		return "", fault.New(fault.Invalid, fault.CodeInvalidServer, "the address of a server holds no user and no password: give a header instead")
	case u.RawQuery != "" || u.Fragment != "":
		return "", fault.New(fault.Invalid, fault.CodeInvalidServer, "the address of a server has no query and no fragment")
	}
	u.Host = strings.ToLower(u.Host)
	if u.Scheme == "http" {
		u.Host = strings.TrimSuffix(u.Host, ":80")
	} else {
		u.Host = strings.TrimSuffix(u.Host, ":443")
	}
	if u.Path = path.Clean("/" + u.Path); u.Path == "/" {
		u.Path = ""
	}
	u.RawPath = ""
	return u.String(), nil
}

func shorten(text string) string {
	if len(text) > 100 {
		return strings.ToValidUTF8(text[:100], "") + "…"
	}
	return text
}

// ParseLabels returns labels sorted, each once.
func ParseLabels(labels []string) ([]string, error) {
	parsed, err := label.Parse(labels)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidServer, "%s", err.Error())
	}
	return parsed, nil
}

// Check completes a registration, or refuses it.
func (r *Registration) Check() (err error) {
	if r.URL, err = ParseURL(r.URL); err != nil {
		return err
	}
	if r.Labels, err = ParseLabels(r.Labels); err != nil {
		return err
	}
	r.Slots = cmp.Or(r.Slots, 1)
	if r.Slots < 0 || r.Slots > 64 || r.ExpiresIn < 0 {
		return fault.New(fault.Invalid, fault.CodeInvalidServer, "a server runs 1 to 64 segments at once, and expires after a positive time")
	}
	if r.Price < 0 || r.Price > maxPrice {
		return fault.New(fault.Invalid, fault.CodeInvalidServer, "a second on a server costs from 0 to %s US dollars", credit.Dollars(maxPrice))
	}
	if r.Token != nil {
		if err := r.checkToken(); err != nil {
			return err
		}
	}
	return r.By.Check()
}

// Check reports what is missing in who asks and why.
func (b By) Check() error {
	if b.Actor == "" || b.Reason == "" || len(b.Reason) > maxReason {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "say who asks for it and why, in at most %d bytes", maxReason)
	}
	return nil
}

// ParseFixed reads a server as --comfyui names it: URL[,label=x]…[,price=0.0005]
func ParseFixed(text string) (Registration, error) {
	parts := strings.Split(text, ",")
	r := Registration{URL: parts[0], Fixed: true}
	for _, part := range parts[1:] {
		key, value, _ := strings.Cut(part, "=")
		switch strings.TrimSpace(key) {
		case "label":
			r.Labels = append(r.Labels, strings.TrimSpace(value))
		case "price":
			micros, err := credit.ParseDollars(strings.TrimSpace(value))
			if err != nil {
				return r, fault.Wrap(err, fault.Invalid, fault.CodeInvalidServer, "%q is not price=DOLLARS, such as price=0.0005", shorten(part))
			}
			r.Price = micros
		default:
			return r, fault.New(fault.Invalid, fault.CodeInvalidServer, "%q is neither label=NAME nor price=DOLLARS", shorten(part))
		}
	}
	r.By = configured()
	return r, r.Check()
}

// UnusableFixed is the registration of a configured server that cannot be used: it is listed, and never given a segment.
func UnusableFixed(text string) Registration {
	return Registration{URL: Unnamed(text), Labels: []string{}, Slots: 1, Fixed: true, By: configured()}
}

// configured says that the configuration asks.
func configured() By { return By{Actor: "configuration", Reason: "named by --comfyui"} }

// Unnamed is an address that cannot be used, as it may be shown: without a user and a password.
func Unnamed(text string) string {
	address, _, _ := strings.Cut(strings.TrimSpace(text), ",")
	if scheme, rest, ok := strings.Cut(address, "://"); ok {
		if at := strings.LastIndex(rest, "@"); at >= 0 {
			rest = rest[at+1:]
		}
		address = scheme + "://" + rest
	} else if at := strings.LastIndex(address, "@"); at >= 0 {
		address = address[at+1:]
	}
	return shorten(address)
}
