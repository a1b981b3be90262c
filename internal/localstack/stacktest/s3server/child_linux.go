package s3server

import "syscall"

// endWithParent makes the server end with the test process.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
