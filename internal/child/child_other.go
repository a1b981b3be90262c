//go:build unix && !linux

package child

import "syscall"

// attributes sets no signal at the parent's death, which this system does not support; guard sends it.
func attributes(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func guard(pid int, orphan syscall.Signal) (release func(), err error) {
	if orphan == 0 {
		return func() {}, nil
	}
	return watch(pid, orphan)
}
