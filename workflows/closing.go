package workflows

import (
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/modelcall"
)

// Types of the errors with which workflows fail whose work failed. They are benign: nothing is wrong with the service.
const (
	NodeFailed = "NodeFailed"
	RunFailed  = "RunFailed" // outside the nodes
	CallFailed = "CallFailed"
)

// closing returns how the workflow of a job ends once its end is recorded. Histories of versions whose Finish returned
// nothing have no outcome: their workflows completed, whatever became of the job, and so do they when they replay.
func closing(end activities.FinishResult) error {
	switch end.Outcome {
	case activities.Canceled:
		return temporal.NewCanceledError()
	case activities.Failed:
		if end.Node == "" {
			return benign("the run failed outside its nodes: "+end.Type, RunFailed)
		}
		return benign("node "+end.Node+" ("+end.Class+") failed: "+end.Type, NodeFailed)
	case activities.Succeeded:
	}
	return nil
}

// closingCall returns how the workflow of a model call ends; "" is as for closing.
func closingCall(step modelcall.Step) error {
	switch step.Outcome {
	case modelcall.OutcomeCanceled:
		return temporal.NewCanceledError()
	case modelcall.OutcomeFailed:
		return benign("the call failed: "+step.Cause, CallFailed)
	case modelcall.OutcomeUnknown:
		return benign("the outcome of the call is unknown: "+step.Cause, CallFailed)
	case modelcall.OutcomeSucceeded:
	}
	return nil
}

// benign returns an error that ends a workflow as failed without being an error of the service.
func benign(message, kind string) error {
	return temporal.NewApplicationErrorWithOptions(message, kind, temporal.ApplicationErrorOptions{
		NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign,
	})
}
