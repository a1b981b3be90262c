//go:build unix && !linux

package child

import "syscall"

// attributes sets no signal at the parent's death, which this system does not support; endWithParent sends it.
func attributes(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// endWithParent has a shell send the signal.
func endWithParent(pid int, orphan syscall.Signal) (release func(), err error) {
	if orphan == 0 {
		return func() {}, nil
	}
	return watch(pid, orphan)
}
