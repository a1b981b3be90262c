package service

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMemoryIsReleasedOnceAfterWork(t *testing.T) {
	t.Parallel()
	require.NotZero(t, allocated())
	synctest.Test(t, func(t *testing.T) {
		const mib = 1 << 20
		var bytes uint64
		released := 0
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			releaseWhile(ctx, func() uint64 { return bytes }, func() { released++ })
		}()
		for _, minute := range []struct {
			allocates uint64
			released  int
		}{
			{10 * mib, 1}, // the start is over
			{10 * mib, 1},
			{900 * mib, 1},
			{65 * mib, 1},
			{64 * mib, 2},
			{0, 2},
			{70 * mib, 2},
			{1 * mib, 3},
		} {
			synctest.Wait()
			bytes += minute.allocates
			<-time.After(restPeriod)
			synctest.Wait()
			require.Equal(t, minute.released, released, "after a minute with %d MiB", minute.allocates/mib)
		}
		cancel()
		<-ended
	})
}
