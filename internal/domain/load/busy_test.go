package load_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/load"
)

// begin begins n pieces of work, and returns what ends them all.
func begin(t *testing.T, gate *load.Gate, n int) (end func()) {
	t.Helper()
	ends := make([]func(), n)
	for i := range ends {
		end, err := gate.Begin(t.Context(), "a")
		require.NoError(t, err)
		ends[i] = end
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

func TestGateIsBusyUntilFewPassedForAMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const many, calm = 3, time.Second
		gate := load.New(load.Options{Busy: many, Calm: calm})
		require.False(t, gate.Busy())
		begin(t, gate, many-1)()
		require.False(t, gate.Busy(), "a few that ended")
		few := begin(t, gate, many-1)
		require.False(t, gate.Busy(), "a few")
		one := begin(t, gate, 1)
		<-time.After(2 * calm)
		require.True(t, gate.Busy(), "for as long as they are under way")
		one()
		few()
		require.True(t, gate.Busy(), "those that were answered together come back together")
		<-time.After(calm / 2)
		require.True(t, gate.Busy())
		<-time.After(calm / 2)
		require.False(t, gate.Busy(), "they do not come back")
	})
}

func TestGateThatNobodyHasLetsAllPass(t *testing.T) {
	t.Parallel()
	var gate *load.Gate
	begin(t, gate, 100)()
	require.False(t, gate.Busy())
}
