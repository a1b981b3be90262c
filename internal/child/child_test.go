//go:build unix

package child_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/child"
)

// parentMode makes the re-executed test binary act as the parent that is killed.
const parentMode = "MILLRACE_TEST_CHILD_PARENT"

func TestMain(m *testing.M) {
	switch mode := os.Getenv(parentMode); mode {
	case "":
		os.Exit(m.Run())
	case "orphan":
		beParent(child.Command{Path: "/bin/sh", Args: []string{"-c", "while :; do sleep 60; done"}, Orphan: syscall.SIGKILL})
	case "group":
		beParentOfGroup()
	case "tether":
		beParent(child.Command{Path: "/bin/cat", Tether: true})
	case "watch":
		beWatcher()
	case "run":
		beRunner()
	default: // the path of a lock
		holdLock(mode)
	}
}

func beParent(c child.Command) {
	c.Env = []string{"PATH=" + os.Getenv("PATH")}
	p, err := child.Start(c)
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println(p.PID())
	select {}
}

// beParentOfGroup starts a shell that starts a program, whose id it prints.
func beParentOfGroup() {
	_, err := child.Start(child.Command{
		Path: "/bin/sh", Args: []string{"-c", "sleep 3600 & echo $!; wait"}, Stdout: os.Stdout, Orphan: syscall.SIGKILL, Group: true,
		Env: []string{"PATH=" + os.Getenv("PATH")},
	})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	select {}
}

// beRunner runs a command that prints its process id, in a goroutine among others whose threads end.
func beRunner() {
	for range 20 {
		go runtime.LockOSThread() // ends with the lock, and so ends the thread
	}
	cmd := exec.Command("/bin/sh", "-c", "echo $$; exec sleep 3600")
	cmd.Stdout = os.Stdout
	fmt.Println("error", child.Run(cmd))
	os.Exit(1)
}

// beWatcher starts a process that does not watch its parent; the shell watches instead.
func beWatcher() {
	cmd := exec.Command("sleep", "3600")
	if err := cmd.Start(); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	if _, err := child.Watch(cmd.Process.Pid, syscall.SIGKILL); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println(cmd.Process.Pid)
	select {}
}

func holdLock(path string) {
	if _, err := child.Acquire(path); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println(os.Getpid())
	select {}
}

// startParent re-executes the test binary and returns it with the number it prints.
func startParent(t *testing.T, mode string) (parent *exec.Cmd, number int) {
	t.Helper()
	parent = exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentMode+"="+mode)
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	t.Cleanup(func() {
		parent.Process.Kill()
		parent.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	number, err = strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err, line)
	return parent, number
}

// running reports whether the process exists and is not a zombie.
func running(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(string(out), "Z")
}

func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for running(pid) {
		select {
		case <-deadline:
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
			t.Fatalf("process %d outlived its parent", pid)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestChildEndsWithItsKilledParent(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"orphan", "tether", "watch", "run", "group"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			parent, pid := startParent(t, mode)
			require.True(t, running(pid))
			require.NoError(t, parent.Process.Kill())
			awaitEnd(t, pid)
		})
	}
}

func TestAGroupEndsWithItsFirstProcess(t *testing.T) {
	t.Parallel()
	out, in, err := os.Pipe()
	require.NoError(t, err)
	p, err := child.Start(child.Command{
		Path: "/bin/sh", Args: []string{"-c", "sleep 3600 & echo $!; read -r _"}, Stdout: in, Tether: true, Group: true,
		Env: []string{"PATH=" + os.Getenv("PATH")},
	})
	require.NoError(t, err)
	require.NoError(t, in.Close())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err, line)
	require.NoError(t, syscall.Kill(p.PID(), syscall.SIGKILL), "the first process alone")
	<-p.Done()
	awaitEnd(t, pid)
	require.NoError(t, p.Signal(syscall.SIGTERM), "there is nothing left to signal")
}

