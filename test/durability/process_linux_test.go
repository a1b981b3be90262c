package durability_test

import "syscall"

// dieWithTest makes the kernel kill a child when its test process is killed.
func dieWithTest() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
