package activities_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/server"
)

// leased has the lease of one segment that has run. Anything but reading it is a panic.
type leased struct {
	placement.Store
	result string
}

func (l leased) Retake(context.Context, server.Key, string) (server.Lease, error) {
	return server.Lease{Attempt: 1, Result: json.RawMessage(l.result)}, nil
}

// A segment whose result was stored has run. A driver that cannot read the result does not run it again, and does not take
// it for one without values either.
func TestUnreadableResultOfASegmentIsAnError(t *testing.T) {
	t.Parallel()
	g := &activities.Graph{}
	for _, result := range []string{`{"values":{"of":"a newer version"}}`, `"text"`} {
		_, err := g.RunEmptySegment(t.Context(), leased{result: result})
		require.ErrorContains(t, err, "read the result of a segment", result)
	}
	values, err := g.RunEmptySegment(t.Context(), leased{result: `{}`})
	require.NoError(t, err)
	require.Empty(t, values)
}
