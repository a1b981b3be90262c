package router_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/router"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
)

// A call is answered with the status that its failure is recorded with.
func TestAFailureIsAnsweredWithItsRecordedStatus(t *testing.T) {
	t.Parallel()
	for errorType, want := range map[string]int{
		call.InvalidInput: 400, call.PolicyViolation: 400, call.RateLimited: 429, call.ConcurrencyLimit: 429, call.InternalError: 500,
		call.ProviderError: 502, call.ServiceUnavailable: 503, call.ProviderTimeout: 504, call.QueueTimeout: 504,
	} {
		raw, err := json.Marshal(call.Failure{Type: errorType})
		require.NoError(t, err)
		var recorded call.Failure
		require.NoError(t, json.Unmarshal(raw, &recorded))
		require.Equal(t, want, recorded.Status, errorType)
		require.Equal(t, want, router.Status(&call.Refusal{Type: errorType}), errorType)
	}
	raw, err := json.Marshal(call.Failure{Type: call.InvalidInput, Validation: "[]"})
	require.NoError(t, err)
	require.Contains(t, string(raw), `"status":422`)
	old, err := json.Marshal(call.Failure{Type: call.ProviderError, Status: 504})
	require.NoError(t, err)
	require.Contains(t, string(old), `"status":504`, "what was recorded stays")
}

// What the type does not say follows from the kind and the code.
func TestStatusesThatTheTypeDoesNotDecide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   fault.Kind
		code   fault.Code
		of     string
		status int
	}{
		{fault.Conflict, "", call.InvalidInput, 409},
		{fault.Conflict, "", call.ConcurrencyLimit, 409},
		{fault.Conflict, "", call.CancelledType, 409},
		{fault.Invalid, fault.CodeContents, call.InvalidInput, 422},
		{fault.NotFound, fault.CodeExpired, call.RequestNotFound, 410},
		{fault.NotFound, "", call.RequestNotFound, 404},
		{fault.NotFound, "", call.ModelNotFound, 404},
		{fault.Unauthenticated, "", call.Unauthorized, 401},
		{fault.Exhausted, "", call.InsufficientCredits, 402},
		{fault.Denied, "", call.NotEnabled, 403},
		{fault.Canceled, "", call.ClientDisconnected, 499},
		{fault.Unavailable, "", call.DeadlineExceeded, 504},
	} {
		require.Equal(t, c.status, router.Status(call.RefuseWith(c.kind, c.code, c.of, "x")), c.of)
	}
}
