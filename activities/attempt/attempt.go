// Package attempt says how an attempt of an activity ends: what is tried again, and what is final. It keeps one
// promise: an outage, however long and of whatever kind, ends nothing that was accepted. It also gives the signs of
// life by which Temporal tells that a long attempt goes on. What the activities do is left to them.
package attempt

import (
	"errors"
	"fmt"
	"runtime/debug"

	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Error types that workflows tell apart.
const (
	ErrPlanChanged = "plan_changed" // this binary plans the graph differently from the one that began the run
	ErrFinal       = "final"        // retrying cannot help
)

// Error is the activities' only translation of fault kinds. What a contract refuses is final. Everything
// else is tried again without end: an accepted job outlives every outage, and an error that nobody has classified may
// be one. A panic that repeats is made final by whoever counts it (activities).
func Error(err error) error {
	var app *temporal.ApplicationError
	if err == nil || errors.As(err, &app) || IsOutage(err) || fault.KindOf(err) == fault.Internal {
		return err
	}
	return temporal.NewNonRetryableApplicationError(fault.Sentence(err), ErrFinal, nil)
}

// IsOutage reports an error that lies in a part of ours and passes: something is away, or a disk is full, or the work
// was interrupted.
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

// Panic is a panic of our own code as an error: a bug, and no outage.
type Panic struct{ text string }

// Error returns the panic with its stack.
func (e *Panic) Error() string { return e.text }

// Contain makes a panic an error. It is to be deferred.
func Contain(err *error) {
	if r := recover(); r != nil {
		*err = &Panic{fmt.Sprintf("panic: %v\n%s", r, debug.Stack())}
	}
}
