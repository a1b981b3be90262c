// Package fault classifies failures. An adapter (of the database, the blob store, a provider) wraps the cause in an
// Error once. Every edge (HTTP status, retry policy of a workflow, close code of a stream) translates the Kind by a
// table of its own and does not read error texts.
package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind is the closed set of ways an operation can fail.
type Kind uint8

// The kinds. Internal is the zero value, so that clients never see details of an unclassified error.
const (
	Internal        Kind = iota // a bug or an unexpected state; details stay inside
	Invalid                     // the request breaks a rule of its contract
	NotFound                    // absent, or another account's: clients cannot distinguish the two
	Conflict                    // the current state does not allow the change
	Exhausted                   // a limit is reached: queue depth, pixels, disk, rate
	Unavailable                 // a part of the service is temporarily down; the same request may succeed later
	Unauthenticated             // no usable credential
	Denied                      // a valid credential without the right
	Canceled                    // the caller or the user has cancelled
)

var kindNames = [...]string{
	"internal", "invalid", "not_found", "conflict", "exhausted",
	"unavailable", "unauthenticated", "denied", "canceled",
}

// String returns the kind's stable lower-case name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Error is a classified failure. Message is safe to show to a client; the
// wrapped cause is not.
type Error struct {
	Kind       Kind
	Code       Code           // one of the constants, or ""
	Message    string         // public
	Details    map[string]any // public, may be nil
	RetryAfter time.Duration  // 0 = unknown
	Exception  string         // name of the exception that ComfyUI raises here; "" = it has none, or none that is known
	cause      error
}

// New returns a classified error without a cause.
func New(kind Kind, code Code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap classifies cause; the formatted message is the public part.
func Wrap(cause error, kind Kind, code Code, format string, args ...any) *Error {
	e := New(kind, code, format, args...)
	e.cause = cause
	return e
}

// WithDetails returns a copy of e that carries details.
func (e *Error) WithDetails(details map[string]any) *Error {
	c := *e
	c.Details = details
	return &c
}

// WithRetryAfter returns a copy of e with the time after which the caller may try again.
func (e *Error) WithRetryAfter(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// Raising returns a copy of e with the name of the exception that ComfyUI raises, and with its sentence before the message.
func (e *Error) Raising(exception, format string, args ...any) *Error {
	c := *e
	c.Exception, c.Message = exception, fmt.Sprintf(format, args...)+"\n"+e.Message
	return &c
}

// Error returns the public message followed by the cause, for logs.
func (e *Error) Error() string {
	if e.cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// KindOf returns the kind of err: that of the outermost Error in its chain,
// Canceled or Unavailable for context errors, and Internal otherwise.
func KindOf(err error) Kind {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return Unavailable
	default:
		return Internal
	}
}

// CodeOf returns the code of the outermost Error in the chain of err, or "".
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Is reports whether err is of the given kind.
func Is(err error, kind Kind) bool { return err != nil && KindOf(err) == kind }

// SourceMayRecover reports a failure of an address that a client named which may have passed by the next attempt.
func SourceMayRecover(err error) bool {
	switch CodeOf(err) {
	case CodeSourceTimeout, CodeSourceServerError, CodeSourceRateLimited, CodeSourceUnreachable:
		return true
	default:
		return false
	}
}

// stateError is implemented by the errors of a database driver.
type stateError interface {
	error
	SQLState() string
}

// Sentence returns the text of err for an operator. It replaces the messages of a database, which may contain names
// of tables and values of rows, by the meaning of their SQLSTATE. The original messages are in the log.
func Sentence(err error) string { return SentenceOf(err.Error(), err) }

// SentenceOf is Sentence for a text that contains the text of err or of a part of it.
func SentenceOf(text string, err error) string {
	for _, of := range stateErrors(err, nil) {
		text = strings.ReplaceAll(text, of.Error(), stateSentence(of.SQLState()))
	}
	return text
}

// stateErrors appends the errors of databases in err's tree to found.
func stateErrors(err error, found []stateError) []stateError {
	if of, ok := err.(stateError); ok { //nolint:errorlint // the walk looks at each error of the tree
		found = append(found, of)
	}
	switch wrapper := err.(type) { //nolint:errorlint // the walk looks at each error of the tree
	case interface{ Unwrap() error }:
		if cause := wrapper.Unwrap(); cause != nil {
			found = stateErrors(cause, found)
		}
	case interface{ Unwrap() []error }:
		for _, cause := range wrapper.Unwrap() {
			found = stateErrors(cause, found)
		}
	}
	return found
}

// stateSentences maps an SQLSTATE, or the class of one, to its meaning.
var stateSentences = map[string]string{
	"22":    "the database refuses a value",
	"23":    "a value breaks a constraint of the database",
	"25006": "the database is a standby, or read-only",
	"28":    "the database refuses this user or its password",
	"3D":    "there is no such database",
	"40":    "the database rolled the transaction back in favour of another one",
	"42501": "the database user lacks a right",
	"42":    "the database lacks a table, a column or a function: is it migrated?",
	"53100": "the database has no space left",
	"53300": "the database has no connection left",
	"53":    "the database has too little memory or space",
	"54":    "a statement exceeds a limit of the database",
	"55":    "the database waited too long for a lock",
	"57014": "the database ended a statement that took too long",
	"57":    "the database is starting up or shutting down",
	"58":    "the database cannot use its own files",
	"MR":    "the database refuses what would break a rule of this service",
	"P0":    "the database refuses what would break a rule of this service",
	"XX":    "the database failed inside",
}

func stateSentence(state string) string {
	sentence, ok := stateSentences[state]
	if !ok && len(state) >= 2 {
		sentence, ok = stateSentences[state[:2]]
	}
	if !ok {
		sentence = "the database refuses a statement"
	}
	return sentence + " (SQLSTATE " + state + ")"
}

// Shorten returns text if it has at most most bytes. Otherwise it returns at most that many bytes of its beginning, cut between
// characters, and "…".
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
