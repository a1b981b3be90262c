// Package attempt decides how an attempt of an activity ends: which errors are retried and which are final. It
// promises that no outage, however long, ends accepted work. It also sends the heartbeats by which Temporal
// recognises that a long attempt is alive.
package attempt

import (
	"errors"
	"fmt"
	"runtime/debug"

	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Error types that workflows distinguish.
const (
	ErrPlanChanged = "plan_changed" // this binary plans the graph differently from the one that began the run
	ErrFinal       = "final"        // a retry cannot succeed
	ErrGivenUp     = "given_up"     // the work failed for long without a known reason; the message may be shown to clients
	ErrNoSlot      = "no_slot"      // the account has no free slot for the job; a retry may find one
)

// Error converts an error of an activity for Temporal; no other code of the activities translates fault kinds. A
// refusal by a contract is final. Every other error is retried: an accepted job outlives every outage, and an unclassified
// error may be an outage. Package activities bounds the panics and the unclassified errors of the same work.
func Error(err error) error {
	var app *temporal.ApplicationError
	if err == nil || errors.As(err, &app) || IsOutage(err) || fault.KindOf(err) == fault.Internal {
		return err
	}
	return temporal.NewNonRetryableApplicationError(fault.Sentence(err), ErrFinal, nil)
}

// IsOutage reports whether an error is a temporary failure of a part of this service: the part is down, a disk is
// full, or the work was interrupted.
func IsOutage(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Canceled:
		return err != nil
	case fault.Exhausted:
		return fault.CodeOf(err) == fault.CodeDiskFull
	case fault.Internal, fault.Invalid, fault.NotFound, fault.Conflict, fault.Unauthenticated, fault.Denied:
	}
	return false
}

// Panic is a panic of this program as an error. It is a bug, not an outage.
type Panic struct{ text string }

// Error returns the panic with its stack.
func (e *Panic) Error() string { return e.text }

// Contain converts a panic to an error. It must be deferred.
func Contain(err *error) {
	if r := recover(); r != nil {
		*err = &Panic{fmt.Sprintf("panic: %v\n%s", r, debug.Stack())}
	}
}
