//go:build unix

package temporal_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/localstack/temporal"
)

// standstill is longer than the default time in which the services of a server must start.
const standstill = 17 * time.Second

// On a busy machine a server may not start within seconds. It then continues to start, and does not begin again.
func TestDelayedStartContinues(t *testing.T) {
	t.Parallel()
	opts := options(t)
	first, ready := launch(t, opts) // creates the databases
	require.True(t, <-ready)
	require.NoError(t, first.Process.Kill())
	require.Error(t, first.Wait())

	held, ready := launch(t, opts)
	for !stoppedWhileItStarts(t, opts, held, ready) {
		require.True(t, <-ready, "the server has ended")
		require.NoError(t, held.Process.Kill())
		require.Error(t, held.Wait())
		held, ready = launch(t, opts)
	}
	<-time.After(standstill)
	require.NoError(t, held.Process.Signal(syscall.SIGCONT))
	require.True(t, <-ready, "the server has ended")
	require.NoError(t, held.Process.Kill())
	require.Error(t, held.Wait())
}

// stoppedWhileItStarts stops a server when it begins to answer. It returns false, and lets the server run, if the server was ready by
// then, as it may be where the test has to wait for its turn.
func stoppedWhileItStarts(t *testing.T, opts temporal.Options, s *exec.Cmd, ready <-chan bool) bool {
	t.Helper()
	for len(ready) == 0 && !serves(t, opts.Address) {
		continue
	}
	require.NoError(t, s.Process.Signal(syscall.SIGSTOP))
	if len(ready) == 0 {
		return true
	}
	require.NoError(t, s.Process.Signal(syscall.SIGCONT))
	return false
}

// serves reports whether a service of the server answers.
func serves(t *testing.T, address string) bool {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	defer conn.Close()
	n, err := conn.Read(make([]byte, 1)) // a gRPC server sends first
	return n == 1 && err == nil
}

// launch starts a server and reports whether it is ready or has ended before.
func launch(t *testing.T, opts temporal.Options) (*exec.Cmd, <-chan bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), opts.Binary,
		"-postgres-host", opts.Postgres.Host, "-postgres-port", strconv.Itoa(opts.Postgres.Port),
		"-postgres-user", opts.Postgres.User, "-database", opts.Database, "-frontend-addr", opts.Address, "-namespace", opts.Namespace)
	cmd.Env = append(os.Environ(), "PGPASSWORD="+opts.Postgres.Password)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ready := make(chan bool, 1)
	go func() {
		line, err := bufio.NewReader(out).ReadString('\n')
		ready <- err == nil && strings.HasPrefix(line, "ready ")
	}()
	return cmd, ready
}
