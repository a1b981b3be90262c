//go:build unix

// Package localstack runs the private servers of local mode, PostgreSQL and Temporal,
// as children of this process, with all their data in one data directory. A server
// that exits is restarted at the same address. No server outlives this process.
// External servers are not managed.
package localstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/millrace-dev/millrace/internal/child"
	"github.com/millrace-dev/millrace/internal/localstack/temporal"
	"github.com/millrace-dev/millrace/internal/postgres/localcluster"
)

// Options configure a stack.
type Options struct {
	// DataDir is the data directory; it is created if missing.
	DataDir string
	// DatabaseURL is a PostgreSQL to use instead of a private one.
	DatabaseURL string
	// TemporalAddress is a Temporal frontend to use instead of a private one.
	TemporalAddress string
	// Namespace of the private Temporal; "" = default.
	Namespace string
	// TemporalBinary is the path of millrace-temporal; "" = found by temporal.FindBinary.
	TemporalBinary string
	// PostgresBin is the directory of PostgreSQL's programs; "" = found by localcluster.
	PostgresBin string
	// UIAddress is the preferred address of Temporal's Web UI, used if it is free; "" = 127.0.0.1:8233.
	UIAddress string
	// NoUI disables the Web UI.
	NoUI bool
	// UIPassword is the password of the Web UI, for any user name; "" = no password.
	UIPassword string
	// UIWrites lets the Web UI change workflows; otherwise it only shows them.
	UIWrites bool
	// TemporalProfiles is the loopback port of the profiles of Go's runtime in the private Temporal; 0 = none.
	TemporalProfiles int
	// Log receives state changes; nil = slog.Default().
	Log *slog.Logger
}

// Stack is a set of running servers.
type Stack struct {
	DataDir         string // data directory of the private servers, absolute
	DatabaseURL     string // URL of Millrace's own database
	TemporalAddress string // HOST:PORT
	UIURL           string // of Temporal's Web UI, "" = none

	opts   Options
	lock   *child.Lock
	state  state
	failed chan error
	ui     *ui                // nil without a UI
	cancel context.CancelFunc // ends supervision
	group  sync.WaitGroup     // goroutines of supervision

	mutex    sync.Mutex // guards the two fields below, which a restart replaces
	cluster  *localcluster.Cluster
	temporal *temporal.Server
}

// Names in the data directory and in PostgreSQL.
const (
	database  = "millrace"
	clusterIn = "postgres"
	logsIn    = "logs"
)

// Start returns when all servers answer. Its errors are one line and name the remedy if there is one. Canceling
// ctx stops the start, not a started stack; Close stops that.
func Start(ctx context.Context, opts Options) (*Stack, error) {
	opts.Namespace = cmp.Or(opts.Namespace, "default")
	opts.Log = cmp.Or(opts.Log, slog.Default())
	s := &Stack{
		DatabaseURL: opts.DatabaseURL, TemporalAddress: opts.TemporalAddress,
		opts: opts, failed: make(chan error, 1), cancel: func() {},
	}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context) (err error) {
	if s.opts.DatabaseURL != "" && s.opts.TemporalAddress != "" {
		return nil
	}
	if s.opts.DataDir, err = filepath.Abs(s.opts.DataDir); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	s.DataDir = s.opts.DataDir
	if s.opts.TemporalAddress == "" && s.opts.TemporalBinary == "" { // fail before a server is started
		if s.opts.TemporalBinary, err = temporal.FindBinary(); err != nil {
			return err
		}
	}
	if s.lock, err = openDataDir(s.opts.DataDir); err != nil {
		return err
	}
	if s.state, err = loadState(s.opts.DataDir); err != nil {
		return err
	}
	if err := s.startPostgres(ctx); err != nil {
		return err
	}
	if err := s.startTemporal(ctx); err != nil {
		return err
	}
	s.supervise(context.WithoutCancel(ctx))
	return nil
}

// startPostgres starts the private PostgreSQL, which also stores the private Temporal's databases.
func (s *Stack) startPostgres(ctx context.Context) error {
	if err := s.launchPostgres(ctx); err != nil {
		return err
	}
	if s.opts.DatabaseURL != "" {
		return nil
	}
	s.DatabaseURL = s.cluster.URL(database)
	return s.cluster.CreateDatabase(ctx, database)
}

