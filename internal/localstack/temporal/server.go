//go:build unix

// Package temporal runs the Temporal server of local mode, millrace-temporal, as a child of this process, with
// databases in a given PostgreSQL and on given loopback addresses. It does not restart the child.
package temporal

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/millrace-dev/millrace/internal/child"
)

// Name is the name of the program.
const Name = "millrace-temporal"

// BinaryEnv is the environment variable with the path of the program, if it is not next to the running one.
const BinaryEnv = "MILLRACE_TEMPORAL_BIN"

// Options describe a server.
type Options struct {
	Binary    string // path of the program
	Postgres  Postgres
	Database  string // "" = temporal; NAME_visibility is used beside it
	Address   string // HOST:PORT of the gRPC frontend
	UIAddress string // HOST:PORT or unix:PATH of the Web UI; "" = none
	UIWrites  bool   // the Web UI may change workflows
	Namespace string // created if missing
	Profiles  int    // loopback port of the profiles of Go's runtime, 0 = none
	LogFile   string // JSON lines; below 20 MB, with two earlier files next to it
}

// Postgres describes the PostgreSQL with the databases.
type Postgres struct {
	Host     string // or the directory of a Unix socket
	Port     int
	User     string
	Password string
}

// readyWait bounds the start. The first start applies the whole schema, perhaps on a busy machine. A server that
// cannot start ends by itself with the reason; killing a slow server would only lose its progress.
const readyWait = 5 * time.Minute

// stopWait is for the server's own shutdown, which drains its services.
const stopWait = 15 * time.Second

// Server is a running Temporal server.
type Server struct {
	process   *child.Process
	log       string
	logOffset int64 // offset of this run's lines in the log
}

// Start returns when the server answers and its namespace can be used.
func Start(ctx context.Context, opts Options) (*Server, error) {
	log, err := openOutput(opts.LogFile)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own copy
	begin, err := size(opts.LogFile)
	if err != nil {
		return nil, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	process, err := child.Start(child.Command{
		Path: opts.Binary, Args: opts.arguments(), Env: opts.environment(),
		Stdout: in, Stderr: log, Orphan: syscall.SIGKILL, Tether: true, // its state is in PostgreSQL, so an orphan can be killed
	})
	if err := errors.Join(err, in.Close()); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	s := &Server{process: process, log: opts.LogFile, logOffset: begin}
	if err := s.awaitReady(ctx, out); err != nil {
		return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (o Options) arguments() []string {
	database := o.Database
	database = cmp.Or(database, "temporal")
	args := []string{
		"-postgres-host", o.Postgres.Host, "-postgres-port", strconv.Itoa(o.Postgres.Port), "-postgres-user", o.Postgres.User,
		"-database", database, "-frontend-addr", o.Address, "-ui-addr", o.UIAddress, "-namespace", o.Namespace,
		"-log-file", o.LogFile, "-exit-with-stdin",
	}
	if o.Profiles != 0 {
		args = append(args, "-profile-port", strconv.Itoa(o.Profiles))
	}
	if o.UIWrites {
		args = append(args, "-ui-writes")
	}
	return args
}

// environment returns the variables that concern any program, and the settings of Go's garbage collector.
func (o Options) environment() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(), "PGPASSWORD=" + o.Postgres.Password}
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// awaitReady waits for the line "ready …" on the child's output, which it reads to its end.
func (s *Server) awaitReady(ctx context.Context, out *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	ready := make(chan struct{})
	go func() {
		defer out.Close() // read only
		lines := bufio.NewReader(out)
		for line, err := lines.ReadString('\n'); err == nil; line, err = lines.ReadString('\n') {
			if strings.HasPrefix(line, "ready ") {
				close(ready)
				break
			}
		}
		io.Copy(io.Discard, lines) //nolint:errcheck // ends with the child
	}()
	select {
	case <-ready:
		return nil
	case <-s.process.Done():
		return s.Err()
	case <-ctx.Done():
		return fmt.Errorf("the Temporal server does not become ready (log: %s): %w", s.log, context.Cause(ctx))
	}
}

// PID returns the process id of the server.
func (s *Server) PID() int { return s.process.PID() }

// Done is closed when the server has ended, for whatever reason.
func (s *Server) Done() <-chan struct{} { return s.process.Done() }

// Err describes how the server ended. It is valid once Done is closed.
func (s *Server) Err() error {
	err := s.process.Err()
	if err == nil {
		err = errors.New("exit status 0")
	}
	if why := exitReason(s.log, s.logOffset); why != "" {
		return fmt.Errorf("the Temporal server ended with %w: %s (log: %s)", err, why, s.log)
	}
	return fmt.Errorf("the Temporal server ended with %w; its log is %s", err, s.log)
}

// Stop shuts the server down. A server that does not exit within 15 s, or before ctx ends, is killed. That
// loses nothing, because its state is in PostgreSQL.
func (s *Server) Stop(ctx context.Context) error {
	return s.process.Stop(ctx, child.Step{Signal: syscall.SIGTERM, Grace: stopWait})
}

// FindBinary returns the path of the program: the one in BinaryEnv, or the one next to the running program.
func FindBinary() (string, error) {
	if path := os.Getenv(BinaryEnv); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s: %w", BinaryEnv, err)
		}
		return path, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", Name, err)
	}
	if resolved, err := filepath.EvalSymlinks(self); err == nil {
		self = resolved
	}
	path := filepath.Join(filepath.Dir(self), Name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s is not in %s: run `make build`, or set %s or TEMPORAL_ADDRESS", Name, filepath.Dir(self), BinaryEnv)
	}
	return path, nil
}

// FreeAddress returns a free loopback address: preferred if that is free; "" = any.
func FreeAddress(preferred string) (string, error) {
	if preferred != "" && Free(preferred) {
		return preferred, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}

// Free reports whether a server could listen on the address now.
func Free(address string) bool {
	l, err := net.Listen("tcp", address)
	return err == nil && l.Close() == nil
}
