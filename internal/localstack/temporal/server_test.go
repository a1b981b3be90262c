//go:build unix

package temporal_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
	"github.com/millrace-dev/millrace/internal/localstack/temporal"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// options returns the options of a server with databases of its own, which are dropped at the end.
func options(t *testing.T) temporal.Options {
	t.Helper()
	host, port, user, password := pgtest.Address(t)
	address, err := ports.Address()
	require.NoError(t, err)
	database := "mrtemporal_" + strings.ToLower(rand.Text()[:8])
	t.Cleanup(func() {
		for _, suffix := range []string{"", "_visibility", "_unfinished", "_visibility_unfinished"} {
			execute(t, "drop database if exists "+database+suffix+" with (force)")
		}
	})
	return temporal.Options{
		Binary: temporaltest.Binary(t), Postgres: temporal.Postgres{Host: host, Port: port, User: user, Password: password},
		Database: database, Address: address, Namespace: "default", LogFile: filepath.Join(t.TempDir(), "temporal.log"),
	}
}

func start(t *testing.T, opts temporal.Options) {
	t.Helper()
	begin := time.Now()
	s, err := temporal.Start(t.Context(), opts)
	require.NoError(t, err)
	t.Logf("started in %s", time.Since(begin).Round(time.Millisecond))
	t.Cleanup(func() { require.NoError(t, s.Stop(context.Background())) })
}

func execute(t *testing.T, statement string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), pgtest.Server(t))
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(context.Background(), statement)
	require.NoError(t, err)
}

// The statements of the schema do not form a transaction. The remains of a killed setup must not be taken for a
// complete database.
func TestKilledSchemaSetupIsBegunAnew(t *testing.T) {
	t.Parallel()
	for _, tables := range []int{0, 2, 12} {
		t.Run(fmt.Sprintf("after %d tables", tables), func(t *testing.T) {
			t.Parallel()
			opts := options(t)
			for !killedAt(t, opts, tables) { // the setup finished before the kill
				opts = options(t)
			}
			start(t, opts)
		})
	}
}

// killedAt starts a server and kills it as soon as its database has the given number of tables. It returns false if
// the schema was complete by then.
func killedAt(t *testing.T, opts temporal.Options, tables int) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), opts.Binary,
		"-postgres-host", opts.Postgres.Host, "-postgres-port", strconv.Itoa(opts.Postgres.Port),
		"-postgres-user", opts.Postgres.User, "-database", opts.Database, "-frontend-addr", opts.Address)
	cmd.Env = append(os.Environ(), "PGPASSWORD="+opts.Postgres.Password)
	require.NoError(t, cmd.Start())
	incomplete := awaitTables(t, opts, tables)
	_ = cmd.Process.Kill() // it may have failed because of the test's queries
	require.Error(t, cmd.Wait())
	return incomplete
}

// awaitTables returns true when the unfinished database has at least the given number of tables, and false when it is
// finished.
func awaitTables(t *testing.T, opts temporal.Options, tables int) bool {
	t.Helper()
	config, err := pgx.ParseConfig(pgtest.Server(t))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	count := func(database string) (n int) {
		config := config.Copy()
		config.Database = database
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			return -1 // the database does not exist yet
		}
		defer conn.Close(context.Background())
		if err := conn.QueryRow(ctx, `select count(*) from pg_tables where schemaname = 'public'`).Scan(&n); err != nil {
			return -1
		}
		return n
	}
	for count(opts.Database+"_unfinished") < tables {
		if count(opts.Database) >= 0 {
			return false
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s on %s never had %d tables", opts.Database, opts.Postgres.Host, tables)
		case <-time.After(time.Millisecond):
		}
	}
	return true
}

func TestUnusableUIAddressLeavesTheServer(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, taken.Close()) })
	opts := options(t)
	opts.UIAddress = taken.Addr().String()
	start(t, opts)
	log, err := os.ReadFile(opts.LogFile)
	require.NoError(t, err)
	require.Contains(t, string(log), "no Web UI")
}

func TestUIIsServed(t *testing.T) {
	t.Parallel()
	opts := options(t)
	ui, err := ports.Address()
	require.NoError(t, err)
	opts.UIAddress = ui
	start(t, opts)
	require.NoError(t, get(t.Context(), "http://"+ui+"/namespaces/default/workflows"))
}

// get repeats a request until it is answered, because a start does not wait for the UI.
func get(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("%s: %s", url, response.Status)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestFailedStartSaysWhy(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, taken.Close()) })
	cases := map[string]struct {
		change func(*temporal.Options)
		want   string
	}{
		"taken address": {func(o *temporal.Options) { o.Address = taken.Addr().String() }, "address already in use"},
		"no PostgreSQL": {func(o *temporal.Options) { o.Postgres.Host = "/nonexistent" }, "no such file or directory"},
		"no program":    {func(o *temporal.Options) { o.Binary = "/nonexistent" }, "no such file or directory"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := options(t)
			c.change(&opts)
			_, err := temporal.Start(t.Context(), opts)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\n", "one line")
		})
	}
}
