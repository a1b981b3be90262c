//go:build unix && !linux

package child

import "syscall"

// attributes have no signal at the parent's death here: guard sends it.
func attributes(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func guard(pid int, orphan syscall.Signal) (release func(), err error) {
	if orphan == 0 {
		return func() {}, nil
	}
	return watch(pid, orphan)
}
