package postgres

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// boundUnacknowledged ends a TCP connection whose peer acknowledges nothing for deadPeer.
func boundUnacknowledged(network, _ string, raw syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadPeer.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
