//go:build unix

package localstack_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/internal/localstack"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
)

// parentDir makes the re-executed test binary run a stack in this directory.
const parentDir = "MILLRACE_TEST_STACK_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentDir); dir != "" {
		runStack(dir)
	}
	os.Exit(m.Run())
}

// runStack starts a stack, reports that it runs, and waits to be killed.
func runStack(dir string) {
	s, err := localstack.Start(context.Background(), localstack.Options{DataDir: dir, TemporalBinary: os.Getenv("MILLRACE_TEMPORAL_BIN")})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	postgres, temporal := s.PIDs()
	fmt.Println("ready", postgres, temporal, s.TemporalAddress)
	select {}
}

func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := scratch.New("mr-stack")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dir.Remove()) })
	return filepath.Join(dir.Path, "data")
}

// options returns the options of a stack in dir with addresses of its own, because tests run concurrently, perhaps
// next to another Temporal.
func options(t *testing.T, dir string) localstack.Options {
	t.Helper()
	frontend, err := ports.Address()
	require.NoError(t, err)
	ui, err := ports.Address()
	require.NoError(t, err)
	writeState(t, dir, frontend, ui)
	return localstack.Options{
		DataDir: dir, TemporalBinary: temporaltest.Binary(t), Namespace: "jobs",
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

func start(t *testing.T, opts localstack.Options) *localstack.Stack {
	t.Helper()
	begin := time.Now()
	s, err := localstack.Start(t.Context(), opts)
	require.NoError(t, err)
	t.Logf("both servers started in %s", time.Since(begin).Round(time.Millisecond))
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return s
}

// usable fails the test unless both servers work.
func usable(t *testing.T, s *localstack.Stack) {
	t.Helper()
	require.NoError(t, pingPostgres(t.Context(), s.DatabaseURL))
	require.NoError(t, describe(t.Context(), s.TemporalAddress))
}

// describe asks Temporal for the namespace of the tests.
func describe(ctx context.Context, address string) error {
	_, err := namespace(ctx, address)
	return err
}

// namespace returns the id of the namespace of the tests. A Temporal with new databases would create the namespace
// with another id.
func namespace(ctx context.Context, address string) (string, error) {
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Namespace: "jobs", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return "", err
	}
	defer c.Close()
	d, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: "jobs"})
	return d.GetNamespaceInfo().GetId(), err
}

func namespaceID(t *testing.T, address string) string {
	t.Helper()
	id, err := namespace(t.Context(), address)
	require.NoError(t, err)
	require.NotEmpty(t, id)
	return id
}

// served returns nil once an address serves a page.
func served(url string) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

// patience bounds every wait, far above the usual time.
const patience = 5 * time.Minute

