package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
)

// W-62, W-63: what the account may not do is reported by the exception types of the cloud contract.
func TestForbiddenModelFailsItsNode(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change []string // of the account
		kind   string
		says   string
	}{
		"without funds": {
			[]string{"accounts", "credit", "", "--amount", "0", "--reason", "metered"},
			"InsufficientFundsError",
			"insufficient_credits",
		},
		"router off":    {[]string{"accounts", "models", "", "--router", "off", "--reason", "test"}, "InactiveSubscriptionError", "not_enabled"},
		"not its model": {[]string{"accounts", "models", "", "--deny", "sim/image", "--reason", "test"}, "ModelDownloadError", "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, "pro")
			tc.change[2] = c.account
			socket := c.dial("")
			id := c.ordered(`{
			"0":{"class_type":"Partner_sim_image","inputs":{"prompt":"slowly [sim:delay=20s]"}},
			"1":{"class_type":"Partner_sim_image","inputs":{"prompt":"over it","image":["0",0]}},
			"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"painted"}}}`)
			c.awaitCall(call.Running)
			start(t).Run(t, tc.change...) // while the job runs; a submission is refused behind it
			c.await(id, "failed")
			frames := socket.until(func(f frame) bool { return f.Type == "execution_error" })
			failure := frames[len(frames)-1].Data
			require.Equal(t, id, failure["prompt_id"])
			require.Equal(t, "1", failure["node_id"])
			require.Equal(t, "Partner_sim_image", failure["node_type"])
			require.Equal(t, tc.kind, failure["exception_type"])
			require.Contains(t, failure["exception_message"], tc.says)
			require.NotEmpty(t, failure["traceback"])
			require.NotEmpty(t, failure["current_inputs"])
			c.awaitCall(call.Succeeded) // the first node's, and none of the second's
		})
	}
}
