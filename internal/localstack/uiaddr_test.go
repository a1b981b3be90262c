//go:build unix

package localstack_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/localstack"
)

func TestTheAddressOfTemporalsUIIsOfThisMachineAndFree(t *testing.T) {
	t.Parallel()
	require.NoError(t, localstack.CheckUIAddress(""))
	require.NoError(t, localstack.CheckUIAddress("127.0.0.1:0"))
	for _, addr := range []string{"0.0.0.0:8080", "8080", "192.0.2.1:8080", ":8080"} {
		require.ErrorContains(t, localstack.CheckUIAddress(addr), "--temporal-ui-addr takes an address of this machine", addr)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	require.ErrorContains(t, localstack.CheckUIAddress(taken.Addr().String()), "choose another with --temporal-ui-addr")
}
