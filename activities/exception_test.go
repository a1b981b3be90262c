package activities_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/domain/call"
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

func TestFailuresNameTheExceptionOfComfyUI(t *testing.T) {
	t.Parallel()
	ours := fault.New(fault.Invalid, fault.CodeInputType, "a picture has no truth value")
	raised := ours.Raising("RuntimeError", "Boolean value of Tensor is ambiguous")
	require.Equal(t, "RuntimeError", activities.RuntimeType(fmt.Errorf("node 1: %w", raised)))
	require.Equal(t, "ValidationError", activities.ExceptionType(raised))
	require.Equal(t, "Boolean value of Tensor is ambiguous\na picture has no truth value", raised.Message)
	require.Empty(t, activities.RuntimeType(ours))
}
