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

	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// stopStray stops a server that a killed owner left on the data directory. The server has no other owner, because the
// caller has the lock of the directory.
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
			return fmt.Errorf("stop a PostgreSQL without an owner (process %d): %w", pid, err)
		}
		if waitForEnd(ctx, pid, data, step.grace) {
			return nil
		}
	}
	return fmt.Errorf("a PostgreSQL without an owner (process %d) does not stop", pid)
}

// waitForEnd waits until the process no longer serves data.
func waitForEnd(ctx context.Context, pid int, data string, grace time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	for serves(ctx, pid, data) {
		if pause.For(ctx, 20*time.Millisecond) != nil {
			return false
		}
	}
	return true
}

// strayPID returns the process id in the server's pid file, or 0 if there is none.
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
		return 0, nil // truncated by a crash: the server removes the file
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || pid <= 1 {
		return 0, nil
	}
	return pid, nil
}

// serves reports whether the process is a server of the data directory, because process ids are reused.
func serves(ctx context.Context, pid int, data string) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	if _, err := os.Stat("/proc/self/cmdline"); err == nil {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return err == nil && strings.Contains(string(b), data)
	}
	args := []string{"-o", "command=", "-p", strconv.Itoa(pid)}
	out, err := exec.CommandContext(ctx, "ps", args...).Output() //nolint:gosec // the program is chosen by this process
	return err == nil && strings.Contains(string(out), data)
}
