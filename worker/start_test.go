package worker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"github.com/millrace-dev/millrace/worker"
)

// A worker that starts while Temporal stands still does not end its process.
func TestAWorkerThatStartsWhileTemporalIsAwayWaits(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]error{
		"no answer": context.DeadlineExceeded, "it is away": serviceerror.NewUnavailable("away"),
		"an answer too late": serviceerror.NewDeadlineExceeded("late"),
	} {
		synctest.Test(t, func(t *testing.T) {
			asked, until := 0, time.Now().Add(time.Hour)
			require.NoError(t, worker.UntilAnswered(t.Context(), func() error {
				if asked++; time.Now().Before(until) {
					return away
				}
				return nil
			}), name)
			require.Greater(t, asked, 500, name)
		})
	}
}

func TestRefusalByTemporalIsReturned(t *testing.T) {
	t.Parallel()
	refused := serviceerror.NewPermissionDenied("no", "")
	require.ErrorIs(t, worker.UntilAnswered(t.Context(), func() error { return refused }), refused)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, worker.UntilAnswered(ctx, func() error { return errors.Join(context.DeadlineExceeded) }))
}
