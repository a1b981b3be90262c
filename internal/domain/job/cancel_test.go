package job_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// refusing is a store of jobs that are not to be stopped.
type refusing struct{ job.Store }

func (refusing) Waiting(context.Context, string) ([]job.ID, error) { return nil, errFails }

func (refusing) WithSlot(context.Context, string) ([]job.ID, error) { return nil, errFails }

func (refusing) Cancel(context.Context, job.CancelRequest) ([]job.ID, error) { return nil, errFails }

// waits is a store of jobs that wait, and cannot be canceled.
type waits struct{ refusing }

func (waits) Waiting(context.Context, string) ([]job.ID, error) { return []job.ID{"1"}, nil }

func TestJobsThatCannotBeCanceledAreAnError(t *testing.T) {
	t.Parallel()
	for _, store := range []job.Store{refusing{}, waits{}} {
		s := job.NewService(job.Deps{Store: store})
		_, err := s.ClearPending(t.Context(), "a", "r")
		require.ErrorIs(t, err, errFails)
		_, err = s.Interrupt(t.Context(), "a", "", "r")
		require.ErrorIs(t, err, errFails)
		active, err := s.Cancel(t.Context(), "a", "1", "r")
		require.ErrorIs(t, err, errFails)
		require.False(t, active)
	}
}

// endedJobs is a store of jobs that have ended. It notes what it is asked.
type endedJobs struct {
	job.Store
	asked []job.CancelRequest
}

func (e *endedJobs) Waiting(context.Context, string) ([]job.ID, error) {
	return []job.ID{"1", "2"}, nil
}

func (e *endedJobs) Cancel(_ context.Context, r job.CancelRequest) ([]job.ID, error) {
	e.asked = append(e.asked, r)
	return nil, nil
}

func TestAJobThatHasEndedWasNotActive(t *testing.T) {
	t.Parallel()
	store := &endedJobs{}
	s := job.NewService(job.Deps{Store: store})
	active, err := s.Cancel(t.Context(), "a", "1", "r")
	require.NoError(t, err)
	require.False(t, active)
	_, err = s.ClearPending(t.Context(), "a", "q")
	require.NoError(t, err)
	whole := job.CancelRequest{Account: "a", IDs: []job.ID{"3"}, RequestID: "r", Actor: "x", Reason: "y"}
	_, err = s.CancelAs(t.Context(), whole)
	require.NoError(t, err)
	require.Equal(t, []job.CancelRequest{
		{Account: "a", IDs: []job.ID{"1"}, RequestID: "r"}, {Account: "a", IDs: []job.ID{"1", "2"}, RequestID: "q"}, whole,
	}, store.asked)
}
