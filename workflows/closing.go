package workflows

import (
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/modelcall"
)

// Error types of workflows that end as failed because their work failed. The errors are benign: the service itself
// did not fail.
const (
	NodeFailed = "NodeFailed"
	RunFailed  = "RunFailed" // the run failed outside its nodes
	CallFailed = "CallFailed"
)

// closing returns the result of a job's workflow after the end of the job is recorded. Without an outcome, the
// run did not end: its job is queued again.
func closing(end activities.FinishResult) error {
	switch end.Outcome {
	case activities.Canceled:
		return temporal.NewCanceledError()
	case activities.Failed:
		if end.Node == "" {
			return benignError("the run failed outside its nodes: "+end.Type, RunFailed)
		}
		return benignError("node "+end.Node+" ("+end.Class+") failed: "+end.Type, NodeFailed)
	case activities.Succeeded:
	}
	return nil
}

// closingCall returns the result of a model call's workflow.
func closingCall(step modelcall.Step) error {
	switch step.Outcome {
	case modelcall.OutcomeCanceled:
		return temporal.NewCanceledError()
	case modelcall.OutcomeFailed:
		return benignError("the call failed: "+step.Cause, CallFailed)
	case modelcall.OutcomeUnknown:
		return benignError("the outcome of the call is unknown: "+step.Cause, CallFailed)
	case modelcall.OutcomeSucceeded:
	}
	return nil
}

// benignError returns an error that ends a workflow as failed without counting as an error of the service.
func benignError(message, kind string) error {
	return temporal.NewApplicationErrorWithOptions(message, kind, temporal.ApplicationErrorOptions{
		NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign,
	})
}
