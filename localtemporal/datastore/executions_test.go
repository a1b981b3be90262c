package datastore_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	enumsspb "go.temporal.io/server/api/enums/v1"
	persistencespb "go.temporal.io/server/api/persistence/v1"
	"go.temporal.io/server/common/definition"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/serialization"
	"go.temporal.io/server/service/history/tasks"

	"github.com/millrace-dev/millrace/localtemporal/datastore"
)

// workflows is a store of workflows that notes what is written, in order, and counts its reads.
type workflows struct {
	persistence.ExecutionStore
	written []string
	reads   int
	during  func() // runs while a workflow is created
	err     error  // of a creation or an update
	tasks   []persistence.InternalHistoryTask
}

func (s *workflows) AppendHistoryNodes(_ context.Context, r *persistence.InternalAppendHistoryNodesRequest) error {
	s.written = append(s.written, "events of "+r.Info)
	return nil
}

func (s *workflows) CreateWorkflowExecution(
	_ context.Context, r *persistence.InternalCreateWorkflowExecutionRequest,
) (*persistence.InternalCreateWorkflowExecutionResponse, error) {
	s.written = append(s.written, "state")
	if s.during != nil {
		s.during()
	}
	for range r.NewWorkflowNewEvents {
		s.written = append(s.written, "events again")
	}
	return &persistence.InternalCreateWorkflowExecutionResponse{}, s.err
}

func (s *workflows) UpdateWorkflowExecution(_ context.Context, r *persistence.InternalUpdateWorkflowExecutionRequest) error {
	s.written = append(s.written, "state")
	for range append(r.UpdateWorkflowNewEvents, r.NewWorkflowNewEvents...) {
		s.written = append(s.written, "events again")
	}
	return s.err
}

func (s *workflows) GetHistoryTasks(context.Context,
	*persistence.GetHistoryTasksRequest,
) (*persistence.InternalGetHistoryTasksResponse, error) {
	return &persistence.InternalGetHistoryTasksResponse{Tasks: slices.Clone(s.tasks)}, nil
}

func (s *workflows) GetWorkflowExecution(context.Context,
	*persistence.GetWorkflowExecutionRequest,
) (*persistence.InternalGetWorkflowExecutionResponse, error) {
	s.reads++
	return &persistence.InternalGetWorkflowExecutionResponse{
		State:           &persistence.InternalWorkflowMutableState{NextEventID: 99},
		DBRecordVersion: 9,
	}, nil
}

var creation = persistence.InternalCreateWorkflowExecutionRequest{
	ShardID:              3,
	NewWorkflowNewEvents: []*persistence.InternalAppendHistoryNodesRequest{{Info: "a"}, {Info: "b"}},
	NewWorkflowSnapshot: persistence.InternalWorkflowSnapshot{
		NamespaceID: "n", WorkflowID: "w", RunID: "r", NextEventID: 4, DBRecordVersion: 1,
		ExecutionInfoBlob: &common.DataBlob{Data: []byte("info")}, ExecutionStateBlob: &common.DataBlob{Data: []byte("state")},
		ActivityInfos:      map[int64]*common.DataBlob{5: {Data: []byte("activity")}},
		SignalRequestedIDs: map[string]struct{}{"two": {}, "one": {}},
	},
}

func create(t *testing.T, s persistence.ExecutionStore) {
	t.Helper()
	_, err := s.CreateWorkflowExecution(t.Context(), &creation)
	require.NoError(t, err)
}

func read(t *testing.T, s persistence.ExecutionStore) *persistence.InternalGetWorkflowExecutionResponse {
	t.Helper()
	got, err := s.GetWorkflowExecution(t.Context(), &persistence.GetWorkflowExecutionRequest{
		ShardID: 3, NamespaceID: "n", WorkflowID: "w",
		RunID: "r",
	})
	require.NoError(t, err)
	return got
}

func TestANewWorkflowIsReadFromMemoryOnce(t *testing.T) {
	t.Parallel()
	inner := &workflows{}
	s := datastore.NewExecutions(inner, serialization.NewSerializer())
	create(t, s)
	require.Equal(t, []string{"events of a", "events of b", "state"}, inner.written)
	require.Equal(t, &persistence.InternalGetWorkflowExecutionResponse{DBRecordVersion: 1, State: &persistence.InternalWorkflowMutableState{
		ExecutionInfo: &common.DataBlob{Data: []byte("info")}, ExecutionState: &common.DataBlob{Data: []byte("state")},
		ActivityInfos:      map[int64]*common.DataBlob{5: {Data: []byte("activity")}},
		SignalRequestedIDs: []string{"one", "two"}, NextEventID: 4, DBRecordVersion: 1,
	}}, read(t, s))
	require.Zero(t, inner.reads)
	require.Equal(t, int64(9), read(t, s).DBRecordVersion)
	require.Equal(t, 1, inner.reads)
}

