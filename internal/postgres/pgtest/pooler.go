//go:build linux

package pgtest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/child"
	"github.com/millrace-dev/millrace/internal/child/scratch"
)

// poolerSessions is the number of server sessions that a pooler has for all its clients, fewer than their
// connections.
const poolerSessions = 8

// poolerPort is only a part of the name of the socket: the pooler does not listen on TCP.
const poolerPort = "6432"

// NewPooler starts a PgBouncer in transaction mode in front of the server of dsn until the test ends, and returns the
// connection string of the same database through it. Without the program, it skips the test.
func NewPooler(t testing.TB, dsn string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program = "/usr/sbin/pgbouncer"; !exists(program) {
			t.Skipf("no PgBouncer (apt-get install pgbouncer): %v", err)
		}
	}
	server, err := pgx.ParseConfig(dsn)
	require.NoError(t, err)
	dir, err := scratch.New("millrace-pooler")
	require.NoError(t, err)
	t.Cleanup(func() { _ = dir.Remove() }) // the next run sweeps the rest
	user, socket := poolerUser(t), filepath.Join(dir.Path, "run")
	require.NoError(t, os.Mkdir(socket, 0o755))
	if user != nil {
		require.NoError(t, os.Chown(socket, int(user.UID), int(user.GID)))
	}
	settings := writePooler(t, dir.Path, socket, server)
	process, err := child.Start(child.Command{
		Path: program, Args: []string{settings}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: dir.Path, Stdout: os.Stderr, Stderr: os.Stderr,
		User: user, Orphan: syscall.SIGKILL,
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = process.Stop(ctx, child.Step{Signal: syscall.SIGTERM, Grace: 5 * time.Second}) // its exit status does not matter
	})
	require.Eventually(t, func() bool {
		conn, err := net.Dial("unix", filepath.Join(socket, ".s.PGSQL."+poolerPort))
		return err == nil && conn.Close() == nil
	}, time.Minute, 10*time.Millisecond, "PgBouncer does not listen")
	return (&url.URL{Scheme: "postgres", User: url.User(server.User), Path: "/" + server.Database, RawQuery: url.Values{
		"host": {socket}, "port": {poolerPort}, "sslmode": {"disable"},
	}.Encode()}).String()
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// writePooler writes the configuration of an ordinary operator, without rules for clients' parameters.
func writePooler(t testing.TB, dir, socket string, server *pgx.ConnConfig) string {
	t.Helper()
	users, settings := filepath.Join(dir, "users.txt"), filepath.Join(dir, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(users, fmt.Appendf(nil, "%q \"\"\n", server.User), 0o644))
	require.NoError(t, os.WriteFile(settings, fmt.Appendf(nil, `[databases]
* = host=%s port=%d
[pgbouncer]
listen_addr =
listen_port = %s
unix_socket_dir = %s
auth_type = trust
auth_file = %s
pool_mode = transaction
default_pool_size = %d
max_client_conn = 500
log_connections = 0
log_disconnections = 0
verbose = 0
log_stats = 0
`, server.Host, server.Port, poolerPort, socket, users, poolerSessions), 0o644))
	return settings
}

// poolerUser returns the user of the server process if this process is root: only that user may enter the directory
// of its socket.
func poolerUser(t testing.TB) *child.User {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	owner := ownerOfServer(t)
	return &child.User{UID: owner.Uid, GID: owner.Gid}
}

// ownerOfServer returns the owner of the shared server's files.
func ownerOfServer(t testing.TB) *syscall.Stat_t {
	t.Helper()
	host, port, _, _ := Address(t)
	info, err := os.Stat(filepath.Join(host, ".s.PGSQL."+strconv.Itoa(port)))
	require.NoError(t, err)
	stat, ok := info.Sys().(*syscall.Stat_t)
	require.True(t, ok)
	return stat
}
