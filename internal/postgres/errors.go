package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-dev/millrace/internal/fault"
)

// SQLSTATE codes that the program distinguishes.
const (
	UniqueViolation = "23505"
	diskFull        = "53100"
	readOnly        = "25006" // a standby that was not promoted yet, or a primary that was taken out of service
	storageExceeded = "MR037" // raised by the function within_storage: the account would exceed its storage limit
)

// databaseRetry is the Retry-After while the database is unavailable: a restart takes seconds.
const databaseRetry = 2 * time.Second

// classify gives an error of the driver its fault kind. what completes "could not …" for the log; clients only see
// that the storage refused or is unavailable.
func classify(err error, what string) error {
	var known *fault.Error
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) {
		return wrapped(err, what)
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return classifyState(err, pg, what)
	}
	if errors.Is(err, pgx.ErrNoRows) || errors.Is(err, pgx.ErrTxCommitRollback) {
		return wrapped(err, what)
	}
	var scan pgx.ScanArgError
	if errors.As(err, &scan) {
		return wrapped(err, what)
	}
	var connecting *pgconn.ConnectError
	if errors.As(err, &connecting) || pgconn.SafeToRetry(err) || pgconn.Timeout(err) || isNetwork(err) {
		return unavailable(err, what)
	}
	return wrapped(err, what)
}

func classifyState(err error, pg *pgconn.PgError, what string) error {
	switch {
	case pg.Code == UniqueViolation:
		return fault.Wrap(wrapped(err, what), fault.Conflict, "", "this already exists")
	case pg.Code == storageExceeded:
		return fault.Wrap(wrapped(err, what), fault.Denied, fault.CodeStorageQuotaExceeded,
			"the files of this account have reached the storage limit: delete some files first")
	case pg.Code == diskFull:
		// The condition is temporary, like an outage: accepted work waits instead of failing.
		return fault.Wrap(wrapped(err, what), fault.Unavailable, fault.CodeStorageFull,
			"the database has no space left").WithRetryAfter(databaseRetry)
	case pg.Code == readOnly:
		return unavailable(err, what)
	}
	switch pg.Code[:2] {
	case "08", "40", "53", "55", "57", "58": // connection, serialization, resources, locks, operator intervention, the server's own files
		return unavailable(err, what)
	default:
		return wrapped(err, what)
	}
}

// isNetwork reports whether a connection broke while a statement was running.
func isNetwork(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func unavailable(err error, what string) error {
	return fault.Wrap(wrapped(err, what), fault.Unavailable, "", "the database is not available").WithRetryAfter(databaseRetry)
}

func wrapped(err error, what string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Classify gives an error of the driver its fault kind. what describes the operation, for the log.
func Classify(err error, what string) error { return classify(err, what) }
