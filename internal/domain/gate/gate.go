// Package gate is what operators do to the queues of jobs: hold them, let them run dry, close them
// and open them again, for one account or for all. It keeps one promise: what an operator did is an event
// with a name and a reason, and every process acts on it from the next admission on. How a queue is
// ordered and who is admitted is left to the job store.
package gate

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
)

// All is the account that stands for every account.
const All = "*"

// Mode says what a queue does.
type Mode string

// The modes. Whatever the mode, jobs that run go on, and waiting ones can be canceled.
const (
	Open     Mode = "open"     // accepts jobs and starts them
	Paused   Mode = "paused"   // accepts jobs and keeps them waiting
	Draining Mode = "draining" // refuses new jobs and works off those that wait
	Stopped  Mode = "stopped"  // refuses new jobs and keeps those that wait
)

// ParseMode returns the mode of that name.
func ParseMode(s string) (Mode, error) {
	m := Mode(s)
	if !slices.Contains([]Mode{Open, Paused, Draining, Stopped}, m) {
		return "", fmt.Errorf("mode %q is none of open, paused, draining, stopped", s)
	}
	return m, nil
}

// Starts reports whether jobs that wait are started.
func (m Mode) Starts() bool { return m == Open || m == Draining }

// Accepts reports whether new jobs are taken.
func (m Mode) Accepts() bool { return m == Open || m == Paused }

// Codes of refusals, which are those of the asset contract.
const (
	CodeDraining = "deployment_not_ready"
	CodeStopped  = "deployment_stopped"
)

// drainRetry is what a client is told to wait while a queue is drained: an operator is at work, which
// takes minutes rather than seconds, and other deployments may take over sooner.
const drainRetry = 30 * time.Second

// Gate is the mode of an account's queue together with that of all.
type Gate struct{ Own, All Mode }

// Starts reports whether the account's waiting jobs are started.
func (g Gate) Starts() bool { return g.Own.Starts() && g.All.Starts() }

// Refusal returns why a new job is not taken, or nil. A drained queue is worth coming back to; a stopped
// one is not, without the operator's doing.
func (g Gate) Refusal() error {
	switch {
	case g.Own == Stopped || g.All == Stopped:
		return fault.New(fault.Unavailable, CodeStopped, "an operator has stopped the intake of jobs")
	case g.Own == Draining || g.All == Draining:
		return fault.New(fault.Unavailable, CodeDraining, "no new jobs are taken at the moment; try again later").WithRetryAfter(drainRetry)
	}
	return nil
}

// Change is an operator's command.
type Change struct {
	Account   string // All, or an account's id
	Mode      Mode
	Actor     string // who
	Reason    string // in the operator's words
	RequestID string // of the API request, if there was one
}

// Check reports what is missing in a change.
func (c Change) Check() error {
	if _, err := ParseMode(string(c.Mode)); err != nil {
		return fault.Wrap(err, fault.Invalid, "invalid_request", "%s", err.Error())
	}
	if c.Account == "" || c.Actor == "" || c.Reason == "" {
		return fault.New(fault.Invalid, "invalid_request", "a change of a queue names the account, who asks for it and why")
	}
	if len(c.Reason) > maxReason {
		return fault.New(fault.Invalid, "invalid_request", "a reason has at most %d bytes", maxReason)
	}
	return nil
}

// maxReason bounds an operator's words, in bytes.
const maxReason = 1000

// State is the mode of a queue, who set it, and how many jobs it concerns.
type State struct {
	Account string     `json:"account"`
	Mode    Mode       `json:"mode"`
	Since   *time.Time `json:"since"` // of the last change; nil when there was none
	Actor   string     `json:"actor,omitempty"`
	Reason  string     `json:"reason,omitempty"`
	Queued  int64      `json:"queued"`
	Running int64      `json:"running"`
}

// Stream returns the name of the stream of an account's queue, or of All.
func Stream(account string) string { return "queue-" + account }
