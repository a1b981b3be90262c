// Package server is the registry of ComfyUI servers: the servers, the operators' changes to them, and the choice of a
// server for a segment. It promises that the actor and the reason of every registration, drain and removal are
// recorded as an event, and the reason for every placement too. It only decides: package placement polls the servers,
// and package serverstore stores the rows.
package server

import (
	"cmp"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/label"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// ID identifies a server.
type ID string

// NewID returns a fresh id.
func NewID() ID { return ID(uuid.NewString()) }

// Stream returns the name of the server's stream of events.
func (id ID) Stream() string { return "server-" + string(id) }

// Account is the account of the events of servers, which belong to no account.
const Account = "*"

// State is the state of a server in one word, for operators.
type State string

// The states.
const (
	Healthy  State = "healthy"  // answers and is idle
	Busy     State = "busy"     // answers and runs prompts
	Away     State = "away"     // does not answer
	Refused  State = "refused"  // is not a supported server
	Draining State = "draining" // accepts no new segments
	Stuck    State = "stuck"    // runs a canceled prompt that does not end
	Resting  State = "resting"  // accepts no segments for a while, because several jobs failed there
)

// Health is the result of the last poll of a server.
type Health string

// The values of Health.
const (
	Unseen   Health = "unseen" // not polled yet
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

	TorchTotal int64 `json:"torch_total,omitempty"` // memory that PyTorch has reserved
	TorchFree  int64 `json:"torch_free,omitempty"`
	Machine    int   `json:"-"` // number of its server, from 1, for users, who may not see its address
}

// Server is a registered server with its last known status.
type Server struct {
	ID           ID         `json:"id"`
	URL          string     `json:"url"`
	Labels       []string   `json:"labels"`
	Slots        int        `json:"slots"` // concurrent segments
	Fixed        bool       `json:"fixed"` // named by the configuration of a process
	Drained      bool       `json:"drained"`
	ExpiresAt    *time.Time `json:"expires_at,omitempty"`
	RegisteredAt time.Time  `json:"registered_at"`
	Price        int64      `json:"second_micros,omitempty"` // price of a second, in USD millionths; 0 = free
	Token        string     `json:"token_id,omitempty"`      // token that registered it; "" = an operator
	Sealed       []byte     `json:"-"`                       // encrypted headers for the proxy in front of it

	Health   Health     `json:"health"`
	Problem  string     `json:"problem,omitempty"` // why it is away or refused
	Version  string     `json:"version,omitempty"`
	OS       string     `json:"os,omitempty"`
	Python   string     `json:"python,omitempty"`
	PyTorch  string     `json:"torch,omitempty"`
	RAMTotal int64      `json:"ram_total,omitempty"`
	RAMFree  int64      `json:"ram_free,omitempty"`
	Devices  []Device   `json:"devices,omitempty"`
	Running  int        `json:"queue_running"` // prompts that run on it, including foreign ones
	Pending  int        `json:"queue_pending"`
	Foreign  int        `json:"queue_foreign"`      // running and waiting prompts that others sent
	Digest   string     `json:"classes,omitempty"`  // of its class definitions
	Models   []string   `json:"loaded,omitempty"`   // models that the loaders of its last prompt named
	SeenAt   *time.Time `json:"seen_at,omitempty"`  // when it last answered
	LookedAt *time.Time `json:"-"`                  // when it was last polled
	Leases   []Lease    `json:"segments,omitempty"` // segments that run on it

	ModelsFolder string `json:"models_folder,omitempty"` // where Millrace puts weights; "" = it puts none
	Copies       []Copy `json:"copies,omitempty"`        // of weights that are being brought, or were not

	Process *Process `json:"process,omitempty"` // of Millrace's own; nil = somebody else runs it

	CanceledAt *time.Time `json:"canceled_at,omitempty"` // when the oldest canceled prompt that may still run was canceled
	Failing    *Failing   `json:"failing,omitempty"`     // jobs that failed on it since the last success
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
	case s.Health != Answers || s.Process.closed() && s.Process.Phase != PhaseClosing:
		return Away
	case s.CanceledAt != nil && time.Since(*s.CanceledAt) > stuckAfter:
		return Stuck
	case s.Failing.resting(time.Now()):
		return Resting
	case s.Process.closed():
		return Draining
	case s.Running+s.Pending > 0 || len(s.Leases) > 0:
		return Busy
	}
	return Healthy
}

// stuckAfter is how long a canceled prompt may run before its server counts as stuck. An interrupt takes effect between nodes or
// steps, and a step of a large picture takes a while.
const stuckAfter = 20 * time.Second

