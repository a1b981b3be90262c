//go:build !linux

package postgres

import "syscall"

// boundUnacknowledged does nothing: the system decides how long it waits for acknowledgements.
func boundUnacknowledged(string, string, syscall.RawConn) error { return nil }
