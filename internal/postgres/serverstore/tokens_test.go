package serverstore_test

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Of workers that register a server for the same machine at the same time, one succeeds.
func TestAMachineHasOneServer(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	for machine := range 5 {
		secret, prefix := server.NewTokenSecret()
		token, err := r.AddToken(t.Context(), server.Token{
			Name: fmt.Sprintf("p-%d", machine), Prefix: prefix, Pool: "p",
		}, server.HashToken(secret), by)
		require.NoError(t, err)
		errs := make([]error, 4)
		var ready sync.WaitGroup
		for i := range errs {
			reg := server.Registration{
				URL: fmt.Sprintf("http://127.0.0.1:%d", 9000+10*machine+i), Token: &token, From: netip.MustParseAddr("127.0.0.1"), Own: true,
				ModelsFolder: "/models", By: by,
			}
			require.NoError(t, reg.Check())
			ready.Go(func() { _, errs[i] = r.Register(t.Context(), reg, nil) })
		}
		ready.Wait()
		registered := 0
		for _, err := range errs {
			if err == nil {
				registered++
				continue
			}
			require.Equal(t, fault.CodeServerExists, fault.CodeOf(err), "%v", err)
		}
		require.Equal(t, 1, registered)
	}
}
