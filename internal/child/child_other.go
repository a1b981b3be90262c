//go:build unix && !linux

package child

import "syscall"

// attributes has no signal at the parent's death here: the tether does that.
func attributes(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
