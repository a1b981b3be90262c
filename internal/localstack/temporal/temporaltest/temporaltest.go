//go:build unix

// Package temporaltest gives tests a real Temporal server. A test process has one server, which uses the PostgreSQL
// of pgtest, starts when it is first needed and ends with the process. Each test gets a new namespace.
// MILLRACE_TEST_TEMPORAL_ADDRESS replaces the server.
package temporaltest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
	"github.com/millrace-dev/millrace/internal/localstack/temporal"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// Env names a frontend, HOST:PORT, to use instead of a private server.
const Env = "MILLRACE_TEST_TEMPORAL_ADDRESS"

// startWait bounds the start, except for the first start on a machine, which builds the program.
const startWait = 6 * time.Minute

// shared is the server of this process.
var shared struct {
	once    sync.Once
	address string
	err     error
}

// Server returns the address of the process's server.
func Server(t testing.TB) (address string) {
	t.Helper()
	if address := os.Getenv(Env); address != "" {
		return address
	}
	binary := Binary(t)
	host, port, user, password := pgtest.Address(t)
	shared.once.Do(func() {
		shared.address, shared.err = start(binary, temporal.Postgres{Host: host, Port: port, User: user, Password: password})
	})
	if shared.err != nil {
		t.Fatalf("Temporal for tests: %v", shared.err)
	}
	return shared.address
}

func start(binary string, postgres temporal.Postgres) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startWait)
	defer cancel()
	address, err := ports.Address()
	if err != nil {
		return "", err
	}
	dir, err := logDir()
	if err != nil {
		return "", err
	}
	for attempt := 1; ; attempt++ {
		_, err = temporal.Start(ctx, temporal.Options{
			Binary: binary, Postgres: postgres, Database: "temporal_" + strings.ToLower(rand.Text()[:8]),
			Address: address, Namespace: "default", LogFile: filepath.Join(dir, fmt.Sprintf("temporal-%d.log", os.Getpid()%64)),
		})
		var ended *exec.ExitError // another process may have taken a port before the server listened on it
		if attempt == 3 || !errors.As(err, &ended) {
			return address, err
		}
	}
}

// logDir returns a directory for the logs. The logs of 64 slots are kept, so that their number is bounded without
// removal.
func logDir() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("millrace-temporaltest-%d", os.Geteuid()))
	return dir, os.MkdirAll(dir, 0o700)
}

// Namespace registers a fresh namespace and returns once workflows can be started in it.
func Namespace(t testing.TB) (address, namespace string) {
	t.Helper()
	address, namespace = Server(t), "test-"+strings.ToLower(rand.Text()[:12])
	ctx, cancel := context.WithTimeout(t.Context(), startWait)
	defer cancel()
	if err := register(ctx, address, namespace); err != nil {
		t.Fatalf("namespace for the test: %v", err)
	}
	return address, namespace
}

func register(ctx context.Context, address, namespace string) error {
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Namespace: namespace})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	if err != nil {
		return err
	}
	return awaitUsable(ctx, c, namespace)
}

// awaitUsable describes a workflow that never exists until the answer concerns the workflow: the services notice new
// namespaces with a delay.
func awaitUsable(ctx context.Context, c client.Client, namespace string) error {
	for {
		_, err := c.WorkflowService().DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
			Namespace: namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: "none"},
		})
		var absent *serviceerror.NotFound
		if errors.As(err, &absent) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not become usable: %w", namespace, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Binary returns the path of the server's program: that in MILLRACE_TEMPORAL_BIN, or bin/millrace-temporal at the
// root of the module, which is built if it is missing.
func Binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(temporal.BinaryEnv); path != "" {
		return path
	}
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "bin", temporal.Name)
	if err := build(root, path); err != nil {
		t.Fatalf("build %s: %v", temporal.Name, err)
	}
	return path
}

// build runs make unless the program exists. Other test processes wait for the first one.
func build(root, path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(root, "bin", ".build.lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close() // closing releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	cmd := exec.Command("make", "-C", root, "bin/"+temporal.Name) //nolint:gosec // the program and its arguments are chosen by this process
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd() // tests run in their package's directory
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "localtemporal", "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("the test does not run inside the module")
		}
	}
}
