package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// endOrphans kills the processes that a killed server left in the data directory. They hold its shared memory,
// without which no server can start, and a long statement would keep one running. The caller has the lock of the
// directory and its server has ended, so the work of the processes is not needed; crash recovery rolls it back.
func endOrphans(ctx context.Context, data string) error {
	data, err := filepath.EvalSymlinks(data)
	if err != nil {
		return fmt.Errorf("PostgreSQL data: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, quitWait)
	defer cancel()
	for {
		orphans, err := workingIn(data)
		if err != nil || len(orphans) == 0 {
			return err
		}
		for _, pid := range orphans {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("end a process of a killed PostgreSQL (process %d): %w", pid, err)
			}
		}
		if pause.For(ctx, 2*time.Millisecond) != nil {
			return fmt.Errorf("processes of a killed PostgreSQL do not end: %v", orphans)
		}
	}
}

// workingIn returns the processes named postgres whose working directory is dir, which every process of the server
// has. A zombie process has no working directory.
func workingIn(dir string) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		process := filepath.Join("/proc", e.Name())
		cwd, err := os.Readlink(filepath.Join(process, "cwd"))
		if err != nil || cwd != dir {
			continue // the process belongs to another user, or has ended
		}
		if program, err := os.Readlink(filepath.Join(process, "exe")); err == nil && filepath.Base(program) == "postgres" {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
