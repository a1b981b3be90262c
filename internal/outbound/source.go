package outbound

import (
	"context"
	"errors"
	"net/http"

	"github.com/millrace-dev/millrace/internal/fault"
)

// SourceFault returns the failure of an exchange with an address that a client named, as that client learns it: Invalid,
// with a code that says what is wrong with the source. Content that is too large is the caller's to report.
func SourceFault(err error) error {
	var status StatusError
	switch {
	case fault.CodeOf(err) == fault.CodeNameNotAllowed: // answered like a name that does not exist
		return fault.Wrap(err, fault.Invalid, fault.CodeSourceUnreachable, "the source cannot be reached")
	case fault.CodeOf(err) == fault.CodeAddressNotAllowed:
		return fault.Wrap(err, fault.Invalid, fault.CodeSourceUnsupported, "this address is not fetched: only public https addresses are")
	case errors.As(err, &status):
		return sourceStatusFault(int(status), err)
	case errors.Is(err, ErrSlow), errors.Is(err, ErrStalled), errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Invalid, fault.CodeSourceTimeout, "the source took too long")
	}
	return fault.Wrap(err, fault.Invalid, fault.CodeSourceUnreachable, "the source cannot be reached")
}

func sourceStatusFault(status int, err error) error {
	code := fault.CodeSourceHTTPError
	switch {
	case status == http.StatusUnauthorized:
		code = fault.CodeSourceUnauthorized
	case status == http.StatusForbidden:
		code = fault.CodeSourceForbidden
	case status == http.StatusNotFound, status == http.StatusGone:
		code = fault.CodeSourceNotFound
	case status == http.StatusTooManyRequests:
		code = fault.CodeSourceRateLimited
	case status >= http.StatusInternalServerError:
		code = fault.CodeSourceServerError
	}
	return fault.Wrap(err, fault.Invalid, code, "the source answered %d", status)
}

// SourceMayRecover reports a failure of SourceFault that may have passed by the next attempt.
func SourceMayRecover(err error) bool {
	switch fault.CodeOf(err) {
	case fault.CodeSourceTimeout, fault.CodeSourceServerError, fault.CodeSourceRateLimited, fault.CodeSourceUnreachable:
		return true
	default:
		return false
	}
}
