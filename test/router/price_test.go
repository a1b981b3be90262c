package router_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A price that a provider states only when it accepts a submission is kept until the result arrives.
func TestPriceNamedOnAcceptanceIsCharged(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	estimate := c.do("POST", "/v2/models/bfl/flux-2-pro/estimate", `{"prompt":"x"}`)
	require.JSONEq(t, `{"currency":"USD","source":"estimated","min_amount":0.03,"max_amount":0.075,"pricing_as_of":"2026-11-01"}`,
		estimate.body)
	run := c.do("POST", "/v2/models/bfl/flux-2-pro", `{"prompt":"x"}`)
	for run.status == 504 && t.Context().Err() == nil { // polling begins after a second, and the deadline here is short
		run = c.do("POST", "/v2/models/bfl/flux-2-pro", `{"prompt":"x"}`)
	}
	require.Equal(t, 200, run.status, run.body)
	require.Equal(t, []string{"6.33", "0.03"}, []string{run.header.Get("X-Comfy-Credits-Used"), run.header.Get("X-Litellm-Response-Cost")})
}
