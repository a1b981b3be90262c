package eventtypes_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/eventtypes"
)

// The registry knows the events of every aggregate, and what each event means.
func TestTheRegistryKnowsTheEventsOfEveryAggregate(t *testing.T) {
	t.Parallel()
	types, err := eventtypes.Registry()
	require.NoError(t, err)
	var kinds []string
	for _, name := range types.Names() {
		require.NotEmpty(t, types.Says(name), name)
		kind, _, _ := strings.Cut(name, ".")
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	require.Equal(t, []string{
		"account", "asset", "call", "credit", "deployment", "download", "export", "history", "job", "machine", "node", "person", "pool", "queue",
		"reconcile", "server", "view", "webhook",
	}, slices.Compact(kinds))
}
