//go:build unix

package child

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"
)

// Run runs a command like the method Run of the command, and has it killed when this process dies for any reason.
// Otherwise, a command that works on a file would continue while another process starts the same work again. Only the
// command itself is killed, so a script should exec the program that it starts.
//
// The kernel kills the command when the thread that started it ends, and Go may end a thread at any time. The calling
// goroutine is therefore locked to its thread until the command has ended.
func Run(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = attributes(syscall.SIGKILL)
	cmd.SysProcAttr.Setpgid = true
	if err := cmd.Start(); err != nil {
		return err
	}
	unguard, err := endWithParent(cmd.Process.Pid, syscall.SIGKILL)
	if err != nil { // a child that could outlive this process is not left running
		return errors.Join(err, cmd.Process.Kill(), ignoreExit(cmd.Wait()))
	}
	defer unguard()
	return cmd.Wait()
}
