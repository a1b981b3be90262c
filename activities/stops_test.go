package activities_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// A job is canceled while its batch passes from one activity to the next, so that neither watches it.
func TestACancelBetweenTwoActivitiesIsNotMissed(t *testing.T) {
	t.Parallel()
	stops, canceled, other := activities.NewStops(), job.NewID(), job.NewID()
	first, release := stops.Watch(t.Context(), canceled)
	release()
	require.Equal(t, context.Canceled, context.Cause(first), "released, not stopped")
	stops.Observe([]eventlog.Recorded{{Type: job.TypeCancelRequested, Stream: canceled.Stream()}})
	for id, stopped := range map[job.ID]bool{canceled: true, other: false} {
		watched, release := stops.Watch(t.Context(), id)
		require.Equal(t, stopped, watched.Err() != nil)
		if stopped {
			require.True(t, fault.Is(context.Cause(watched), fault.Canceled))
		}
		release()
	}
	require.Zero(t, stops.Watched(), "a process that runs for months remembers no job that has ended")
	_, one := stops.Watch(t.Context(), other)
	_, two := stops.Watch(t.Context(), other)
	one()
	require.Equal(t, 1, stops.Watched(), "another batch of the job runs")
	two()
	require.Zero(t, stops.Watched())
}
