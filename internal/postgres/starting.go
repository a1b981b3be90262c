package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// cannotConnectNow is the SQLSTATE of a server that is starting up, recovering or shutting down.
const cannotConnectNow = "57P03"

// IsStarting reports whether err means that PostgreSQL is running but accepts no connections yet, for example while
// it recovers from a crash.
func IsStarting(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == cannotConnectNow
}
