package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// failed ends the run because a node failed. If the failure lies outside the node, the node is retried.
func (c *chain) failed(ctx context.Context, unit int, pn *graph.PlanNode, inv node.Invocation, cause error) (bool, error) {
	if attempt.IsOutage(cause) {
		return false, cause
	}
	failure, inner := describe(pn, inv, cause), ""
	if c.plan.positions[unit] != nil { // clients only see nodes of the prompt
		root := c.plan.rootOf(unit)
		failure.Node, failure.Class, inner = root.Node, root.Class, pn.ID
	}
	c.g.Log.Warn("node failed", "job_id", c.params.Job, "node_id", pn.ID, "class", pn.Class, "error", cause)
	c.events.add(pn.ID, job.TypeNodeFailed, job.NodeFailedV1{Run: c.params.Run, Failure: failure, Inner: inner})
	c.result.Units = append(c.result.Units, graph.UnitResult{Unit: unit, Status: graph.Failed})
	c.result.Failed = pn.ID
	return false, nil
}

// describe converts a node's error to the failure that clients read. No other code does.
func describe(pn *graph.PlanNode, inv node.Invocation, cause error) job.Failure {
	kind := exceptionType(cause)
	message := "the node failed unexpectedly; the operator's log has the details"
	if fault.KindOf(cause) != fault.Internal {
		message = publicMessage(cause)
	}
	return job.Failure{
		Code: fault.CodeNodeExecutionError, Message: message, Node: pn.ID, Class: pn.Class,
		ExceptionType: kind, RuntimeType: runtimeType(cause), Inputs: formatInputs(inv.Inputs),
		Traceback: []string{fmt.Sprintf("node %s (%s)\n", pn.ID, pn.Class), kind + ": " + message + "\n"},
	}
}

// exceptionType maps a failure to the cloud contract's vocabulary (W-62 to W-64).
func exceptionType(cause error) string {
	switch fault.CodeOf(cause) { // most codes are of partner nodes
	case call.InsufficientCredits:
		return "InsufficientFundsError"
	case call.NotEnabled:
		return "InactiveSubscriptionError"
	case call.ModelNotFound, call.Forbidden:
		return "ModelDownloadError"
	case fault.CodePartnerFetch:
		return "ImageDownloadError"
	case call.ProviderError, call.ProviderTimeout, call.InternalError, call.ServiceUnavailable, call.CancelledType, fault.CodePartnerAnswer,
		fault.CodeNodeTimeout:
		return "ServiceError"
	}
	switch fault.KindOf(cause) {
	case fault.Invalid, fault.NotFound, fault.Conflict:
		return "ValidationError"
	case fault.Exhausted:
		return "OOMError"
	case fault.Internal, fault.Unavailable, fault.Unauthenticated, fault.Denied, fault.Canceled:
		return "ServiceError"
	}
	return "ServiceError"
}

// runtimeType returns the name of the exception that ComfyUI raises in place of a failure, or "".
func runtimeType(cause error) string {
	var f *fault.Error
	if !errors.As(cause, &f) {
		return ""
	}
	return f.Exception
}

func publicMessage(cause error) string {
	var f *fault.Error
	if !errors.As(cause, &f) {
		return "the node failed"
	}
	return f.Message
}

// maxInputText bounds the text of one input in a failure.
const maxInputText = 256

// formatInputs renders current_inputs: name → list of one formatted value, the format that existing clients read.
func formatInputs(args node.Args) json.RawMessage {
	shown := make(map[string][]string, len(args))
	for name, value := range args {
		shown[name] = []string{fault.Shorten(node.Describe(value), maxInputText)}
	}
	raw, err := json.Marshal(shown)
	if err != nil {
		return nil // strings always marshal
	}
	return raw
}
