//go:build unix

package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// watch sends the signal to the process when this process dies, on systems whose kernel does not: a shell reads from
// a pipe that only this process can write to, and so notices the end of this process. release must be called when the
// watched process has ended, before its id can be reused. A negative id is that of a process group.
func watch(pid int, sig syscall.Signal) (release func(), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	args := []string{"-c", `read -r _; kill -"$1" "$2"`, "sh", strconv.Itoa(int(sig)), strconv.Itoa(pid)}
	cmd := exec.Command("/bin/sh", args...) //nolint:gosec // the program and its arguments are chosen by this process
	cmd.Stdin, cmd.Env = r, []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := errors.Join(cmd.Start(), r.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("watch over process %d: %w", pid, err), w.Close())
	}
	return func() {
		cmd.Process.Kill() //nolint:errcheck // the shell may have ended
		cmd.Wait()         //nolint:errcheck // killed
		w.Close()          //nolint:errcheck // closing a pipe cannot lose data here
	}, nil
}
