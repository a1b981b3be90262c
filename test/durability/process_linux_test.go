package durability_test

import "syscall"

// dieWithTest ends a child whose test process was killed.
func dieWithTest() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
