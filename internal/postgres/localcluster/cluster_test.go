//go:build unix

package localcluster_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/child"
	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/internal/postgres/localcluster"
)

// ownerDir tells the re-executed test binary to own the cluster in this directory.
const ownerDir = "MILLRACE_TEST_OWNER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerDir); dir != "" {
		own(dir)
	}
	os.Exit(m.Run())
}

// own starts a cluster, says so, and waits to be killed.
func own(dir string) {
	c, err := localcluster.Start(context.Background(), dir, localcluster.Options{})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("pid", c.PID())
	select {}
}

// tempDir is a directory that the server's user can enter, unlike t.TempDir for root.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := scratch.New("mr-pg")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dir.Remove()) })
	return filepath.Join(dir.Path, "c")
}

func start(t *testing.T, dir string) *localcluster.Cluster {
	t.Helper()
	begin := time.Now()
	c, err := localcluster.Start(t.Context(), dir, localcluster.Options{})
	require.NoError(t, err)
	t.Logf("started in %s", time.Since(begin).Round(time.Millisecond))
	t.Cleanup(func() { require.NoError(t, c.Stop(context.Background())) })
	return c
}

func query[T any](t *testing.T, dsn, sql string) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	rows, err := conn.Query(t.Context(), sql)
	require.NoError(t, err)
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	require.NoError(t, err)
	return v
}

// keep commits a number that the test looks for later.
func keep(t *testing.T, dsn string, n int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), fmt.Sprintf("create table kept as select %d::bigint as n", n))
	require.NoError(t, err)
}

// running reports whether the process exists and is no zombie: who reaps an orphan, and when,
// is the machine's affair.
func running(t *testing.T, pid int) bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(string(out), "Z")
}

func TestStopAndStartKeepsData(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	c := start(t, dir)
	require.NoError(t, c.CreateDatabase(t.Context(), "app"))
	require.NoError(t, c.CreateDatabase(t.Context(), "app"), "a database that is there is no error")
	keep(t, c.URL("app"), 1)
	begin := time.Now()
	require.NoError(t, c.Stop(t.Context()))
	t.Logf("stopped in %s", time.Since(begin).Round(time.Millisecond))
	<-c.Done()
	again := start(t, dir)
	require.Equal(t, c.URL("app"), again.URL("app"), "the address must not change")
	require.Equal(t, int64(1), query[int64](t, again.URL("app"), "select n from kept"))
}

func TestListensOnlyOnAPrivateSocket(t *testing.T) {
	t.Parallel()
	c := start(t, tempDir(t))
	require.Empty(t, query[string](t, c.URL("postgres"), "show listen_addresses"))
	require.Equal(t, "on", query[string](t, c.URL("postgres"), "show fsync"))
	require.Equal(t, "300", query[string](t, c.URL("postgres"), "show max_connections"))
	require.Equal(t, "4MB", query[string](t, c.URL("postgres"), "show wal_segment_size"), "commits wait for the creation of a larger one")
	require.Equal(t, "1GB", query[string](t, c.URL("postgres"), "show max_wal_size"))
	socket, _, _ := c.Socket()
	info, err := os.Stat(socket)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestKilledServerIsReportedAndRecovers(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	c := start(t, dir)
	keep(t, c.URL("postgres"), 7)
	require.NoError(t, syscall.Kill(c.PID(), syscall.SIGKILL))
	<-c.Done()
	require.ErrorContains(t, c.Err(), "killed")
	require.NoError(t, c.Stop(t.Context()))
	again := start(t, dir)
	require.Equal(t, int64(7), query[int64](t, again.URL("postgres"), "select n from kept"))
}

// A backend notices that its server is gone when it next waits for anything; one that computes does not wait.
func TestKilledServerWithARunningStatementStartsAgain(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	c := start(t, dir)
	keep(t, c.URL("postgres"), 7)
	conn, err := pgx.Connect(t.Context(), c.URL("postgres"))
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), "select count(*) from generate_series(1, 1e12::bigint)")
		ended <- err
	}()
	await(t, "the statement runs", func() bool {
		return query[int64](t, c.URL("postgres"), "select count(*) from pg_stat_activity where query like '%1e12%' and pid <> "+
			"pg_backend_pid()") == 1
	})
	require.NoError(t, syscall.Kill(c.PID(), syscall.SIGKILL))
	<-c.Done()
	require.NoError(t, c.Stop(t.Context()))
	again := start(t, dir)
	require.Equal(t, int64(7), query[int64](t, again.URL("postgres"), "select n from kept"))
	require.Error(t, <-ended, "the statement outlived its server")
}

func TestSecondOwnerIsRefused(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	start(t, dir)
	_, err := localcluster.Start(t.Context(), dir, localcluster.Options{})
	var held *child.LockedError
	require.ErrorAs(t, err, &held)
	require.Equal(t, os.Getpid(), held.PID)
}

