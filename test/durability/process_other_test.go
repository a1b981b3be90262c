//go:build !linux

package durability_test

import "syscall"

func dieWithTest() *syscall.SysProcAttr { return nil }
