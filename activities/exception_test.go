package activities_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestExceptionTypesFollowTheContract(t *testing.T) { // W-62 to W-64
	t.Parallel()
	for want, causes := range map[string][]error{
		"ValidationError": {
			fault.New(fault.Invalid, call.InvalidInput, "x"), fault.New(fault.Invalid, call.PolicyViolation, "x"),
			fault.New(fault.Invalid, fault.CodeInputType, "x"), fault.New(fault.NotFound, "", "x"),
		},
		"ModelDownloadError":        {fault.New(fault.NotFound, call.ModelNotFound, "x"), fault.New(fault.Denied, call.Forbidden, "x")},
		"ImageDownloadError":        {fault.New(fault.Conflict, fault.CodePartnerFetch, "x")},
		"OOMError":                  {fault.New(fault.Exhausted, fault.CodeAnswerLimit, "x"), fault.New(fault.Exhausted, "", "x")},
		"InsufficientFundsError":    {fault.New(fault.Denied, call.InsufficientCredits, "x")},
		"InactiveSubscriptionError": {fault.New(fault.Denied, call.NotEnabled, "x")},
		"ServiceError": {
			fault.New(fault.Conflict, call.ProviderError, "x"), fault.New(fault.Conflict, call.ProviderTimeout, "x"),
			fault.New(fault.Conflict, fault.CodePartnerAnswer, "x"), fault.New(fault.Unauthenticated, "", "x"), errors.New("a bug"),
		},
	} {
		for _, cause := range causes {
			require.Equal(t, want, activities.ExceptionType(fmt.Errorf("node 1: %w", cause)), "%v", cause)
		}
	}
}

// Clients see the values that they submitted, and what a server says about linked inputs, but neither its hidden inputs nor its paths.
func TestInputsOfANodeThatFailedOnAServer(t *testing.T) {
	t.Parallel()
	s := &graph.Segment{
		Nodes: []graph.PlanNode{{ID: "1"}, {
			ID: "2", Constants: node.Args{"seed": int64(1<<62 + 1), "image": "mine.png"}, Links: map[string]graph.Link{"model": {}},
		}},
		Inputs: []graph.SegmentIn{{Node: 0, Input: "text"}, {Node: 1, Input: "mask"}},
	}
	e := &driving.NodeError{ExecutionError: comfyui.ExecutionError{Node: "2", Inputs: map[string]json.RawMessage{
		"seed": json.RawMessage(`[4e18]`), "image": json.RawMessage(`["millrace/copy.png"]`), "mask": json.RawMessage(`["tensor",true]`),
		"model": json.RawMessage(`["<at /home/somebody/ComfyUI/comfy/sd.py>"]`), "text": json.RawMessage(`["of another"]`),
		"auth_token": json.RawMessage(`["hidden"]`),
	}}}
	require.JSONEq(t, `{"seed":["4611686018427387905"],"image":["mine.png"],"mask":["tensor","True"],"model":["<at comfy/sd.py>"]}`,
		string(activities.InputsOf(s, e)))
	e.Node = "3"
	require.Nil(t, activities.InputsOf(s, e), "the node is not one of the graph")
}

func TestFailuresNameTheExceptionOfComfyUI(t *testing.T) {
	t.Parallel()
	ours := fault.New(fault.Invalid, fault.CodeInputType, "a picture has no truth value")
	raised := ours.Raising("RuntimeError", "Boolean value of Tensor is ambiguous")
	require.Equal(t, "RuntimeError", activities.RuntimeType(fmt.Errorf("node 1: %w", raised)))
	require.Equal(t, "ValidationError", activities.ExceptionType(raised))
	require.Equal(t, "Boolean value of Tensor is ambiguous\na picture has no truth value", raised.Message)
	require.Empty(t, activities.RuntimeType(ours))
}
