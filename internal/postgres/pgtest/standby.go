//go:build unix

package pgtest

import (
	"context"
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

	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/internal/postgres/localcluster"
)

// Pair is a primary and a standby that follows it by streaming replication, each a private server.
type Pair struct {
	t        testing.TB
	database string
	primary  *localcluster.Cluster
	standby  *localcluster.Cluster
}

// NewPair starts both servers, with an empty database on the primary, and stops them when the test ends. It needs
// pg_basebackup among the server's programs; without it the test fails.
func NewPair(t testing.TB) *Pair {
	t.Helper()
	dir, err := scratch.New("millrace-pair")
	require.NoError(t, err)
	t.Cleanup(func() { _ = dir.Remove() }) // the next run sweeps the rest
	p := &Pair{t: t, database: "failover"}
	p.primary = p.start(filepath.Join(dir.Path, "a"))
	require.NoError(t, p.primary.CreateDatabase(t.Context(), p.database))
	copied := filepath.Join(dir.Path, "b")
	p.copyTo(copied)
	p.standby = p.start(copied)
	return p
}

func (p *Pair) start(dir string) *localcluster.Cluster {
	p.t.Helper()
	c, err := localcluster.Start(p.t.Context(), dir, localcluster.Options{BinDir: os.Getenv("MILLRACE_POSTGRES_BIN")})
	require.NoError(p.t, err)
	p.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_ = c.Stop(ctx) // the primary was killed
	})
	return c
}

// copyTo makes a standby's directory from the running primary.
func (p *Pair) copyTo(dir string) {
	p.t.Helper()
	from := socketOf(p.primary)
	require.NoError(p.t, os.MkdirAll(dir, 0o711)) // the server's user enters it
	data := filepath.Join(dir, "data")
	args := []string{
		"-D", data, "-R", "-X", "stream", "-c", "fast",
		"-h", from, "-p", strconv.Itoa(portOf(p.primary)), "-U", userOf(p.primary),
	}
	cmd := exec.CommandContext(p.t.Context(), backupBinary(p.t), args...) //nolint:gosec // a test's own command
	out, err := cmd.CombinedOutput()
	require.NoError(p.t, err, string(out))
	p.chown(dir)
}

// chown gives the copied files the owner of the primary's files, because as root the server runs as another user.
func (p *Pair) chown(dir string) {
	p.t.Helper()
	info, err := os.Stat(socketOf(p.primary))
	require.NoError(p.t, err)
	stat, ok := info.Sys().(*syscall.Stat_t)
	require.True(p.t, ok)
	require.NoError(p.t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(stat.Uid), int(stat.Gid))
	}))
}

func backupBinary(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("MILLRACE_POSTGRES_BIN"); dir != "" {
		return filepath.Join(dir, "pg_basebackup")
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/pg_basebackup", "/opt/homebrew/opt/postgresql*/bin/pg_basebackup"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 { // the pattern is well formed
			return found[len(found)-1]
		}
	}
	path, err := exec.LookPath("pg_basebackup")
	require.NoError(t, err)
	return path
}

func socketOf(c *localcluster.Cluster) string { dir, _, _ := c.Socket(); return dir }
func portOf(c *localcluster.Cluster) int      { _, port, _ := c.Socket(); return port }
func userOf(c *localcluster.Cluster) string   { _, _, user := c.Socket(); return user }

// URL returns the connection string of the database on the server that accepts writes.
func (p *Pair) URL() string {
	port := strconv.Itoa(portOf(p.primary))
	q := url.Values{
		"host": {socketOf(p.primary) + "," + socketOf(p.standby)}, "port": {port + "," + port},
		"sslmode": {"disable"}, "target_session_attrs": {"read-write"},
	}
	return (&url.URL{Scheme: "postgres", User: url.User(userOf(p.primary)), Path: "/" + p.database, RawQuery: q.Encode()}).String()
}

// PrimaryURL returns the connection string of the database on the first primary.
func (p *Pair) PrimaryURL() string { return p.primary.URL(p.database) }

// StandbyURL returns the connection string of the database on the standby.
func (p *Pair) StandbyURL() string { return p.standby.URL(p.database) }

func (p *Pair) connect(c *localcluster.Cluster) *pgx.Conn {
	p.t.Helper()
	conn, err := pgx.Connect(p.t.Context(), c.URL(p.database))
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = conn.Close(context.Background()) }) // the server may be gone
	return conn
}

// Disconnect lets the standby apply the writes of the primary so far, and no later ones.
func (p *Pair) Disconnect() {
	p.t.Helper()
	primary, standby := p.connect(p.primary), p.connect(p.standby)
	_, err := primary.Exec(p.t.Context(), `select pg_logical_emit_message(true, 'millrace', '')`)
	require.NoError(p.t, err, "a commit that waits for the disk: it flushes those before it that did not")
	var written string
	require.NoError(p.t, primary.QueryRow(p.t.Context(), `select pg_current_wal_lsn()::text`).Scan(&written))
	p.await(standby, `select coalesce(pg_last_wal_replay_lsn() >= $1::pg_lsn, false)`, written)
	for _, sql := range []string{`alter system set primary_conninfo = ''`, `select pg_reload_conf()`} {
		_, err := standby.Exec(p.t.Context(), sql)
		require.NoError(p.t, err)
	}
	p.await(standby, `select not exists (select from pg_stat_wal_receiver)`)
}

// Promote makes the standby a primary. The former primary runs until Kill.
func (p *Pair) Promote() {
	p.t.Helper()
	standby := p.connect(p.standby)
	_, err := standby.Exec(p.t.Context(), `select pg_promote()`)
	require.NoError(p.t, err)
	p.await(standby, `select not pg_is_in_recovery()`)
}

// Kill kills the first primary.
func (p *Pair) Kill() {
	p.t.Helper()
	require.NoError(p.t, syscall.Kill(-p.primary.PID(), syscall.SIGKILL))
	select {
	case <-p.primary.Done():
	case <-p.t.Context().Done():
		p.t.Fatal("the primary does not end")
	}
}

// await polls until the query returns true.
func (p *Pair) await(conn *pgx.Conn, sql string, args ...any) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		var yes bool
		err := conn.QueryRow(p.t.Context(), sql, args...).Scan(&yes)
		return err == nil && yes
	}, 5*time.Minute, 20*time.Millisecond, sql)
}
