package driving

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSendingAPromptOutlastsItsDriverForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		sending, cancel := outlasting(ctx, submitGrace)
		defer cancel()
		<-time.After(time.Hour)
		require.NoError(t, sending.Err(), "its driver runs")
		stop()
		<-time.After(submitGrace - time.Millisecond)
		synctest.Wait()
		require.NoError(t, sending.Err(), "a request may arrive completely")
		<-time.After(time.Millisecond)
		synctest.Wait()
		require.ErrorIs(t, sending.Err(), context.Canceled)
	})
}

func TestSendingThatIsDoneLeavesNothingWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		for _, driverEnds := range []bool{false, true} {
			began := time.Now()
			sending, cancel := outlasting(ctx, submitGrace)
			if driverEnds {
				stop()
				synctest.Wait()
			}
			cancel() // waits for the goroutine, but not for the grace
			require.ErrorIs(t, sending.Err(), context.Canceled)
			require.Zero(t, time.Since(began))
		}
	})
}
