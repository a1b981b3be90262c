package postgres

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Unreachable adds to a connection error which PostgreSQL could not be used, why, and what to do. The message
// contains no password.
func Unreachable(err error) (text string, ok bool) {
	var settings *pgconn.ParseConfigError
	var file *fs.PathError
	if errors.As(err, &settings) && errors.As(settings, &file) {
		return fmt.Sprintf("DATABASE_URL names a file that cannot be read: %v; correct sslrootcert, sslcert and sslkey", file), true
	}
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
	switch insecure := refusalOfTLS(connecting); {
	case insecure != "":
		text = fmt.Sprintf("PostgreSQL at %s %s", server, insecure)
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

// refusal returns the reason why a server refused the connection, without the server's message.
func refusal(refused *pgconn.PgError, cfg *pgconn.Config) string {
	switch refused.Code {
	case "3D000":
		return fmt.Sprintf("it has no database %q", cfg.Database)
	case "28000", "28P01":
		return fmt.Sprintf("it does not let in the user %q with this password", cfg.User)
	}
	return fault.Sentence(refused)
}

// refusalOfTLS says why there is no connection with TLS, or none without, and what to do; "" = for another reason.
func refusalOfTLS(err error) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &unknown):
		return "cannot be trusted: its certificate is of an authority that this machine does not know: name the authority's file with " +
			"sslrootcert in DATABASE_URL"
	case errors.As(err, &name):
		return fmt.Sprintf("cannot be trusted: its certificate is of %s: use that name in DATABASE_URL, or sslmode=verify-ca",
			namesOf(name.Certificate))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "cannot be trusted: its certificate has expired, or is not valid yet: renew it"
	case errors.As(err, &refused) && refused.Code == "28000" && strings.Contains(refused.Message, "no encryption"):
		return "takes connections with TLS only: add sslmode=verify-full to DATABASE_URL"
	case strings.Contains(err.Error(), "server refused TLS connection"):
		return "has no TLS: turn ssl on there, or set sslmode=disable in DATABASE_URL where nobody else is on the network"
	}
	return ""
}

// namesOf returns the names for which a certificate is valid.
func namesOf(c *x509.Certificate) string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	return strings.Join(names, ", ")
}
