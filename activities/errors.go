package activities

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

// asActivityError is the activities' only translation of fault kinds. What a contract refuses is final. Everything
// else is tried again without end: an accepted job outlives every outage, and an error that nobody has classified may
// be one. A panic that repeats is made final by whoever counts it (panics).
func asActivityError(err error) error {
	var app *temporal.ApplicationError
	if err == nil || errors.As(err, &app) || isOutage(err) || fault.KindOf(err) == fault.Internal {
		return err
	}
	return temporal.NewNonRetryableApplicationError(err.Error(), ErrFinal, nil)
}

// isOutage reports an error that lies in a part of ours and passes: something is away, or a disk is full, or the work
// was interrupted.
func isOutage(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Canceled:
		return err != nil
	case fault.Exhausted:
		return fault.CodeOf(err) == codeDiskFull
	case fault.Internal, fault.Invalid, fault.NotFound, fault.Conflict, fault.Unauthenticated, fault.Denied:
	}
	return false
}

// codeDiskFull is the code of the blob stores for a disk without space.
const codeDiskFull = "disk_full"

// panicError is a panic of our own code: a bug, and no outage.
type panicError struct{ text string }

func (e *panicError) Error() string { return e.text }

// contain makes a panic an error. It is to be deferred.
func contain(err *error) {
	if r := recover(); r != nil {
		*err = &panicError{fmt.Sprintf("panic: %v\n%s", r, debug.Stack())}
	}
}
