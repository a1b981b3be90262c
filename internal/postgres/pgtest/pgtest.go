//go:build unix

// Package pgtest provides tests with real PostgreSQL databases: one private server per test process, started at the
// first use and stopped with the process, and one new database per test. MILLRACE_TEST_DATABASE_URL, a postgres://
// URL of a user who may create databases, replaces the private server.
package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/internal/postgres/localcluster"
)

// Env names a server to use instead of a private one.
const Env = "MILLRACE_TEST_DATABASE_URL"

// prefix begins the name of every test database, followed by the second in which it was made.
const prefix = "mrtest_"

// server is the server on which this process makes its databases.
type server struct {
	dsn string // connection string of one of its databases
	// These fields are kept as long as the process lives, because closing them would release the locks by which other
	// processes recognise that the directory has an owner.
	private *localcluster.Cluster
	dir     *scratch.Dir
}

// shared is the server of this process.
var shared = sync.OnceValues(func() (server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // far above the usual time, even on a busy machine
	defer cancel()
	if dsn := os.Getenv(Env); dsn != "" {
		return server{dsn: dsn}, sweepDatabases(ctx, dsn)
	}
	return startPrivate(ctx)
})

// Server returns the connection string of the server's maintenance database, for tests that need no database of their
// own.
func Server(t testing.TB) string {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatalf("PostgreSQL for tests: %v", err)
	}
	return s.dsn
}

// Address returns the parts of the server's address, for programs without connection strings: a host name or the
// directory of a Unix socket, the port, and the user and password.
func Address(t testing.TB) (host string, port int, user, password string) {
	t.Helper()
	c, err := pgx.ParseConfig(Server(t))
	if err != nil {
		t.Fatalf("PostgreSQL for tests: %v", err)
	}
	return c.Host, int(c.Port), c.User, c.Password
}

// Database returns the connection string of a new, empty database, which is dropped when the test ends, even if
// clients are connected.
func Database(t testing.TB) string {
	t.Helper()
	return create(t, "template1")
}

// create makes a database like template and drops it at the end of the test.
func create(t testing.TB, template string) string {
	t.Helper()
	server := Server(t)
	name := newName()
	if err := execute(t.Context(), server, createStatement(name, template)); err != nil {
		t.Fatalf("create a database for the test: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if err := execute(ctx, server, dropStatement(name)); err != nil {
			t.Errorf("drop the database of the test: %v", err)
		}
	})
	dsn, err := withDatabase(server, name)
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}

func newName() string {
	id := uuid.New()
	return fmt.Sprintf("%s%d_%x", prefix, time.Now().Unix(), id[:8])
}

func createStatement(name, template string) string {
	return "create database " + pgx.Identifier{name}.Sanitize() + " template " + pgx.Identifier{template}.Sanitize()
}

func dropStatement(name string) string {
	return "drop database if exists " + pgx.Identifier{name}.Sanitize() + " with (force)"
}

// execute runs one statement on a connection of its own.
func execute(ctx context.Context, dsn, statement string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, statement)
	return err
}

// withDatabase returns dsn with another database.
func withDatabase(dsn, name string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return "", fmt.Errorf("%s must be a postgres:// URL", Env) // the error leaves out the URL, which may contain a password
	}
	u.Path = "/" + name
	return u.String(), nil
}

// abandoned is the age from which a database belongs to a killed test process.
const abandoned = time.Hour

// sweepDatabases drops the databases that killed test processes left on a shared server.
func sweepDatabases(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	rows, err := conn.Query(ctx, `select datname from pg_database where starts_with(datname, $1)`, prefix)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range names {
		if time.Since(madeAt(name)) < abandoned {
			continue
		}
		if _, err := conn.Exec(ctx, dropStatement(name)); err != nil {
			return err
		}
	}
	return nil
}

// madeAt returns the time in a name, or now if the name has none.
func madeAt(name string) time.Time {
	second, _, _ := strings.Cut(strings.TrimPrefix(name, prefix), "_")
	n, err := strconv.ParseInt(second, 10, 64)
	if err != nil {
		return time.Now()
	}
	return time.Unix(n, 0)
}