// eventually repeats the attempt, with growing pauses, until it succeeds.
func eventually(t *testing.T, attempt func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		err := attempt(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not within %s: %v", patience, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestStartStopAndWarmStart(t *testing.T) {
	t.Parallel()
	opts := options(t, tempDir(t))
	s := start(t, opts)
	usable(t, s)
	eventually(t, func(context.Context) error { return served(s.UIURL) }) // the start does not wait for the UI
	before := namespaceID(t, s.TemporalAddress)
	begin := time.Now()
	require.NoError(t, s.Close(t.Context()))
	t.Logf("both stopped in %s", time.Since(begin).Round(time.Millisecond))

	again := start(t, opts)
	require.Equal(t, before, namespaceID(t, again.TemporalAddress), "a warm start must not be a first start")
	require.Equal(t, s.DatabaseURL, again.DatabaseURL)
	require.Equal(t, s.TemporalAddress, again.TemporalAddress)
	require.Equal(t, s.UIURL, again.UIURL)
	usable(t, again)
}

// A page of another site may make its own host name resolve to this machine. Its requests then have that name as
// their Host.
func TestTheWebUIAnswersThisMachineOnly(t *testing.T) {
	t.Parallel()
	opts := options(t, tempDir(t))
	opts.UIPassword = "a-password"
	s := start(t, opts)
	ask := func(host, password, method string) (status int) {
		r, err := http.NewRequestWithContext(t.Context(), method, s.UIURL+"/api/v1/namespaces", http.NoBody)
		require.NoError(t, err)
		if r.Host = host; password != "" {
			r.SetBasicAuth("operator", password)
		}
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
	host := strings.TrimPrefix(s.UIURL, "http://")
	eventually(t, func(context.Context) error {
		if status := ask(host, "a-password", "GET"); status != http.StatusOK {
			return fmt.Errorf("status %d", status)
		}
		return nil
	})
	require.Equal(t, http.StatusMisdirectedRequest, ask("rebound.example", "a-password", "GET"))
	require.Equal(t, http.StatusUnauthorized, ask(host, "", "GET"))
	require.Equal(t, http.StatusMethodNotAllowed, ask(host, "a-password", "POST"), "it is read-only")
}

func TestKilledServersComeBackAtTheSameAddress(t *testing.T) {
	t.Parallel()
	s := start(t, options(t, tempDir(t)))
	postgres, temporal := s.PIDs()

	begin := time.Now()
	require.NoError(t, syscall.Kill(temporal, syscall.SIGKILL))
	eventually(t, func(context.Context) error { return replaced(s, postgres, temporal) })
	eventually(t, func(ctx context.Context) error { return describe(ctx, s.TemporalAddress) })
	t.Logf("Temporal was back after %s", time.Since(begin).Round(time.Millisecond))

	postgres, _ = s.PIDs()
	begin = time.Now()
	require.NoError(t, syscall.Kill(postgres, syscall.SIGKILL))
	eventually(t, func(context.Context) error { return replaced(s, postgres, 0) })
	eventually(t, func(ctx context.Context) error { return pingPostgres(ctx, s.DatabaseURL) })
	t.Logf("PostgreSQL was back after %s", time.Since(begin).Round(time.Millisecond))
	eventually(t, func(ctx context.Context) error { return describe(ctx, s.TemporalAddress) })
	t.Logf("Temporal worked on it after %s", time.Since(begin).Round(time.Millisecond))
}

func TestTemporalWaitsForPostgres(t *testing.T) {
	t.Parallel()
	opts := options(t, tempDir(t))
	programs := filepath.Join(filepath.Dir(opts.DataDir), "bin")
	bin := postgresBin(t)
	require.NoError(t, os.Symlink(bin, programs))
	opts.PostgresBin = programs
	attempts := make(chan string, 64)
	opts.Log = slog.New(attemptHandler{opts.Log.Handler(), attempts})
	s := start(t, opts)
	postgres, temporal := s.PIDs()

	require.NoError(t, os.Remove(programs))
	require.NoError(t, syscall.Kill(temporal, syscall.SIGKILL))
	require.NoError(t, syscall.Kill(postgres, syscall.SIGKILL))
	for ofTemporal, ofPostgres := 0, 0; ofPostgres < 4; {
		switch name := <-attempts; name {
		case "Temporal":
			ofTemporal++ // the second if its end was noticed before that of PostgreSQL
			require.LessOrEqual(t, ofTemporal, 2, "it must not be tried without its database")
		default:
			ofPostgres++
		}
	}
	require.NoError(t, os.Symlink(bin, programs))
	eventually(t, func(ctx context.Context) error { return pingPostgres(ctx, s.DatabaseURL) })
	eventually(t, func(ctx context.Context) error { return describe(ctx, s.TemporalAddress) })
}

// attemptHandler records which servers are restarted.
type attemptHandler struct {
	slog.Handler
	attempts chan<- string
}

func (h attemptHandler) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "server" && r.Level == slog.LevelWarn {
			h.attempts <- a.Value.String()
		}
		return true
	})
	return h.Handler.Handle(ctx, r)
}

func TestServerThatCannotBeStartedAgainIsReported(t *testing.T) {
	t.Parallel()
	opts := options(t, tempDir(t))
	link := filepath.Join(t.TempDir(), "temporal")
	require.NoError(t, os.Symlink(opts.TemporalBinary, link))
	opts.TemporalBinary = link
	s := start(t, opts)
	_, temporal := s.PIDs()
	require.NoError(t, os.Remove(link))
	require.NoError(t, syscall.Kill(temporal, syscall.SIGKILL))
	select {
	case err := <-s.Failed():
		require.ErrorContains(t, err, "Temporal does not keep running")
		require.ErrorIs(t, err, os.ErrNotExist)
	case <-time.After(patience):
		t.Fatal("nothing was reported")
	}
	require.NoError(t, pingPostgres(t.Context(), s.DatabaseURL), "the other server goes on")
}

// replaced returns nil once one of the two processes has been replaced.
func replaced(s *localstack.Stack, postgres, temporal int) error {
	p, q := s.PIDs()
	if p == postgres && (temporal == 0 || q == temporal) {
		return fmt.Errorf("still processes %d and %d", p, q)
	}
	return nil
}

