// Package gate lets operators pause, drain, stop and open the job queue of one account or of all accounts.
// It makes one promise: every change is an event with the operator's name and a reason, and every process
// obeys it from the next admission on. The job store orders the queue and admits jobs.
package gate

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
)

// All names the gate of all accounts.
const All = "*"

// Mode is the mode of a queue.
type Mode string

// The modes. In every mode, running jobs continue and waiting jobs can be canceled.
const (
	Open     Mode = "open"     // accepts jobs and starts them
	Paused   Mode = "paused"   // accepts jobs and keeps them waiting
	Draining Mode = "draining" // refuses new jobs and starts the waiting ones
	Stopped  Mode = "stopped"  // refuses new jobs and keeps the waiting ones
)

// ParseMode returns the mode of that name.
func ParseMode(s string) (Mode, error) {
	m := Mode(s)
	if !slices.Contains([]Mode{Open, Paused, Draining, Stopped}, m) {
		return "", fmt.Errorf("mode %q is not one of open, paused, draining, stopped", s)
	}
	return m, nil
}

// Starts reports whether waiting jobs start.
func (m Mode) Starts() bool { return m == Open || m == Draining }

// drainRetry is the Retry-After for a draining queue. Maintenance by an operator takes minutes.
const drainRetry = 30 * time.Second

// Gate combines the mode of an account's queue with the mode of all queues.
type Gate struct{ Own, All Mode }

// Starts reports whether the account's waiting jobs start.
func (g Gate) Starts() bool { return g.Own.Starts() && g.All.Starts() }

// Refusal returns the error for a new job, or nil if the job is accepted. The refusal of a draining queue has a
// Retry-After; that of a stopped queue has none, because only an operator can open it.
func (g Gate) Refusal() error {
	switch {
	case g.Own == Stopped || g.All == Stopped:
		return fault.New(fault.Unavailable, fault.CodeDeploymentStopped, "an operator has stopped the queue; new jobs are refused")
	case g.Own == Draining || g.All == Draining:
		return fault.New(fault.Unavailable, fault.CodeDeploymentNotReady,
			"an operator is draining the queue; new jobs are refused for now, try again later").WithRetryAfter(drainRetry)
	}
	return nil
}

// Change is an operator's command.
type Change struct {
	Account   string // All, or an account's id
	Mode      Mode
	Actor     string // the operator who asks
	Reason    string // given by the operator
	RequestID string // of the API request, if there was one
}

// Check returns an error if a field of the change is missing or too long.
func (c Change) Check() error {
	if _, err := ParseMode(string(c.Mode)); err != nil {
		return fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "%s", err.Error())
	}
	if c.Account == "" || c.Actor == "" || c.Reason == "" {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "a change of a queue must name the account, the actor and the reason")
	}
	if len(c.Reason) > maxReason {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "a reason may have at most %d bytes", maxReason)
	}
	return nil
}

// maxReason bounds the reason, in bytes.
const maxReason = 1000

// State is the mode of a queue, who set it, and how many jobs it affects.
type State struct {
	Account string     `json:"account"`
	Mode    Mode       `json:"mode"`
	Since   *time.Time `json:"since"` // time of the last change; nil = never changed
	Actor   string     `json:"actor,omitempty"`
	Reason  string     `json:"reason,omitempty"`
	Queued  int64      `json:"queued"`
	Running int64      `json:"running"`
}

// Stream returns the name of the stream of an account's queue, or of All.
func Stream(account string) string { return "queue-" + account }