func TestServerEndsWithItsOwner(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerDir+"="+dir)
	out, err := owner.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, owner.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "pid ")))
	require.NoError(t, err, line)
	require.NoError(t, owner.Process.Kill())
	require.Error(t, owner.Wait())
	again := start(t, dir) // at once, while the old server may still be stopping
	require.NotEqual(t, pid, again.PID())
	require.False(t, running(t, pid), "the killed owner left its server behind")
}

func TestSocketMovesIfItsDirectoryCannotHoldIt(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]string{
		"too long": strings.Repeat("d", 120), "a list": "one,two", "spaces and signs": `it's my "data" + 100%`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(tempDir(t), last)
			c := start(t, dir)
			socket, _, _ := c.Socket()
			t.Cleanup(func() { require.NoError(t, os.RemoveAll(socket)) })
			require.NotContains(t, socket, dir)
			require.Equal(t, int64(1), query[int64](t, c.URL("postgres"), "select 1::bigint"))
		})
	}
}

func TestKilledFirstStartLeavesNoOrphanAndIsBegunAnew(t *testing.T) {
	t.Parallel()
	dir := killedInitializing(t)
	for dir == "" { // the kill came too late to prove anything
		dir = killedInitializing(t)
	}
	await(t, "no process in the directory", func() bool {
		return exec.CommandContext(t.Context(), "pgrep", "-f", "--", dir).Run() != nil
	})
	made, err := databases(dir)
	require.NoError(t, err)
	require.Less(t, made, allDatabases, "initdb went on to its end without its owner")
	start(t, dir)
}

// allDatabases is how many databases initdb makes. When it has made them, it has nearly ended.
const allDatabases = 3

// databases returns the number of databases that an unfinished initdb has made.
func databases(dir string) (int, error) {
	made, err := os.ReadDir(filepath.Join(dir, "data.init", "base"))
	return len(made), err
}

// killedInitializing starts a cluster in a process that it kills while initdb is at work, and returns the directory;
// "" when initdb was done by then.
func killedInitializing(t *testing.T) string {
	t.Helper()
	dir := tempDir(t)
	done := func() bool {
		_, err := os.Stat(filepath.Join(dir, "data"))
		return err == nil
	}
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerDir+"="+dir)
	require.NoError(t, owner.Start())
	await(t, "initdb at work", func() bool {
		_, err := os.Stat(filepath.Join(dir, "data.init", "PG_VERSION"))
		return err == nil || done()
	})
	require.NoError(t, owner.Process.Kill())
	require.Error(t, owner.Wait())
	made, err := databases(dir)
	if done() || made == allDatabases {
		return ""
	}
	require.NoError(t, err)
	return dir
}

// patience is how long anything may take; far more than it does.
const patience = 2 * time.Minute

// await repeats the question until the answer is yes.
func await(t *testing.T, what string, yes func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !yes() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within %s: %s", patience, what)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func TestInterruptedFirstStartIsCleanedUp(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "data.init", "base"), 0o711))
	start(t, dir)
	require.NoDirExists(t, filepath.Join(dir, "data.init"))
}

func TestProgramsThatDoNotAnswerInTimeAreNotMissing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := localcluster.Start(ctx, tempDir(t), localcluster.Options{})
	require.ErrorIs(t, err, context.Canceled)
	require.NotContains(t, err.Error(), "not installed")
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		prepare func(t *testing.T, dir string)
		opts    localcluster.Options
		want    string
	}{
		"no programs in the configured directory": {
			opts: localcluster.Options{BinDir: "/nonexistent"}, want: "no PostgreSQL in /nonexistent",
		},
		"data of another version": {
			prepare: func(t *testing.T, dir string) { writeVersion(t, dir, "9\n") }, want: "is of PostgreSQL 9, but this machine has",
		},
		"damaged version": {
			prepare: func(t *testing.T, dir string) { writeVersion(t, dir, "x\n") }, want: "PG_VERSION is damaged",
		},
		"a directory that is not PostgreSQL's": {
			prepare: func(t *testing.T, dir string) { require.NoError(t, os.MkdirAll(filepath.Join(dir, "data"), 0o755)) },
			want:    "it has no PG_VERSION",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			if c.prepare != nil {
				c.prepare(t, dir)
			}
			_, err := localcluster.Start(t.Context(), dir, c.opts)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\n", "one line")
		})
	}
}

func writeVersion(t *testing.T, dir, version string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "data"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data", "PG_VERSION"), []byte(version), 0o644))
}

func TestUnreachableParentDirectoryIsReportedToRoot(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root gives its server another user")
	}
	dir := tempDir(t)
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o700))
	_, err := localcluster.Start(t.Context(), dir, localcluster.Options{})
	require.ErrorContains(t, err, "chmod o+x "+filepath.Dir(dir))
}
