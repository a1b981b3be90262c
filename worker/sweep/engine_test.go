package sweep_test

import (
	"context"
	"errors"
	"strings"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// engine knows the status of workflows by whose they are; nothing else of it is used. What it has no status
// of it has forgotten.
type engine[ID ~string] struct {
	client.Client
	status map[ID]enums.WorkflowExecutionStatus
	broken ID // cannot be asked about
	tasks  map[ID]*workflowpb.PendingWorkflowTaskInfo
}

func (e engine[ID]) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if e.broken != "" && strings.Contains(id, string(e.broken)) {
		return nil, errors.New("a history that cannot be read")
	}
	for known, status := range e.status {
		if strings.Contains(id, string(known)) {
			return &workflowservice.DescribeWorkflowExecutionResponse{
				WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: status}, PendingWorkflowTask: e.tasks[known],
			}, nil
		}
	}
	return nil, serviceerror.NewNotFound("no such workflow")
}

const (
	running    = enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	paused     = enums.WORKFLOW_EXECUTION_STATUS_PAUSED
	terminated = enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
)

// all is an engine in which these are in one state.
func all[ID ~string](status enums.WorkflowExecutionStatus, ids ...ID) engine[ID] {
	e := engine[ID]{status: make(map[ID]enums.WorkflowExecutionStatus, len(ids))}
	for _, id := range ids {
		e.status[id] = status
	}
	return e
}
