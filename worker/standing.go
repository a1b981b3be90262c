package worker

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// Standing is where the workflow engine has a workflow.
type Standing struct {
	Known  bool // the engine has it
	Status enums.WorkflowExecutionStatus
}

// GoesOn reports whether the workflow has not come to an end. One that an operator paused has not.
func (s Standing) GoesOn() bool {
	switch s.Status {
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW, enums.WORKFLOW_EXECUTION_STATUS_PAUSED:
		return s.Known
	default:
		return false
	}
}

// StandingOf asks the engine for the latest execution of a workflow.
func StandingOf(ctx context.Context, c client.Client, workflow string) (Standing, error) {
	d, err := c.DescribeWorkflowExecution(ctx, workflow, "")
	var absent *serviceerror.NotFound
	switch {
	case errors.As(err, &absent):
		return Standing{}, nil
	case err != nil:
		return Standing{}, fmt.Errorf("ask Temporal for workflow %s: %w", workflow, err)
	}
	return Standing{Known: true, Status: d.GetWorkflowExecutionInfo().GetStatus()}, nil
}