func TestReleasedWatchSendsNoSignal(t *testing.T) {
	t.Parallel()
	p, err := child.Start(child.Command{Path: "/bin/cat", Tether: true})
	require.NoError(t, err)
	release, err := child.Watch(p.PID(), syscall.SIGKILL)
	require.NoError(t, err)
	release()
	require.NoError(t, p.Stop(t.Context(), child.Step{Signal: syscall.SIGTERM, Grace: time.Minute}))
	require.ErrorContains(t, p.Err(), "terminated", "it was still there to be stopped")
}

func TestStopGoesOnToStrongerSignals(t *testing.T) {
	t.Parallel()
	out, in, err := os.Pipe()
	require.NoError(t, err)
	p, err := child.Start(child.Command{
		Path: "/bin/sh", Args: []string{"-c", "trap 'echo asked' INT TERM; echo set; while :; do read -r _; done"}, Stdout: in, Tether: true,
	})
	require.NoError(t, err)
	require.NoError(t, in.Close())
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "set\n", first)
	steps := []child.Step{{Signal: syscall.SIGINT, Grace: time.Second}, {Signal: syscall.SIGTERM, Grace: time.Second}}
	require.NoError(t, p.Stop(t.Context(), steps...))
	require.ErrorContains(t, p.Err(), "killed")
	second, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "asked\n", second)
	require.NoError(t, p.Stop(t.Context(), steps...), "stopping what has ended is no error")
}

func TestOutputIsWholeAndTheStatusIsKept(t *testing.T) {
	t.Parallel()
	out, err := child.Output(t.Context(), child.Command{Path: "/bin/sh", Args: []string{"-c", "echo one; echo two >&2; exit 3"}})
	require.Equal(t, "one\ntwo\n", string(out))
	require.EqualError(t, err, "exit status 3")
}

func TestOutputStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := child.Output(ctx, child.Command{Path: "/bin/cat", Tether: true})
	require.ErrorContains(t, err, "terminated")
}

func TestRunPassesInputAndOutput(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	cmd := exec.Command("/bin/sh", "-c", "read -r line; echo $line twice; exit 3")
	cmd.Stdin, cmd.Stdout = strings.NewReader("once\n"), &out
	require.EqualError(t, child.Run(cmd), "exit status 3")
	require.Equal(t, "once twice\n", out.String())

	ctx, cancel := context.WithCancel(t.Context())
	cmd = exec.CommandContext(ctx, "/bin/sh", "-c", "echo begun; read -r _ <&3")
	hold, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	defer hold.Close()
	cmd.ExtraFiles, cmd.Stdout = []*os.File{hold}, starter(cancel)
	require.ErrorContains(t, child.Run(cmd), "killed", "with its context")
	require.ErrorIs(t, child.Run(exec.Command("/nonexistent")), os.ErrNotExist)
}

// starter is a writer that reports its first write.
type starter func()

// Write implements io.Writer.
func (s starter) Write(p []byte) (int, error) {
	s()
	return len(p), nil
}

func TestMissingProgramIsAnError(t *testing.T) {
	t.Parallel()
	_, err := child.Start(child.Command{Path: "/nonexistent", Tether: true})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestLockNamesItsProcessAndEndsWithIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	holder, pid := startParent(t, path)
	_, err := child.Acquire(path)
	var held *child.LockedError
	require.ErrorAs(t, err, &held)
	require.Equal(t, pid, held.PID)
	require.NoError(t, holder.Process.Kill())
	require.Error(t, holder.Wait())
	lock, err := child.Acquire(path)
	require.NoError(t, err)
	require.NoError(t, lock.Release())
}

func TestAReleasedLockIsFreeAlthoughAForkedChildHasItsFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := child.Acquire(path)
	require.NoError(t, err)
	forked, err := lock.Fork()
	require.NoError(t, err)
	defer syscall.Close(forked)
	require.NoError(t, lock.Release())
	again, err := child.Acquire(path)
	require.NoError(t, err)
	require.NoError(t, again.Release())
}
