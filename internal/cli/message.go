package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Message returns what a user reads about the failure of a command: one line, with the remedy where it is
// known. A database that cannot be reached is named by its address; passwords are in no message.
func Message(err error) string {
	text := withoutCause(err)
	var connecting *pgconn.ConnectError
	if errors.As(err, &connecting) {
		text = unreachable(connecting)
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

// unreachable says which PostgreSQL could not be used, why, and what to do.
func unreachable(err *pgconn.ConnectError) string {
	server := err.Config.Host
	if !strings.HasPrefix(server, "/") { // a directory is a Unix socket's
		server = net.JoinHostPort(server, fmt.Sprint(err.Config.Port))
	}
	var refused *pgconn.PgError
	var network *net.OpError
	var name *net.DNSError
	switch {
	case errors.As(err, &refused):
		return fmt.Sprintf("PostgreSQL at %s refuses: %s; correct DATABASE_URL", server, refused.Message)
	case errors.As(err, &name):
		return fmt.Sprintf("no PostgreSQL at %s: %s; correct DATABASE_URL", server, name.Err)
	case errors.As(err, &network):
		return fmt.Sprintf("no PostgreSQL at %s: %s; start it, or correct DATABASE_URL", server, network.Err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("PostgreSQL at %s does not answer; start it, or correct DATABASE_URL", server)
	default:
		return fmt.Sprintf("PostgreSQL at %s cannot be used: %v; correct DATABASE_URL", server, err.Unwrap())
	}
}
