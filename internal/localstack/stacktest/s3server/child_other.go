//go:build !linux

package s3server

import "syscall"

func endWithParent() *syscall.SysProcAttr { return nil }
