package served

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/internal/cli"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
	"github.com/millrace-dev/millrace/internal/localstack/temporal"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
)

// Options configure the start of a service.
type Options struct {
	Name     string                             // of its directory
	Args     []string                           // of `millrace dev`, further ones
	Prepare  func(dir string) ([]string, error) // makes files beside the data, and arguments that name them; nil = none
	Lookup   func(string) (string, bool)        // the environment; nil = that of this process
	Out      io.Writer                          // output of the program; nil = discarded
	Log      io.Writer                          // nil = the standard error of this process
	Patience time.Duration                      // maximum duration of the start
}

// Service is `millrace dev` in this process: a private PostgreSQL, a real Temporal server and all roles.
type Service struct {
	Base string // http://…
	Data string // its data directory

	lookup func(string) (string, bool)
	stop   func()
}

// UseTemporal names the program of the Temporal server in the environment; it is the same for every test.
func UseTemporal(t testing.TB) {
	t.Helper()
	require.NoError(t, os.Setenv(temporal.BinaryEnv, temporaltest.Binary(t)))
}

// Start starts a service that ends with the test.
func Start(t testing.TB, o Options) *Service {
	t.Helper()
	UseTemporal(t)
	s, err := Dev(o)
	t.Cleanup(s.Stop)
	require.NoError(t, err)
	return s
}

// Dev starts a service, of which Stop must be called even after an error, and waits until it is ready.
func Dev(o Options) (*Service, error) {
	s := &Service{lookup: o.Lookup, stop: func() {}}
	if s.lookup == nil {
		s.lookup = os.LookupEnv
	}
	dir, err := scratch.New(o.Name)
	if err != nil {
		return s, err
	}
	remove := func() { dir.Remove() } //nolint:errcheck // the next run removes the rest
	s.stop = remove
	addr, err := ports.Address()
	s.Base, s.Data = "http://"+addr, filepath.Join(dir.Path, "data")
	args := append([]string{"dev", "--data", s.Data, "--addr", addr}, o.Args...)
	if err = errors.Join(err, ports.ForServers(s.Data)); err == nil && o.Prepare != nil {
		var more []string
		more, err = o.Prepare(dir.Path)
		args = append(args, more...)
	}
	if err != nil {
		return s, err
	}
	return s, s.run(o, args, remove)
}

// run runs the program until the service is stopped and waits until it is ready. When the service has ended, remove removes its files.
func (s *Service) run(o Options, args []string, remove func()) error {
	out, log := io.Discard, io.Writer(os.Stderr)
	if o.Out != nil {
		out = o.Out
	}
	if o.Log != nil {
		log = o.Log
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		defer close(ended)
		cmd := cli.Command(out, log, s.lookup)
		cmd.SetArgs(args)
		ended <- cmd.ExecuteContext(ctx)
	}()
	s.stop = func() {
		cancel()
		for range ended { // to its end
		}
		remove()
	}
	return AwaitReady(s.Base, o.Patience, ended)
}

// Stop ends the service and removes its directory.
func (s *Service) Stop() { s.stop() }

// Command runs a command of the program on the data of the service and returns what it writes.
func (s *Service) Command(ctx context.Context, args ...string) (string, error) {
	return Command(ctx, s.lookup, append(args, "--data", s.Data)...)
}

// Run runs a command that must succeed and returns its last line.
func (s *Service) Run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := s.Command(t.Context(), args...)
	require.NoError(t, err, out)
	return LastLine(out)
}
