//go:build unix

// Package ports gives tests loopback addresses for programs with a configurable listen address. No other program gets
// such an address between the choice and the listening, nor while a killed program is down. The ports are below the
// range from which the kernel chooses ports, and a lock keeps each from the tests of other processes.
package ports

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/millrace-dev/millrace/internal/child"
)

// The range of ports. Linux chooses ports from 32768, other systems from a higher port.
const (
	first = 18_000
	count = 14_000
)

// taken holds the locks of this process. The kernel releases them when the process ends.
var taken struct { // addresses are the process's, as its sockets are
	sync.Mutex
	locks []*child.Lock
}

// Address returns a loopback address, HOST:PORT, that only this process uses until it ends.
func Address() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("millrace-test-ports-%d", os.Geteuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	begin := rand.IntN(count) // no secret
	for i := range count {
		port := first + (begin+i)%count
		address, err := take(dir, port)
		var held *child.LockedError
		if err != nil && !errors.As(err, &held) {
			return "", err
		}
		if address != "" {
			return address, nil
		}
	}
	return "", errors.New("every port of the tests is taken")
}

// take returns "" for a port on which a program listens that does not use this package.
func take(dir string, port int) (string, error) {
	lock, err := child.Acquire(filepath.Join(dir, fmt.Sprint(port)))
	if err != nil {
		return "", err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", lock.Release()
	}
	taken.Lock()
	defer taken.Unlock()
	taken.locks = append(taken.locks, lock)
	return address, l.Close()
}

// ForServers makes the Temporal of a private stack, in a data directory that is about to be made, listen on addresses
// of its own. Its default addresses are shared: while a killed Temporal is restarted, another one could take its
// address and receive its clients' requests.
func ForServers(dataDir string) error {
	var state struct {
		Temporal string `json:"temporal"`
		UI       string `json:"ui"`
	}
	var errs [2]error
	state.Temporal, errs[0] = Address()
	state.UI, errs[1] = Address()
	raw, err := json.Marshal(state)
	if err := errors.Join(errs[0], errs[1], err); err != nil {
		return err
	}
	if err := os.MkdirAll(dataDir, 0o711); err != nil { // root's PostgreSQL passes through
		return err
	}
	return os.WriteFile(filepath.Join(dataDir, "state.json"), raw, 0o600)
}
