package gate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/fault"
)

// The stricter of the modes of an account's queue and of all queues decides, whichever of the two it is.
func TestTheStricterModeDecides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		one, other gate.Mode
		starts     bool
		refusal    fault.Code
		retry      time.Duration
	}{
		{gate.Open, gate.Open, true, "", 0},
		{gate.Open, gate.Paused, false, "", 0},
		{gate.Paused, gate.Paused, false, "", 0},
		{gate.Open, gate.Draining, true, fault.CodeDeploymentNotReady, 30 * time.Second},
		{gate.Paused, gate.Draining, false, fault.CodeDeploymentNotReady, 30 * time.Second},
		{gate.Draining, gate.Stopped, false, fault.CodeDeploymentStopped, 0},
		{gate.Open, gate.Stopped, false, fault.CodeDeploymentStopped, 0},
	} {
		for _, g := range []gate.Gate{{Own: c.one, All: c.other}, {Own: c.other, All: c.one}} {
			require.Equal(t, c.starts, g.Starts(), "%+v", g)
			err := g.Refusal()
			require.Equal(t, c.refusal, fault.CodeOf(err), "%+v", g)
			var refused *fault.Error
			if c.refusal != "" {
				require.ErrorAs(t, err, &refused)
				require.Equal(t, c.retry, refused.RetryAfter, "%+v", g)
			}
		}
	}
}

func TestAChangeNamesTheAccountTheActorAndTheReason(t *testing.T) {
	t.Parallel()
	whole := gate.Change{Account: "a", Mode: gate.Paused, Actor: "ops", Reason: strings.Repeat("w", 1000)}
	require.NoError(t, whole.Check())
	for name, change := range map[string]func(*gate.Change){
		"no account":        func(c *gate.Change) { c.Account = "" },
		"no actor":          func(c *gate.Change) { c.Actor = "" },
		"no reason":         func(c *gate.Change) { c.Reason = "" },
		"an unknown mode":   func(c *gate.Change) { c.Mode = "shut" },
		"a reason too long": func(c *gate.Change) { c.Reason += "y" },
	} {
		c := whole
		change(&c)
		require.True(t, fault.Is(c.Check(), fault.Invalid), name)
	}
}
