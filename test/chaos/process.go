//go:build linux

package main

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is one program that is restarted whenever it ends, as by a supervisor.
type process struct {
	binary string
	args   []string
	env    []string
	log    string
	report *slog.Logger

	mu      sync.Mutex // guards the fields below
	cmd     *exec.Cmd
	done    chan struct{}
	stopped bool      // it must not be restarted
	killed  *exec.Cmd // the process that was killed on purpose; nil = none
}

// restartAfter is the pause before a program that ended is restarted.
const restartAfter = 500 * time.Millisecond

func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.binary, p.args...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", strings.Join(p.args, " "), err)
	}
	done := make(chan struct{})
	p.cmd, p.done = cmd, done
	go func() {
		err := cmd.Wait()
		close(done)
		p.ended(cmd, err)
	}()
	return nil
}

// ended restarts the process unless another caller does.
func (p *process) ended(cmd *exec.Cmd, err error) {
	p.mu.Lock()
	again := !p.stopped && p.killed != cmd
	p.mu.Unlock()
	if !again {
		return
	}
	p.report.Warn("process ended: starting it again", "process", strings.Join(p.args, " "), "error", err)
	<-time.After(restartAfter)
	if err := p.start(); err != nil {
		p.report.Error("process not started", "error", err)
	}
}

// kill kills the process, together with others, and returns when it has ended. The caller restarts it.
func (p *process) kill(others ...int) {
	p.mu.Lock()
	cmd, done := p.cmd, p.done
	p.killed = cmd
	p.mu.Unlock()
	cmd.Process.Kill() // it may be gone
	signalAll(others, syscall.SIGKILL)
	<-done
}

// stop ends the process cleanly and permanently.
func (p *process) stop() {
	p.mu.Lock()
	p.stopped = true
	cmd, done := p.cmd, p.done
	p.mu.Unlock()
	if cmd == nil {
		return
	}
	cmd.Process.Signal(os.Interrupt) // it may be gone
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		cmd.Process.Kill() // as above
		<-done
	}
}

func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

// childrenOf returns the children of a process whose program has the given name.
func childrenOf(parent int, name string) (pids []int) {
	for pid, of := range parents() {
		if of != parent {
			continue
		}
		program, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
		if err == nil && filepath.Base(program) == name {
			pids = append(pids, pid)
		}
	}
	return pids
}

// withDescendants returns processes and all their descendants, parents first.
func withDescendants(pids []int) []int {
	all := append([]int{}, pids...)
	tree := parents()
	for i := 0; i < len(all); i++ {
		for pid, of := range tree {
			if of == all[i] && !contains(all, pid) {
				all = append(all, pid)
			}
		}
	}
	return all
}

func contains(pids []int, pid int) bool {
	for _, p := range pids {
		if p == pid {
			return true
		}
	}
	return false
}

// parents returns the parent of every process.
func parents() map[int]int {
	tree := map[int]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return tree
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		raw, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // it has ended
		}
		_, rest, found := strings.Cut(string(raw), ") ") // the name may contain any characters
		fields := strings.Fields(rest)
		if !found || len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			tree[pid] = parent
		}
	}
	return tree
}

// signalAll sends a signal to processes. Processes that have ended are ignored.
func signalAll(pids []int, s syscall.Signal) {
	for _, pid := range pids {
		syscall.Kill(pid, s) // it may be gone
	}
}
