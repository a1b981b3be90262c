package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Unreachable adds to a connection error which PostgreSQL could not be used, why, and what to do. The message
// contains no password.
func Unreachable(err error) (text string, ok bool) {
	var connecting *pgconn.ConnectError
	if !errors.As(err, &connecting) {
		return "", false
	}
	server := connecting.Config.Host
	if !strings.HasPrefix(server, "/") { // a directory is a Unix socket's
		server = net.JoinHostPort(server, fmt.Sprint(connecting.Config.Port))
	}
	var refused *pgconn.PgError
	var network *net.OpError
	var name *net.DNSError
	switch {
	case errors.As(connecting, &refused) && isPooler(refused):
		text = fmt.Sprintf("at %s is a pooler, not PostgreSQL: set DATABASE_DIRECT_URL to the address of PostgreSQL itself", server)
	case errors.As(connecting, &refused):
		text = fmt.Sprintf("PostgreSQL at %s refuses: %s; correct DATABASE_URL", server, refusal(refused, connecting.Config))
	case errors.As(connecting, &name):
		text = fmt.Sprintf("no PostgreSQL at %s: %s; correct DATABASE_URL", server, name.Err)
	case errors.As(connecting, &network):
		text = fmt.Sprintf("no PostgreSQL at %s: %s; start it, or correct DATABASE_URL", server, network.Err)
	case errors.Is(connecting, context.DeadlineExceeded):
		text = fmt.Sprintf("PostgreSQL at %s does not answer; start it, or correct DATABASE_URL", server)
	default:
		text = fmt.Sprintf("PostgreSQL at %s cannot be used: %v; correct DATABASE_URL", server, connecting.Unwrap())
	}
	return text, true
}

// refusal says why a server does not let us in, without the server's words.
func refusal(refused *pgconn.PgError, cfg *pgconn.Config) string {
	switch refused.Code {
	case "3D000":
		return fmt.Sprintf("it has no database %q", cfg.Database)
	case "28000", "28P01":
		return fmt.Sprintf("it does not let in the user %q with this password", cfg.User)
	}
	return fault.Sentence(refused)
}
