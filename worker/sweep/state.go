package sweep

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// WorkflowState is the state of a workflow in Temporal.
type WorkflowState struct {
	Known  bool // Temporal has the workflow
	Status enums.WorkflowExecutionStatus
}

// Open reports whether the workflow has not ended. A paused workflow has not ended.
func (s WorkflowState) Open() bool {
	switch s.Status {
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW, enums.WORKFLOW_EXECUTION_STATUS_PAUSED:
		return s.Known
	default:
		return false
	}
}

// EndedByItself reports whether the workflow returned: it completed, failed or was canceled, as its job did, after the end
// of the job was recorded.
func (s WorkflowState) EndedByItself() bool {
	switch s.Status {
	case enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, enums.WORKFLOW_EXECUTION_STATUS_FAILED, enums.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return s.Known
	default:
		return false
	}
}

// StateOf returns the state of the latest execution of a workflow.
func StateOf(ctx context.Context, c client.Client, workflow string) (WorkflowState, error) {
	d, err := c.DescribeWorkflowExecution(ctx, workflow, "")
	var absent *serviceerror.NotFound
	switch {
	case errors.As(err, &absent):
		return WorkflowState{}, nil
	case err != nil:
		return WorkflowState{}, fmt.Errorf("read the state of workflow %s: %w", workflow, err)
	}
	return WorkflowState{Known: true, Status: d.GetWorkflowExecutionInfo().GetStatus()}, nil
}

// String returns a text for log lines.
func (s WorkflowState) String() string {
	if !s.Known {
		return "unknown"
	}
	return s.Status.String()
}
