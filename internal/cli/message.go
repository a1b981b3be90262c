package cli

import (
	"errors"
	"strings"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Message returns what a user reads about the failure of a command: one line, with the remedy where it is
// known. A database that cannot be reached is named by its address; passwords are in no message.
func Message(err error) string {
	text := withoutCause(err)
	if server, ok := postgres.Unreachable(err); ok {
		text = server
	}
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\t' }), "; ")
}

// withoutCause is the text of err without what lies below a refusal that is an answer in itself: "there is no such
// key" is not made clearer by the database's words for it. The cause of what broke stays, because it is to be mended.
func withoutCause(err error) string {
	text := err.Error()
	var refusal *fault.Error
	if !errors.As(err, &refusal) || refusal.Unwrap() == nil {
		return text
	}
	cause := refusal.Unwrap().Error()
	answers := refusal.Kind == fault.NotFound || refusal.Kind == fault.Conflict
	if answers || strings.HasSuffix(refusal.Message, cause) {
		return strings.TrimSuffix(text, ": "+cause)
	}
	return text
}
