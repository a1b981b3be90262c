//go:build unix

package ports_test

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
)

func TestPortsAreGivenOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var group sync.WaitGroup
	given := map[string]bool{}
	for range 8 {
		group.Go(func() {
			for range 20 {
				address, err := ports.Address()
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if given[address] {
					t.Errorf("%s twice", address)
				}
				given[address] = true
				mu.Unlock()
			}
		})
	}
	group.Wait()
	require.Len(t, given, 160)
	for address := range given {
		l, err := net.Listen("tcp", address)
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
}