func TestAWorkflowThatWasWrittenSinceIsReadFromTheDatabase(t *testing.T) {
	t.Parallel()
	inner := &workflows{}
	s := datastore.NewExecutions(inner, serialization.NewSerializer())
	update := func() {
		require.NoError(t, s.UpdateWorkflowExecution(t.Context(), &persistence.InternalUpdateWorkflowExecutionRequest{
			ShardID: 3, UpdateWorkflowNewEvents: []*persistence.InternalAppendHistoryNodesRequest{{Info: "c"}},
			UpdateWorkflowMutation: persistence.InternalWorkflowMutation{
				NamespaceID: "n", WorkflowID: "w", ExecutionState: &persistencespb.WorkflowExecutionState{RunId: "r"},
			},
		}))
	}
	create(t, s)
	update()
	require.Equal(t, int64(9), read(t, s).DBRecordVersion)
	require.Equal(t, []string{"events of a", "events of b", "state", "events of c", "state"}, inner.written)

	inner.during = update // as soon as it is in the database, before the creation has returned
	create(t, s)
	require.Equal(t, int64(9), read(t, s).DBRecordVersion)
}

func TestAWorkflowWhoseCreationFailedIsNotKnown(t *testing.T) {
	t.Parallel()
	inner := &workflows{err: &persistence.CurrentWorkflowConditionFailedError{Msg: "it runs already"}}
	s := datastore.NewExecutions(inner, serialization.NewSerializer())
	_, err := s.CreateWorkflowExecution(t.Context(), &creation)
	require.Same(t, inner.err, err, "the server goes by its type")
	require.Equal(t, int64(9), read(t, s).DBRecordVersion)
}

func TestTheTimeoutsOfAClosedWorkflowAreNotReturned(t *testing.T) {
	t.Parallel()
	serializer := serialization.NewSerializer()
	inner := &workflows{}
	for _, task := range []tasks.Task{
		&tasks.WorkflowTaskTimeoutTask{WorkflowKey: definition.NewWorkflowKey("n", "w", "ended"), TaskID: 1},
		&tasks.WorkflowTaskTimeoutTask{WorkflowKey: definition.NewWorkflowKey("n", "w", "runs"), TaskID: 2},
		&tasks.UserTimerTask{WorkflowKey: definition.NewWorkflowKey("n", "w", "ended"), TaskID: 3},
	} {
		blob, err := serializer.SerializeTask(task)
		require.NoError(t, err)
		inner.tasks = append(inner.tasks, persistence.InternalHistoryTask{Key: task.GetKey(), Blob: blob})
	}
	s := datastore.NewExecutions(inner, serializer)
	update := func(run string, state enumsspb.WorkflowExecutionState) error {
		return s.UpdateWorkflowExecution(t.Context(), &persistence.InternalUpdateWorkflowExecutionRequest{
			UpdateWorkflowMutation: persistence.InternalWorkflowMutation{
				NamespaceID: "n", WorkflowID: "w", ExecutionState: &persistencespb.WorkflowExecutionState{RunId: run, State: state},
			},
		})
	}
	ids := func(category tasks.Category, size int) (out []int64) {
		got, err := s.GetHistoryTasks(t.Context(), &persistence.GetHistoryTasksRequest{TaskCategory: category, BatchSize: size})
		require.NoError(t, err)
		for _, task := range got.Tasks {
			out = append(out, task.Key.TaskID)
		}
		return out
	}
	all := []int64{1, 2, 3}
	inner.err = &persistence.CurrentWorkflowConditionFailedError{Msg: "somebody wrote it meanwhile"}
	require.Error(t, update("ended", enumsspb.WORKFLOW_EXECUTION_STATE_COMPLETED))
	inner.err = nil
	require.NoError(t, update("runs", enumsspb.WORKFLOW_EXECUTION_STATE_RUNNING))
	require.Equal(t, all, ids(tasks.CategoryTimer, 100), "both run")

	require.NoError(t, update("ended", enumsspb.WORKFLOW_EXECUTION_STATE_COMPLETED))
	require.Equal(t, []int64{2, 3}, ids(tasks.CategoryTimer, 100))
	require.Equal(t, all, ids(tasks.CategoryTimer, 1), "the server asks for one task to know when the next one is due")
	require.Equal(t, all, ids(tasks.CategoryTransfer, 100))
}
