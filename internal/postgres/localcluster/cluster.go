//go:build unix

// Package localcluster runs a private PostgreSQL as a child of this process, with the programs of the machine. It
// promises that the cluster has one owner, listens only on a Unix socket in a private directory, stops with its owner
// even if that crashes, and loses no committed data in a crash. It does not restart the cluster, and does not depend
// on the stored data.
package localcluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/millrace-dev/millrace/internal/child"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// Options tune a cluster. The zero value is right for data that matters.
type Options struct {
	// BinDir contains initdb and postgres; "" = search the directories of package managers.
	BinDir string
	// LogFile is the server's log. The log of the previous run is kept beside it as LogFile.1. "" = postgres.log in
	// the cluster's directory.
	LogFile string
	// Disposable trades crash safety for speed (no fsync): for tests only.
	Disposable bool
	// MaxConnections is the server's limit; 0 = 300. Temporal may open 160 (two stores of four services, 20 each),
	// and every process of Millrace about 30.
	MaxConnections int
	// Settings are further settings, NAME=VALUE, which override those of this package.
	Settings []string
}

// Fixed names. The port is only a part of the socket's name: the server does not listen on TCP.
const (
	superuser = "millrace"
	port      = 5432
)

// Bounds of a start and a stop.
const (
	readyWait = 60 * time.Second // crash recovery of a large log takes time
	fastWait  = 20 * time.Second // for "fast" shutdown, which ends with a checkpoint
	quitWait  = 5 * time.Second  // for "immediate" shutdown
)

// Cluster is a running private PostgreSQL.
type Cluster struct {
	dir     string // directory of the cluster
	socket  string // directory of the Unix socket
	opts    Options
	bin     binaries
	user    *child.User
	lock    *child.Lock
	process *child.Process
}

// Start runs the cluster in dir, which it creates if necessary, and returns when the cluster accepts connections. Its
// errors are one line and name the remedy if there is one.
func Start(ctx context.Context, dir string, opts Options) (*Cluster, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL data: %w", err)
	}
	c := &Cluster{dir: dir, opts: opts}
	if err := c.prepare(ctx); err != nil {
		return nil, errors.Join(err, c.release())
	}
	if err := c.launch(ctx); err != nil {
		return nil, errors.Join(err, c.release())
	}
	return c, nil
}

// prepare makes the directory ready for the server.
func (c *Cluster) prepare(ctx context.Context) (err error) {
	if c.user, err = serverUser(); err != nil {
		return err
	}
	if err := c.makeDir(c.dir); err != nil {
		return err
	}
	if c.lock, err = child.Acquire(filepath.Join(c.dir, "lock")); err != nil {
		return fmt.Errorf("PostgreSQL data: %w", err)
	}
	if c.user != nil {
		if err := traversable(c.dir, *c.user); err != nil {
			return err
		}
	}
	if c.bin, err = findBinaries(ctx, c.opts.BinDir, c.data()); err != nil {
		return err
	}
	if err := c.initialize(ctx); err != nil {
		return err
	}
	if err := stopStray(ctx, c.data()); err != nil {
		return err
	}
	if err := endOrphans(ctx, c.data()); err != nil {
		return err
	}
	return c.makeSocketDir()
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// launch starts the server and waits until it answers. On systems where endOrphans does nothing, leftovers of a
// killed server hold its shared memory for a moment, and a new server then fails at once; launch tries again.
func (c *Cluster) launch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	for attempt := 0; ; attempt++ {
		err := c.tryLaunch(ctx)
		var died *diedError
		if err == nil || !errors.As(err, &died) || attempt == 5 || pause.For(ctx, 100*time.Millisecond<<attempt) != nil {
			return err
		}
	}
}

func (c *Cluster) tryLaunch(ctx context.Context) error {
	log, err := c.openLog()
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own copy
	c.process, err = child.Start(child.Command{
		Path: c.bin.path("postgres"), Args: c.arguments(), Env: serverEnvironment(), Dir: c.dir,
		Stdout: log, Stderr: log, User: c.user, Orphan: syscall.SIGINT,
	})
	if err != nil {
		return err
	}
	if err := c.awaitReady(ctx); err != nil {
		return errors.Join(err, c.stopServer(context.WithoutCancel(ctx)))
	}
	return nil
}

func (c *Cluster) arguments() []string {
	connections := c.opts.MaxConnections
	connections = cmp.Or(connections, 300)
	args := []string{"-D", c.data(), "-k", c.socket, "-p", strconv.Itoa(port)}
	for _, setting := range []string{
		"listen_addresses=", "unix_socket_permissions=0700", "max_connections=" + strconv.Itoa(connections),
		"shared_buffers=128MB", "timezone=UTC", "log_timezone=UTC", "log_line_prefix=%m [%p] %q%d ", "logging_collector=off",
		"log_error_verbosity=terse", // without rows of clients in error messages
		"jit=off",                   // statements are short: compiling one costs more than running it
		// initdb would set these bounds of the log by the size of its files, and have a checkpoint every 256 MB.
		"max_wal_size=1GB", "min_wal_size=80MB",
	} {
		args = append(args, "-c", setting)
	}
	if runtime.GOOS == "linux" {
		// After a crash, all files are written to disk before recovery begins. One by one, thousands of files take
		// seconds.
		args = append(args, "-c", "recovery_init_sync_method=syncfs")
	}
	if c.opts.Disposable {
		args = append(args, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "max_wal_size=4GB")
	}
	for _, setting := range c.opts.Settings {
		args = append(args, "-c", setting)
	}
	return args
}

// URL returns the connection string of a database of the cluster for any PostgreSQL client. Access is protected by
// the path and the permissions of the socket, without a password.
func (c *Cluster) URL(database string) string {
	q := url.Values{"host": {c.socket}, "port": {strconv.Itoa(port)}, "sslmode": {"disable"}}
	return (&url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + database, RawQuery: q.Encode()}).String()
}

// Socket returns the directory of the Unix socket, the port in its name and the superuser, for clients without
// connection strings.
func (c *Cluster) Socket() (dir string, number int, user string) { return c.socket, port, superuser }

// BinDir returns the directory of PostgreSQL's programs in use.
func (c *Cluster) BinDir() string { return c.bin.dir }

// PID returns the process id of the server.
func (c *Cluster) PID() int { return c.process.PID() }

// Done is closed when the server has ended, for any reason.
func (c *Cluster) Done() <-chan struct{} { return c.process.Done() }

// Err returns the reason why the server ended, with its last log line. It is valid after Done is closed.
func (c *Cluster) Err() error { return c.died() }

// Stop shuts the server down: running transactions are rolled back, committed data is flushed. A server that does not
// stop within 20 s, or by the end of ctx, is killed; no committed data is lost.
func (c *Cluster) Stop(ctx context.Context) error {
	return errors.Join(c.stopServer(ctx), c.release())
}

func (c *Cluster) stopServer(ctx context.Context) error {
	if c.process == nil {
		return nil
	}
	return c.process.Stop(ctx, child.Step{Signal: syscall.SIGINT, Grace: fastWait}, child.Step{Signal: syscall.SIGQUIT, Grace: quitWait})
}

func (c *Cluster) release() error {
	if c.lock == nil {
		return nil
	}
	err := c.lock.Release()
	c.lock = nil
	return err
}

// serverEnvironment is small and fixed, because settings for another PostgreSQL must not affect this one.
func serverEnvironment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
}