// Trouble returns why the server is in its state, or "". It is for operators: it may repeat the error of an account's job.
func (s *Server) Trouble() string {
	for _, c := range s.Copies {
		if state := s.State(); s.Problem == "" && (state == Healthy || state == Busy) {
			return c.Status("a server")
		}
	}
	switch s.State() {
	case Stuck:
		return "a canceled prompt has not ended since " + s.CanceledAt.UTC().Format(time.DateTime) +
			" UTC; nothing is sent to the server until it ends: restart ComfyUI there"
	case Resting:
		return s.Failing.reason() + "; the last one: " + s.Failing.Problem
	case Away, Draining:
		if s.Process.closed() {
			return s.Process.trouble()
		}
	case Healthy, Busy, Refused:
	}
	return s.Problem
}

// HasLoaded reports whether the server has loaded all of some models, according to its last prompt.
func (s *Server) HasLoaded(models []string) bool { return contains(s.Models, models) }

// Memory returns the free and total bytes of the first device, which is the one that samplers use.
func (s *Server) Memory() (free, total int64) {
	if len(s.Devices) == 0 {
		return s.RAMFree, s.RAMTotal
	}
	return s.Devices[0].Free, s.Devices[0].Total
}

// Registration is a request to register a server.
type Registration struct {
	URL       string
	Labels    []string
	Slots     int               // 0 = 1
	Headers   map[string]string // for the proxy in front of it, stored encrypted
	ExpiresIn time.Duration     // 0 = never; registering again renews
	Price     int64             // price of a second, in USD millionths
	Fixed     bool

	ModelsFolder string // where Millrace puts weights; "" = it puts none

	Token *Token     // token that registers it; nil = an operator or the configuration
	Own   bool       // Millrace itself has started the process, and so chosen its models folder
	From  netip.Addr // sender of the request of a token
	By    By
}

// By names the actor of a command and the reason.
type By = eventlog.By

// maxURL, maxReason and maxPrice bound the values that an operator gives.
const (
	maxURL    = 2000
	maxReason = 1000
	maxPrice  = 1000 * amount.Dollar
)

// ParseURL returns the address of a server in its normal form: without a slash at the end, the host in lower case.
func ParseURL(text string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil || len(text) > maxURL || u.Host == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", fault.New(fault.Invalid, fault.CodeInvalidServer,
			"%q is not the address of a server: give http://HOST:PORT or https://HOST[:PORT]", shorten(text))
	case u.User != nil:
		return "", fault.New(fault.Invalid, fault.CodeInvalidServer,
			"the address of a server must have no user and no password: give a header instead")
	case u.RawQuery != "" || u.Fragment != "":
		return "", fault.New(fault.Invalid, fault.CodeInvalidServer, "the address of a server must have no query and no fragment")
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

func shorten(text string) string { return fault.Shorten(text, 100) }

// ParseLabels returns the labels sorted and without duplicates.
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
		return fault.New(fault.Invalid, fault.CodeInvalidServer, "the slots of a server must be 1 to 64, and its expiry a positive time")
	}
	if r.Price < 0 || r.Price > maxPrice {
		return fault.New(fault.Invalid, fault.CodeInvalidServer, "the price of a second on a server must be from 0 to %s US dollars",
			amount.Dollars(maxPrice))
	}
	if err := r.checkModelsFolder(); err != nil {
		return err
	}
	if r.Token != nil {
		if err := r.checkToken(); err != nil {
			return err
		}
	}
	return CheckBy(r.By)
}

// CheckBy returns an error if the actor or the reason is missing or too long.
func CheckBy(b By) error {
	if b.Actor == "" || b.Reason == "" || len(b.Reason) > maxReason {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "give the actor and the reason, in at most %d bytes", maxReason)
	}
	return nil
}

// ParseFixed parses a server in the form of --comfyui: URL[,label=x]…[,price=0.0005][,models=/mnt/models]
func ParseFixed(text string) (Registration, error) {
	parts := strings.Split(text, ",")
	r := Registration{URL: parts[0], Fixed: true}
	for _, part := range parts[1:] {
		key, value, _ := strings.Cut(part, "=")
		switch strings.TrimSpace(key) {
		case "label":
			r.Labels = append(r.Labels, strings.TrimSpace(value))
		case "price":
			micros, err := amount.ParseDollars(strings.TrimSpace(value))
			if err != nil {
				return r, fault.Wrap(err, fault.Invalid, fault.CodeInvalidServer, "%q is not price=DOLLARS, such as price=0.0005", shorten(part))
			}
			r.Price = micros
		case "models":
			r.ModelsFolder = strings.TrimSpace(value)
		default:
			return r, fault.New(fault.Invalid, fault.CodeInvalidServer, "%q is neither label=NAME nor price=DOLLARS nor models=FOLDER",
				shorten(part))
		}
	}
	r.By = configured()
	return r, r.Check()
}

// UnusableFixed is the registration of a configured server that cannot be used. It is listed but gets no segments.
func UnusableFixed(text string) Registration {
	return Registration{URL: Unnamed(text), Labels: []string{}, Slots: 1, Fixed: true, By: configured()}
}

// configured returns the actor and reason of a registration by the configuration.
func configured() By { return By{Actor: "configuration", Reason: "named by --comfyui"} }

// Unnamed returns an unusable address without its user and password, so that it may be shown.
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
