// Package durability_test kills processes of a running service, one kind after the other, and checks that nothing
// accepted is lost or done twice.
package durability_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/localstack"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
)

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := scratch.New("millrace-durability")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer dir.Remove() // the next run removes it
	binary = filepath.Join(dir.Path, "millrace")
	build := exec.Command("go", "build", "-o", binary, "./cmd/millrace")
	build.Dir, build.Stderr = root(), os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the program under test:", err)
		return 1
	}
	return m.Run()
}

func root() string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return dir
}

// dataDir returns a directory that the database's own user can enter.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := scratch.NewIn("/var/tmp", "millrace-durability")
	require.NoError(t, err)
	t.Cleanup(func() { dir.Remove() }) // the next run removes it
	require.NoError(t, ports.ForServers(dir.Path))
	return dir.Path
}

// process is one running millrace that can be killed and restarted.
type process struct {
	t    *testing.T
	args []string
	env  []string
	log  string
	cmd  *exec.Cmd
	done chan struct{}
}

func (p *process) start() {
	p.t.Helper()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(p.t, err)
	defer log.Close()
	p.cmd = exec.Command(binary, p.args...)
	p.cmd.Env = append(append(os.Environ(), "MILLRACE_LOG=warn", "MILLRACE_TEMPORAL_BIN="+filepath.Join(root(), "bin/millrace-temporal")),
		p.env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = dieWithTest()
	require.NoError(p.t, p.cmd.Start())
	done := make(chan struct{})
	p.done = done
	go func(cmd *exec.Cmd) {
		defer close(done)
		cmd.Wait() // the process was killed on purpose
	}(p.cmd)
}

// kill kills the process, and returns when it has ended.
func (p *process) kill() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Kill())
	<-p.done
}

// stop ends the process cleanly, at the end of the test.
func (p *process) stop() {
	if p.cmd == nil {
		return
	}
	p.cmd.Process.Signal(syscall.SIGCONT) // it may be gone
	p.cmd.Process.Signal(os.Interrupt)    // as above
	select {
	case <-p.done:
	case <-time.After(20 * time.Second):
		p.cmd.Process.Kill() // as above
		<-p.done
	}
	if p.t.Failed() {
		raw, _ := os.ReadFile(p.log)
		p.t.Logf("%s:\n%s", strings.Join(p.args, " "), tail(raw))
	}
}

func tail(raw []byte) []byte { return raw[max(0, len(raw)-4000):] }

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := ports.Address()
	require.NoError(t, err)
	return address
}

// cluster is a PostgreSQL and a Temporal that are restarted when killed, and separate processes for the roles of the
// service.
type cluster struct {
	*service
	stack     *localstack.Stack
	dir       string
	addr      string
	api       *process
	workers   []*process
	projector *process
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	dir := dataDir(t)
	c := serveOn(t, startStack(t, dir), dir)
	c.startRoles()
	return c
}

// startStack starts a private PostgreSQL and Temporal on dir.
func startStack(t *testing.T, dir string) *localstack.Stack {
	t.Helper()
	stack, err := localstack.Start(t.Context(), localstack.Options{
		DataDir: dir, TemporalBinary: filepath.Join(root(), "bin/millrace-temporal"),
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	require.NoError(t, err)
	t.Cleanup(func() { stack.Close(context.Background()) })
	return stack
}

// serveOn describes the service on a stack. It starts nothing.
func serveOn(t *testing.T, stack *localstack.Stack, dir string) *cluster {
	t.Helper()
	c := &cluster{stack: stack, dir: dir, addr: freeAddress(t)}
	env := []string{
		"DATABASE_URL=" + stack.DatabaseURL, "TEMPORAL_ADDRESS=" + stack.TemporalAddress,
		"MILLRACE_DATA=" + filepath.Join(dir, "service"), "MILLRACE_SLOTS=6", "MILLRACE_NO_WORKFLOW_CACHE=true",
		"MILLRACE_PRICE_RUN=0.25", // price for accounts with credit
	}
	c.service = &service{t: t, base: "http://" + c.addr, env: env}
	return c
}

// startRoles starts the service's processes.
func (c *cluster) startRoles() {
	c.t.Helper()
	role := func(name string, args ...string) *process {
		p := &process{
			t: c.t, args: append([]string{"serve", "--roles", name, "--internal-addr", "127.0.0.1:0"}, args...), env: c.env,
			log: filepath.Join(c.dir, name+".log"),
		}
		p.start()
		c.t.Cleanup(p.stop)
		return p
	}
	c.api = role("api", "--addr", c.addr)
	c.ready()
	c.workers = []*process{role("worker"), role("worker")}
	c.projector = role("projector")
}

// freeze stops the workers until they are thawed or killed.
func (c *cluster) freeze() { c.signal(syscall.SIGSTOP) }

func (c *cluster) thaw() { c.signal(syscall.SIGCONT) }

func (c *cluster) signal(s syscall.Signal) {
	c.t.Helper()
	for _, w := range c.workers {
		require.NoError(c.t, w.cmd.Process.Signal(s))
	}
}

// caught submits long jobs until one is in the middle of its run, and freezes the workers at that moment. It returns
// the prefix of the job's files, and its id.
func (c *cluster) caught(name string) (prefix, id string) {
	c.t.Helper()
	for i := 0; ; i++ {
		prefix = fmt.Sprintf("%s-%d", name, i)
		id = c.submit(long(prefix))
		c.until("a node of it has run", func() bool { return slices.Contains(c.events(id), job.TypeNodeExecuted) })
		c.freeze()
		state := c.state(id)
		if state == "in_progress" {
			return prefix, id
		}
		require.Equal(c.t, "completed", state, "it was quicker than we are")
		c.thaw()
	}
}

// killTemporal kills the private Temporal, a child of this process. The stack restarts it.
func (c *cluster) killTemporal() {
	c.t.Helper()
	require.NoError(c.t, syscall.Kill(c.temporalPID(), syscall.SIGKILL))
}

// temporalPID returns the process of the private Temporal.
func (c *cluster) temporalPID() int {
	c.t.Helper()
	out, err := exec.Command("ps", "-o", "pid=,args=", "--ppid", strconv.Itoa(os.Getpid())).Output()
	require.NoError(c.t, err)
	for line := range bytes.Lines(out) {
		fields := strings.Fields(string(line))
		if len(fields) > 1 && strings.Contains(fields[1], "millrace-temporal") && strings.Contains(string(line), c.stack.TemporalAddress) {
			pid, err := strconv.Atoi(fields[0])
			require.NoError(c.t, err)
			return pid
		}
	}
	c.t.Fatalf("no Temporal among the children:\n%s", out)
	return 0
}

// killPostgres kills the postmaster of the private cluster below dir.
func killPostgres(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "postgres", "*", "postmaster.pid"))
	require.NoError(t, err)
	more, err := filepath.Glob(filepath.Join(dir, "postgres", "postmaster.pid"))
	require.NoError(t, err)
	files = append(files, more...)
	require.Len(t, files, 1)
	raw, err := os.ReadFile(files[0])
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(raw), "\n")
	pid, err := strconv.Atoi(first)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
}

// ready waits until submissions are accepted.
func (s *service) ready() {
	s.t.Helper()
	s.until("the service is ready", func() bool {
		resp, err := http.Get(s.base + "/readyz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}
