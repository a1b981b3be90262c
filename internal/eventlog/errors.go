package eventlog

import (
	"errors"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Reasons for which a Store refuses an append. Each is wrapped in a fault of kind Conflict.
var (
	ErrVersion   = errors.New("stream is not at the expected version")
	ErrClosed    = errors.New("stream is closed")
	ErrForeign   = errors.New("stream belongs to another account")
	ErrDuplicate = errors.New("the event id is recorded in another stream, or is being recorded now")
)

// Refuse wraps one of the reasons above in the fault that every Store returns. version is the version of the stream,
// for the caller's log.
func Refuse(reason error, a Append, version int64) error {
	return fault.Wrap(reason, fault.Conflict, fault.CodeStreamConflict, "stream %s at version %d refused an append expecting %d",
		a.Stream, version, a.Expected)
}

// IsRefused reports whether a Store refused an append for one of the reasons above.
func IsRefused(err error) bool {
	return errors.Is(err, ErrVersion) || errors.Is(err, ErrClosed) || errors.Is(err, ErrForeign) || errors.Is(err, ErrDuplicate)
}

// ErrRewound stops a reader: the log lacks events that were read from it. The database was restored, or is a replica
// that lagged when it was promoted. The events that were read must not be applied.
var ErrRewound = errors.New("the event log does not have what was read from it: the database was restored, or is a replica that lagged")

// ErrTailClosed ends the readers of a Tail: the process is stopping.
var ErrTailClosed = fault.New(fault.Unavailable, "", "the event log is no longer followed")

// ErrUnknownType is the reason for which Registry.Decode refuses an event: this binary does not have its type.
var ErrUnknownType = errors.New("unknown event type")