func TestNothingOutlivesAKilledParent(t *testing.T) {
	t.Parallel()
	opts := options(t, tempDir(t))
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentDir+"="+opts.DataDir, "MILLRACE_TEMPORAL_BIN="+opts.TemporalBinary)
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	var postgres, temporal int
	var address string
	_, err = fmt.Sscanf(line, "ready %d %d %s", &postgres, &temporal, &address)
	require.NoError(t, err, line)

	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())
	s := start(t, opts) // immediately after the kill
	require.Equal(t, address, s.TemporalAddress)
	usable(t, s)
	require.False(t, running(t, postgres), "PostgreSQL outlived its parent")
	require.False(t, running(t, temporal), "Temporal outlived its parent")
}

// running reports whether the process exists and is not a zombie.
func running(t *testing.T, pid int) bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ps", "-o", "stat=", "-p", fmt.Sprint(pid)).Output()
	return err == nil && !strings.HasPrefix(string(out), "Z")
}

func TestSecondInstanceIsRefusedWithTheFirstOnesPID(t *testing.T) {
	t.Parallel()
	opts := options(t, tempDir(t))
	opts.TemporalAddress = "127.0.0.1:1" // not dialled: a stack of PostgreSQL alone starts faster
	start(t, opts)
	_, err := localstack.Start(t.Context(), opts)
	require.ErrorContains(t, err, fmt.Sprintf("in use by another Millrace (process %d)", os.Getpid()))
}

func TestGivenServersNeedNoDataDir(t *testing.T) {
	t.Parallel()
	s := start(t, localstack.Options{DatabaseURL: "postgres://elsewhere/db", TemporalAddress: "elsewhere:7233"})
	require.Equal(t, "postgres://elsewhere/db", s.DatabaseURL)
	require.Equal(t, "elsewhere:7233", s.TemporalAddress)
	require.Empty(t, s.UIURL)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(t *testing.T, o *localstack.Options)
		want   string
	}{
		"data of a newer program": {
			func(t *testing.T, o *localstack.Options) { writeVersion(t, o.DataDir, "2") },
			"written by a newer Millrace (data version 2; this one supports 1)",
		},
		"a damaged version": {
			func(t *testing.T, o *localstack.Options) { writeVersion(t, o.DataDir, "two") }, "is damaged",
		},
		"no PostgreSQL": {
			func(_ *testing.T, o *localstack.Options) { o.PostgresBin = "/nonexistent" }, "no PostgreSQL in /nonexistent",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := localstack.Options{DataDir: tempDir(t), TemporalBinary: "/bin/false", Log: slog.New(slog.DiscardHandler)}
			c.change(t, &opts)
			_, err := localstack.Start(t.Context(), opts)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\n", "one line")
		})
	}
}

func TestMissingTemporalIsRefusedWithTheRemedy(t *testing.T) {
	t.Setenv("MILLRACE_TEMPORAL_BIN", "") // no program is next to a test binary
	dir := tempDir(t)
	_, err := localstack.Start(t.Context(), localstack.Options{DataDir: dir})
	require.ErrorContains(t, err, "run `make build`")
	require.NotContains(t, err.Error(), "\n", "one line")
	require.NoDirExists(t, dir, "nothing is begun for nothing")
}

func TestServerThatEndsAtOnceFailsTheStart(t *testing.T) {
	t.Parallel()
	_, err := localstack.Start(t.Context(), localstack.Options{DataDir: tempDir(t), TemporalBinary: "/bin/false"})
	require.ErrorContains(t, err, "the Temporal server ended with exit status 1")
}

func writeState(t *testing.T, dir, frontend, ui string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o711))
	state := fmt.Sprintf(`{"temporal":%q,"ui":%q}`, frontend, ui)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "state.json"), []byte(state), 0o600))
}

func TestBusyPortsAreReplaced(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, taken.Close()) })
	address := taken.Addr().String()
	opts := options(t, tempDir(t))
	writeState(t, opts.DataDir, address, address)
	s := start(t, opts)
	require.NotEqual(t, address, s.TemporalAddress)
	require.NotEqual(t, "http://"+address, s.UIURL)
	usable(t, s)
}

func writeVersion(t *testing.T, dir, version string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o711))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "VERSION"), []byte(version+"\n"), 0o600))
}
