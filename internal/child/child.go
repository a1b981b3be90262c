//go:build unix

// Package child runs a program that must not outlive this process. On Linux the kernel signals the child when its
// parent dies for any reason; on other systems a shell waits for the parent's end and sends the signal. The child
// leads a process group of its own, so that a Ctrl-C in the terminal reaches only the parent, which stops its
// children in order.
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Command is a program to run.
type Command struct {
	Path   string
	Args   []string
	Env    []string // whole environment; nil = empty
	Dir    string   // working directory; "" = this process's
	Stdout *os.File // nil = discarded
	Stderr *os.File // nil = discarded

	// User is the user that the child runs as; nil = the user of this process.
	User *User
	// Orphan is the signal that the child gets when this process dies; 0 = none.
	Orphan syscall.Signal
	// Tether gives the child a standard input that ends when this process dies, for
	// programs that watch it; otherwise it is /dev/null.
	Tether bool
	// Group makes signals reach the whole process group of the child, and ends the group with the child and with this
	// process: a child that starts programs leaves none of them behind.
	Group bool
}

// User is the identity of a child whose parent runs as root.
type User struct{ UID, GID uint32 }

// Process is a running child.
type Process struct {
	process *os.Process
	group   bool     // signals go to its process group
	input   *os.File // write end of the child's standard input, or nil
	done    chan struct{}
	err     error // valid once done is closed
}

// Start runs the command and returns once it has been executed.
func Start(c Command) (*Process, error) {
	cmd, tether, err := c.build()
	if err != nil {
		return nil, err
	}
	p := &Process{group: c.Group, input: tether, done: make(chan struct{})}
	started := make(chan error)
	go p.run(cmd, c.Orphan, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	return p, nil
}

// Output runs the command to its end and returns its output and error output together; c.Stdout and c.Stderr are ignored.
// The end of ctx stops the command with SIGTERM.
func Output(ctx context.Context, c Command) ([]byte, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close() // read only
	c.Stdout, c.Stderr = w, w
	p, err := Start(c)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	release := context.AfterFunc(ctx, func() {
		p.Signal(syscall.SIGTERM) //nolint:errcheck // if the signal fails, the child has ended
	})
	defer release()
	out, err := io.ReadAll(r)
	<-p.Done()
	return out, errors.Join(p.Err(), err)
}

func (c Command) build() (cmd *exec.Cmd, tether *os.File, err error) {
	cmd = exec.Command(c.Path, c.Args...) //nolint:gosec // the program and its arguments are chosen by this process
	cmd.Env, cmd.Dir = c.Env, c.Dir
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if c.Stderr != nil {
		cmd.Stderr = c.Stderr
	}
	cmd.SysProcAttr = attributes(c.Orphan)
	cmd.SysProcAttr.Setpgid = true
	if c.User != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: c.User.UID, Gid: c.User.GID, Groups: []uint32{}}
	}
	if c.Tether {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, nil, err
		}
		cmd.Stdin, tether = r, w
	}
	return cmd, tether, nil
}

// run starts the child and waits for it in one thread, because the kernel sends the signal when the thread that started the
// child ends.
func (p *Process) run(cmd *exec.Cmd, orphan syscall.Signal, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer p.closeInput()
	err := cmd.Start()
	if stdin, ok := cmd.Stdin.(*os.File); ok {
		err = errors.Join(err, stdin.Close())
	}
	if err != nil {
		started <- err
		return
	}
	p.process = cmd.Process
	unguard, err := p.endWithParent(orphan)
	if err != nil { // a child that could outlive this process is not left running
		started <- errors.Join(err, cmd.Process.Kill(), ignoreExit(cmd.Wait()))
		return
	}
	started <- nil
	p.err = cmd.Wait()
	if p.group {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // an empty group is the normal case
	}
	unguard()
	close(p.done)
}

// endWithParent has the child signaled when this process dies. The kernel of Linux signals the child alone, so a group has a watcher.
func (p *Process) endWithParent(orphan syscall.Signal) (release func(), err error) {
	if p.group {
		return watch(-p.process.Pid, syscall.SIGKILL)
	}
	return endWithParent(p.process.Pid, orphan)
}

// ignoreExit drops the status of a child that was killed on purpose.
func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

func (p *Process) closeInput() {
	if p.input != nil {
		p.input.Close() //nolint:errcheck // closing a pipe cannot lose data here
	}
}

// PID returns the child's process id.
func (p *Process) PID() int { return p.process.Pid }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns how the child ended: nil for status 0. It is valid once Done is closed.
func (p *Process) Err() error { return p.err }

// Signal sends sig to the child, or to its group. It returns nil if the child has ended.
func (p *Process) Signal(sig syscall.Signal) error {
	if p.group {
		select {
		case <-p.done: // its process id may be another's
			return nil
		default:
		}
		if err := syscall.Kill(-p.PID(), sig); !errors.Is(err, syscall.ESRCH) {
			return err
		}
		return nil
	}
	if err := p.process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Step is one stage of Stop: a signal and how long it may take to have effect.
type Step struct {
	Signal syscall.Signal
	Grace  time.Duration
}

// Stop sends the signals in order, each after the grace time of the previous one, and at last SIGKILL. It returns when the
// child has ended. Once ctx has ended, grace times are skipped.
func (p *Process) Stop(ctx context.Context, steps ...Step) error {
	for _, step := range steps {
		if err := p.Signal(step.Signal); err != nil {
			return fmt.Errorf("stop process %d: %w", p.PID(), err)
		}
		timer := time.NewTimer(step.Grace)
		select {
		case <-p.done:
			timer.Stop()
			return nil
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill process %d: %w", p.PID(), err)
	}
	<-p.done
	return nil
}
