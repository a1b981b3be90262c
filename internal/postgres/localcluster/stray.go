//go:build unix

package localcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopStray ends a server that an owner who is gone left behind on the data directory. Nobody
// else can own it: we hold the lock.
func stopStray(ctx context.Context, data string) error {
	pid, err := strayPID(data)
	if err != nil || pid == 0 || !serves(ctx, pid, data) {
		return err
	}
	for _, step := range []struct {
		signal syscall.Signal
		grace  time.Duration
	}{{syscall.SIGINT, fastWait}, {syscall.SIGQUIT, quitWait}, {syscall.SIGKILL, quitWait}} {
		if err := syscall.Kill(pid, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop the PostgreSQL left behind (process %d): %w", pid, err)
		}
		if gone(ctx, pid, data, step.grace) {
			return nil
		}
	}
	return fmt.Errorf("the PostgreSQL left behind (process %d) does not stop", pid)
}

// gone waits until the process no longer serves data.
func gone(ctx context.Context, pid int, data string, grace time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	for serves(ctx, pid, data) {
		if !pause(ctx, 20*time.Millisecond) {
			return false
		}
	}
	return true
}

// strayPID returns the process id in the server's own pid file, 0 when there is none.
func strayPID(data string) (int, error) {
	f, err := os.Open(filepath.Join(data, "postmaster.pid"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("PostgreSQL data: %w", err)
	}
	defer f.Close() // read only
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil {
		return 0, nil // cut short by a crash: the server itself clears it away
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || pid <= 1 {
		return 0, nil
	}
	return pid, nil
}

// serves reports whether the process is a server of the data directory: process ids are reused.
func serves(ctx context.Context, pid int, data string) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	if _, err := os.Stat("/proc/self/cmdline"); err == nil {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return err == nil && strings.Contains(string(b), data)
	}
	out, err := exec.CommandContext(ctx, "ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output() //nolint:gosec // the program and its arguments are chosen by this process
	return err == nil && strings.Contains(string(out), data)
}