// launchPostgres starts PostgreSQL. It searches for the programs only the first time.
func (s *Stack) launchPostgres(ctx context.Context) error {
	if c := s.postgres(); c != nil {
		s.opts.PostgresBin = c.BinDir()
	}
	cluster, err := localcluster.Start(ctx, filepath.Join(s.opts.DataDir, clusterIn), localcluster.Options{
		BinDir: s.opts.PostgresBin, LogFile: s.logFile("postgres"),
	})
	if err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.cluster = cluster
	return nil
}

// startTemporal chooses the addresses, preferably those of the last run, and starts the private Temporal. If Temporal
// exits at once, it is restarted with other addresses, because another process may have taken one of its ports.
func (s *Stack) startTemporal(ctx context.Context) error {
	if s.opts.TemporalAddress != "" {
		return nil
	}
	for attempt := 1; ; attempt++ {
		if err := s.state.chooseAddresses(s.opts.UIAddress); err != nil {
			return err
		}
		if err := s.state.save(s.opts.DataDir); err != nil {
			return err
		}
		if err := s.openUI(); err != nil {
			return err
		}
		s.TemporalAddress = s.state.Temporal
		err := s.launchTemporal(ctx)
		var ended *exec.ExitError
		if attempt == 3 || !errors.As(err, &ended) {
			return err
		}
	}
}

// openUI begins to serve the Web UI, once, at the first chosen address.
func (s *Stack) openUI() (err error) {
	if s.opts.NoUI || s.ui != nil {
		return nil
	}
	s.ui, err = openUI(s.state.UI, s.opts)
	s.UIURL = "http://" + s.state.UI
	return err
}

func (s *Stack) launchTemporal(ctx context.Context) error {
	host, port, user := s.postgres().Socket()
	server, err := temporal.Start(ctx, temporal.Options{
		Binary: s.opts.TemporalBinary, Postgres: temporal.Postgres{Host: host, Port: port, User: user},
		Address: s.state.Temporal, UIAddress: s.ui.address(), UIWrites: s.opts.UIWrites, Namespace: s.opts.Namespace,
		LogFile:  s.logFile("temporal"),
		Profiles: s.opts.TemporalProfiles,
	})
	if err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.temporal = server
	return nil
}

func (s *Stack) logFile(name string) string {
	return filepath.Join(s.opts.DataDir, logsIn, name+".log")
}

// Failed delivers an error when a server cannot be kept running. The other servers continue until Close.
func (s *Stack) Failed() <-chan error { return s.failed }

func (s *Stack) postgres() *localcluster.Cluster {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.cluster
}

// PIDs returns the process ids of the running children; 0 = not running.
func (s *Stack) PIDs() (postgres, temporal int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.cluster != nil {
		postgres = s.cluster.PID()
	}
	if s.temporal != nil {
		temporal = s.temporal.PID()
	}
	return postgres, temporal
}

// Close stops the servers in order and unlocks the data directory. When ctx ends, it kills them, without loss of
// data.
func (s *Stack) Close(ctx context.Context) error {
	s.cancel()
	s.group.Wait()
	errs := []error{s.ui.close()}
	if s.temporal != nil {
		errs = append(errs, s.temporal.Stop(ctx))
	}
	if s.cluster != nil {
		errs = append(errs, s.cluster.Stop(ctx))
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Release())
		s.lock = nil
	}
	return errors.Join(errs...)
}

// openDataDir creates and locks the directory, and checks that this program supports its version.
func openDataDir(dir string) (*child.Lock, error) {
	mode := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711 // root's PostgreSQL runs as another user, who must be able to enter
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	lock, err := child.Acquire(filepath.Join(dir, "lock"))
	var inUse *child.LockedError
	if errors.As(err, &inUse) {
		return nil, fmt.Errorf("%s is in use by another Millrace (process %d): stop it, or choose another data directory", dir, inUse.PID)
	}
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := errors.Join(checkVersion(dir), os.MkdirAll(filepath.Join(dir, logsIn), 0o700)); err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	return lock, nil
}
