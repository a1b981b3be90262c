package cloud_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/gate"
)

// What refuses a submission that is right in itself has one status and one envelope on each surface
// (W-03 to W-05, A-60, A-61, A-63).
func TestSubmissionThroughGates(t *testing.T) {
	t.Parallel()
	const prompt, v2 = "/api/prompt", "/api/v2/jobs"
	drained, stopped := gate.Gate{Own: gate.Draining, All: gate.Open}.Refusal(), gate.Gate{Own: gate.Open, All: gate.Stopped}.Refusal()
	for name, tc := range map[string]struct {
		refuse error
		path   string
		status int
		retry  string
		body   string
	}{
		"no credit, cloud": {
			credit.Insufficient(), prompt, http.StatusPaymentRequired, "",
			`{"error":{"type":"insufficient_credits","message":"the account does not have enough credits; add credits and try again",` +
				`"details":"","extra_info":{}},"node_errors":{}}`,
		},
		"no credit, v2": {
			credit.Insufficient(), v2, http.StatusPaymentRequired, "",
			`{"error":{"code":"insufficient_credits","message":"the account does not have enough credits; add credits and try again"}}`,
		},
		"draining, cloud": {
			drained, prompt, http.StatusServiceUnavailable, "30",
			`{"error":{"type":"deployment_not_ready","message":"an operator is draining the queue; new jobs are refused for now,` +
				` try again later","details":"","extra_info":{}},"node_errors":{}}`,
		},
		"draining, v2": {
			drained, v2, http.StatusTooManyRequests, "30",
			`{"error":{"code":"deployment_not_ready","message":"an operator is draining the queue; new jobs are refused for now, try again later"}}`,
		},
		"stopped, cloud": {
			stopped, prompt, http.StatusServiceUnavailable, "",
			`{"error":{"type":"deployment_stopped","message":"an operator has stopped the queue; new jobs are refused","details":"",` +
				`"extra_info":{}},"node_errors":{}}`,
		},
		"stopped, v2": {
			stopped, v2, http.StatusUnprocessableEntity, "",
			`{"error":{"code":"deployment_stopped","message":"an operator has stopped the queue; new jobs are refused"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := apitest.Start(t, apitest.Options{})
			h.Jobs.Refuse = tc.refuse
			got := h.Do(t, "POST", tc.path, map[string]string{prompt: `{"prompt":{}}`, v2: `{"workflow":{}}`}[tc.path])
			require.Equal(t, tc.status, got.Status)
			require.Equal(t, tc.retry, got.Header.Get("Retry-After"))
			require.JSONEq(t, tc.body, got.Body)
			require.NotContains(t, h.Logs.String(), "level=ERROR", "an operator's will alarms nobody")
		})
	}
}
