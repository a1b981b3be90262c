//go:build unix

package localcluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// diedError means that the server ended during its start or use.
type diedError struct {
	status error
	last   string // last line of the log
	file   string
}

// Error implements error.
func (e *diedError) Error() string {
	status := "exit status 0"
	if e.status != nil {
		status = e.status.Error()
	}
	if e.last == "" {
		return fmt.Sprintf("PostgreSQL ended with %s; its log is %s", status, e.file)
	}
	return fmt.Sprintf("PostgreSQL ended with %s: %s (log: %s)", status, e.last, e.file)
}

// Unwrap returns the exit status.
func (e *diedError) Unwrap() error { return e.status }

// awaitReady returns once a connection succeeds, or the server has ended.
func (c *Cluster) awaitReady(ctx context.Context) error {
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		err := ping(ctx, c.URL("postgres"))
		if err == nil {
			return nil
		}
		select {
		case <-c.Done():
			return c.died()
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL does not become ready (log: %s): %w", c.logFile(), errors.Join(context.Cause(ctx), err))
		case <-time.After(wait):
		}
	}
}

func ping(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// CreateDatabase creates the database unless it exists.
func (c *Cluster) CreateDatabase(ctx context.Context, name string) error {
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var exists bool
	if err := conn.QueryRow(ctx, `select exists (select from pg_database where datname = $1)`, name).Scan(&exists); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	if exists {
		return nil
	}
	if _, err := conn.Exec(ctx, `create database `+pgx.Identifier{name}.Sanitize()); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

func (c *Cluster) logFile() string {
	return cmp.Or(c.opts.LogFile, filepath.Join(c.dir, "postgres.log"))
}

// openLog starts a new log and keeps the previous one, so that the logs are bounded by two runs and the reason of a
// crash survives the restart.
func (c *Cluster) openLog() (*os.File, error) {
	name := c.logFile()
	if err := os.Rename(name, name+".1"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("PostgreSQL log: %w", err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o640)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL log: %w", err)
	}
	return f, nil
}

func (c *Cluster) died() error {
	return &diedError{status: c.process.Err(), last: lastError(c.logFile()), file: c.logFile()}
}

// tailBytes bounds the part of a log that is searched for the reason of an end.
const tailBytes = 16 << 10

// lastError returns the last FATAL, PANIC or error line of a log, without its prefix, or "".
func lastError(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close() // read only
	if size, err := f.Seek(0, io.SeekEnd); err != nil || size < tailBytes {
		_, err = f.Seek(0, io.SeekStart)
		if err != nil {
			return ""
		}
	} else if _, err := f.Seek(-tailBytes, io.SeekEnd); err != nil {
		return ""
	}
	b, err := io.ReadAll(io.LimitReader(f, tailBytes))
	if err != nil {
		return ""
	}
	return lastErrorLine(b)
}

func lastErrorLine(log []byte) string {
	last := ""
	for line := range bytes.Lines(log) {
		for _, mark := range []string{"FATAL:", "PANIC:", "error:"} {
			if _, after, ok := strings.Cut(string(line), mark); ok {
				last = strings.TrimSpace(after)
			}
		}
	}
	return last
}
