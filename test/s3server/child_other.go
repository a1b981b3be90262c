//go:build !linux

package bucket_test

import "syscall"

func endWithParent() *syscall.SysProcAttr { return nil }
