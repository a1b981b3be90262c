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
)

// endOrphans kills the processes that a killed server left in the data directory. They hold its shared memory, without
// which no server starts there, and one in the middle of a long statement would go on for as long as that takes. The
// caller has the lock of the directory and its server has ended, so that nobody waits for what they do; crash recovery
// rolls it back.
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
				return fmt.Errorf("end a process of the PostgreSQL left behind (process %d): %w", pid, err)
			}
		}
		if !pause(ctx, 2*time.Millisecond) {
			return fmt.Errorf("processes of the PostgreSQL left behind do not end: %v", orphans)
		}
	}
}

// workingIn returns the processes named postgres whose working directory is dir, as every process of a server has.
// A process that has ended and was not waited for has none any more.
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
			continue // another user's, or ended
		}
		if program, err := os.Readlink(filepath.Join(process, "exe")); err == nil && filepath.Base(program) == "postgres" {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
