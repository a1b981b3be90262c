package datastore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/persistence"

	"github.com/millrace-dev/millrace/localtemporal/datastore"
)

// table is a store of task queues that counts its reads. Writes fail with err.
type table struct {
	persistence.TaskStore
	rangeID int64
	reads   int
	err     error
}

func (s *table) GetTaskQueue(context.Context, *persistence.InternalGetTaskQueueRequest) (*persistence.InternalGetTaskQueueResponse, error) {
	s.reads++
	return &persistence.InternalGetTaskQueueResponse{RangeID: s.rangeID}, nil
}

func (s *table) UpdateTaskQueue(context.Context, *persistence.InternalUpdateTaskQueueRequest) (*persistence.UpdateTaskQueueResponse,
	error,
) {
	s.rangeID++ // also of a write whose answer is lost
	return &persistence.UpdateTaskQueueResponse{}, s.err
}

func (s *table) CreateTasks(context.Context, *persistence.InternalCreateTasksRequest) (*persistence.CreateTasksResponse, error) {
	s.rangeID++
	return &persistence.CreateTasksResponse{}, s.err
}

func rangeOf(t *testing.T, s persistence.TaskStore, name string) int64 {
	t.Helper()
	got, err := s.GetTaskQueue(t.Context(), &persistence.InternalGetTaskQueueRequest{TaskQueue: name})
	require.NoError(t, err)
	return got.RangeID
}

func TestATaskQueueIsReadAgainAfterEachWrite(t *testing.T) {
	t.Parallel()
	inner := &table{}
	s := datastore.NewTaskQueues(inner)
	for range 10 {
		require.Zero(t, rangeOf(t, s, "jobs"))
	}
	require.Equal(t, 1, inner.reads)
	for n, write := range []func() error{
		func() error {
			_, err := s.UpdateTaskQueue(t.Context(), &persistence.InternalUpdateTaskQueueRequest{TaskQueue: "jobs"})
			return err
		},
		func() error {
			_, err := s.CreateTasks(t.Context(), &persistence.InternalCreateTasksRequest{TaskQueue: "jobs"})
			return err
		},
		func() error { // nobody knows what became of it
			inner.err = errors.New("the connection broke")
			_, err := s.CreateTasks(t.Context(), &persistence.InternalCreateTasksRequest{TaskQueue: "jobs"})
			require.ErrorIs(t, err, inner.err)
			return nil
		},
	} {
		require.NoError(t, write())
		require.Equal(t, int64(n+1), rangeOf(t, s, "jobs"))
	}
	require.Equal(t, int64(3), rangeOf(t, s, "calls"), "another queue")
}

func TestATaskQueueThatAnotherServerTookIsNoticed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := &table{}
		s := datastore.NewTaskQueues(inner)
		require.Zero(t, rangeOf(t, s, "jobs"))
		inner.rangeID = 7
		time.Sleep(5 * time.Minute) //nolint:forbidigo // of the bubble's clock
		require.Equal(t, int64(7), rangeOf(t, s, "jobs"))
	})
}
