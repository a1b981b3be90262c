package datastore

import (
	"context"
	"maps"
	"slices"

	enumsspb "go.temporal.io/server/api/enums/v1"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/serialization"
	"go.temporal.io/server/service/history/tasks"
)

// executions is the server's store of workflows with fewer commits and fewer reads.
type executions struct {
	persistence.ExecutionStore
	serializer serialization.Serializer
	created    created
	closed     closed
}

// NewExecutions returns a store over inner, whose writes are joined if its database is Joining. It saves two reads of the state of a short
// workflow, of nine statements each. The first read of a created workflow comes from memory, and the timeouts of tasks of a workflow that
// has closed meanwhile, which have no effect, are not returned.
func NewExecutions(inner persistence.ExecutionStore, s serialization.Serializer) persistence.ExecutionStore {
	return &executions{ExecutionStore: inner, serializer: s}
}

// append writes the events of a history within a joined transaction.
func (s *executions) append(ctx context.Context, batches ...[]*persistence.InternalAppendHistoryNodesRequest) error {
	for _, events := range slices.Concat(batches...) {
		if err := s.AppendHistoryNodes(ctx, events); err != nil {
			return err
		}
	}
	return nil
}

// write runs the writes of events, and then that of the state, in one transaction.
func (s *executions) write(ctx context.Context, state func(context.Context) error,
	events ...[]*persistence.InternalAppendHistoryNodesRequest,
) error {
	ctx, j := join(ctx)
	err := s.append(ctx, events...)
	if err == nil {
		j.last = true
		err = state(ctx)
	}
	if undo := j.abandon(); err == nil {
		return undo
	}
	return err // unchanged, because the server checks its type
}

// CreateWorkflowExecution implements persistence.ExecutionStore.
func (s *executions) CreateWorkflowExecution(
	ctx context.Context, request *persistence.InternalCreateWorkflowExecutionRequest,
) (response *persistence.InternalCreateWorkflowExecutionResponse, err error) {
	state := *request
	state.NewWorkflowNewEvents = nil
	key := runOf(&request.NewWorkflowSnapshot, request.ShardID)
	s.created.begin(key)
	err = s.write(ctx, func(ctx context.Context) error {
		response, err = s.ExecutionStore.CreateWorkflowExecution(ctx, &state)
		return err
	}, request.NewWorkflowNewEvents)
	if err != nil {
		s.created.forget(key)
		return nil, err
	}
	s.created.keep(key, stateOf(&request.NewWorkflowSnapshot))
	return response, nil
}

// UpdateWorkflowExecution implements persistence.ExecutionStore.
func (s *executions) UpdateWorkflowExecution(ctx context.Context, request *persistence.InternalUpdateWorkflowExecutionRequest) error {
	state := *request
	state.UpdateWorkflowNewEvents, state.NewWorkflowNewEvents = nil, nil
	m := &request.UpdateWorkflowMutation
	s.created.forget(run{request.ShardID, m.NamespaceID, m.WorkflowID, m.ExecutionState.GetRunId()})
	err := s.write(ctx, func(ctx context.Context) error {
		return s.ExecutionStore.UpdateWorkflowExecution(ctx, &state)
	}, request.UpdateWorkflowNewEvents, request.NewWorkflowNewEvents)
	if err == nil && m.ExecutionState.GetState() == enumsspb.WORKFLOW_EXECUTION_STATE_COMPLETED {
		s.closed.add(m.ExecutionState.GetRunId())
	}
	return err
}

// ConflictResolveWorkflowExecution implements persistence.ExecutionStore.
func (s *executions) ConflictResolveWorkflowExecution(ctx context.Context,
	request *persistence.InternalConflictResolveWorkflowExecutionRequest,
) error {
	s.created.forgetAll()
	s.closed.forgetAll() // a conflict can open a run again
	return s.ExecutionStore.ConflictResolveWorkflowExecution(ctx, request)
}

// SetWorkflowExecution implements persistence.ExecutionStore.
func (s *executions) SetWorkflowExecution(ctx context.Context, request *persistence.InternalSetWorkflowExecutionRequest) error {
	s.created.forget(runOf(&request.SetWorkflowSnapshot, request.ShardID))
	return s.ExecutionStore.SetWorkflowExecution(ctx, request)
}

// DeleteWorkflowExecution implements persistence.ExecutionStore.
func (s *executions) DeleteWorkflowExecution(ctx context.Context, request *persistence.DeleteWorkflowExecutionRequest) error {
	s.created.forget(run{request.ShardID, request.NamespaceID, request.WorkflowID, request.RunID})
	return s.ExecutionStore.DeleteWorkflowExecution(ctx, request)
}

// GetWorkflowExecution implements persistence.ExecutionStore.
func (s *executions) GetWorkflowExecution(
	ctx context.Context, request *persistence.GetWorkflowExecutionRequest,
) (*persistence.InternalGetWorkflowExecutionResponse, error) {
	if state := s.created.take(run{request.ShardID, request.NamespaceID, request.WorkflowID, request.RunID}); state != nil {
		return &persistence.InternalGetWorkflowExecutionResponse{State: state, DBRecordVersion: state.DBRecordVersion}, nil
	}
	return s.ExecutionStore.GetWorkflowExecution(ctx, request)
}

// GetHistoryTasks implements persistence.ExecutionStore. A request for a single task asks for the time of the next
// task, and an answer without a task would mean that no task is due for a while.
func (s *executions) GetHistoryTasks(
	ctx context.Context, request *persistence.GetHistoryTasksRequest,
) (*persistence.InternalGetHistoryTasksResponse, error) {
	response, err := s.ExecutionStore.GetHistoryTasks(ctx, request)
	if err != nil || request.TaskCategory != tasks.CategoryTimer || request.BatchSize == 1 || s.closed.empty() {
		return response, err
	}
	response.Tasks = slices.DeleteFunc(response.Tasks, func(t persistence.InternalHistoryTask) bool {
		task, err := s.serializer.DeserializeTask(request.TaskCategory, t.Blob)
		if err != nil {
			return false // the server's own attempt reports the reason
		}
		timeout, ok := task.(*tasks.WorkflowTaskTimeoutTask)
		return ok && s.closed.has(timeout.RunID)
	})
	return response, nil
}

func runOf(s *persistence.InternalWorkflowSnapshot, shard int32) run {
	return run{shard, s.NamespaceID, s.WorkflowID, s.RunID}
}

// stateOf returns what the database returns for a new workflow.
func stateOf(s *persistence.InternalWorkflowSnapshot) *persistence.InternalWorkflowMutableState {
	return &persistence.InternalWorkflowMutableState{
		ActivityInfos: s.ActivityInfos, TimerInfos: s.TimerInfos, ChildExecutionInfos: s.ChildExecutionInfos,
		RequestCancelInfos: s.RequestCancelInfos, SignalInfos: s.SignalInfos, ChasmNodes: s.ChasmNodes,
		SignalRequestedIDs: slices.Sorted(maps.Keys(s.SignalRequestedIDs)),
		ExecutionInfo:      s.ExecutionInfoBlob, ExecutionState: s.ExecutionStateBlob,
		NextEventID: s.NextEventID, DBRecordVersion: s.DBRecordVersion,
	}
}
