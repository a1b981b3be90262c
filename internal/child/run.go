//go:build unix

package child

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"
)

// Run runs a command as its own method Run does, and has it killed when this process dies, however it dies. A command
// that reads what this process writes learns of that end by itself; one that reads or rewrites a file would go on until
// it is done, beside the one that another process starts in its place. Only the command itself is killed: a script
// is to exec what it starts.
//
// The kernel's "parent died" is the death of the thread that started the child, and Go ends threads as it likes: the
// calling goroutine keeps its thread to itself until the command has ended.
func Run(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = attributes(syscall.SIGKILL)
	cmd.SysProcAttr.Setpgid = true
	if err := cmd.Start(); err != nil {
		return err
	}
	unguard, err := guard(cmd.Process.Pid, syscall.SIGKILL)
	if err != nil { // better no child than one that may be left behind
		return errors.Join(err, cmd.Process.Kill(), ignoreExit(cmd.Wait()))
	}
	defer unguard()
	return cmd.Wait()
}
