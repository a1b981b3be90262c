//go:build unix

package child

import "syscall"

// Watch does the kernel's work on systems other than Linux.
var Watch = watch

// Fork opens the file of a lock a second time, as a child process has it between its fork and its exec.
func (l *Lock) Fork() (fd int, err error) { return syscall.Dup(int(l.file.Fd())) }
