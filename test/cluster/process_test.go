//go:build linux

package cluster_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
)

// release is a build of the program.
type release struct {
	binary string
	build  string // MILLRACE_BUILD_ID of its workers
}

// process is one process of the service on a host of its own.
type process struct {
	cluster *cluster
	role    string
	name    string
	host    host
	data    string

	cmd   *exec.Cmd
	ended chan error
}

// The ports of every process.
const (
	apiPort      = "8188"
	internalPort = "8189"
)

func (c *cluster) process(role string, number int) *process {
	c.t.Helper()
	name := fmt.Sprintf("%s%d", role, number)
	p := &process{cluster: c, role: role, name: name, host: c.net.host(), data: filepath.Join(c.dir, name)}
	require.NoError(c.t, os.MkdirAll(p.data, 0o700))
	c.t.Cleanup(func() {
		if p.cmd != nil {
			_ = p.cmd.Process.Kill() // it may have ended
			<-p.ended
		}
		if c.t.Failed() {
			raw, _ := os.ReadFile(p.log()) // it may be missing
			c.t.Logf("log of %s:\n%s", name, tail(string(raw)))
		}
	})
	return p
}

// tail returns the last lines of a log.
func tail(log string) string {
	lines := strings.Split(log, "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}

func (p *process) log() string { return filepath.Join(p.cluster.dir, p.name+".log") }

func (p *process) url() string { return "http://" + p.host.address + ":" + apiPort }

// start starts the process and waits until it is ready.
func (p *process) start(r release) {
	p.cluster.t.Helper()
	args := append(append([]string{}, p.host.enter...), r.binary, "serve", "--roles", p.role)
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(p.cluster.t, err)
	defer log.Close() // the process has a handle of its own
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "MILLRACE_ADDR=" + p.host.address + ":" + apiPort, "MILLRACE_ALLOW_UNAUTHENTICATED=true",
		"MILLRACE_INTERNAL_ADDR=" + p.host.address + ":" + internalPort, "MILLRACE_DATA=" + p.data, "MILLRACE_BUILD_ID=" + r.build,
	}
	for name, value := range p.cluster.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	require.NoError(p.cluster.t, cmd.Start())
	p.cmd, p.ended = cmd, make(chan error, 1)
	go func(ended chan error) { ended <- cmd.Wait() }(p.ended)
	p.awaitReady()
}

func (p *process) awaitReady() {
	p.cluster.t.Helper()
	for until := time.Now().Add(patience); ; {
		status, body := get("http://" + p.host.address + ":" + internalPort + "/readyz")
		if status == http.StatusOK {
			return
		}
		select {
		case err := <-p.ended:
			p.ended <- err
			p.cluster.t.Fatalf("%s ended: %v", p.name, err)
		case <-time.After(tick):
		}
		require.True(p.cluster.t, time.Now().Before(until), "%s does not get ready: %d %s", p.name, status, body)
	}
}

func get(address string) (status int, body string) {
	res, err := http.Get(address)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(raw)
}

// replace stops the process as in an upgrade and starts another release in its place.
func (p *process) replace(r release) {
	p.cluster.t.Helper()
	began := time.Now()
	require.NoError(p.cluster.t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(p.cluster.t, <-p.ended, "%s does not stop cleanly", p.name)
	stopped := time.Since(began)
	p.start(r)
	p.cluster.t.Logf("%s: stopped in %s, build %s ready after %s", p.name, stopped.Round(10*time.Millisecond), r.build,
		time.Since(began).Round(10*time.Millisecond))
}

// kill kills the process and restarts it, as a supervisor would.
func (p *process) kill(r release) {
	p.cluster.t.Helper()
	require.NoError(p.cluster.t, p.cmd.Process.Kill())
	err := <-p.ended
	var exit *exec.ExitError
	require.True(p.cluster.t, errors.As(err, &exit), "%s had ended before", p.name)
	p.start(r)
}
