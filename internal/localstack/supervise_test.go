//go:build unix

package localstack_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/localstack"
)

// mortal is a server that exits after a while.
type mortal struct{ done chan struct{} }

func newMortal(lives time.Duration) *mortal {
	m := &mortal{done: make(chan struct{})}
	time.AfterFunc(lives, func() { close(m.done) })
	return m
}

func (m *mortal) Done() <-chan struct{} { return m.done }
func (m *mortal) Err() error            { return errors.New("killed") }

func TestServerThatIsKilledOftenIsRestartedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const lives, kills = 5 * time.Second, 3 * localstack.MaxFailures
		ctx, stop := context.WithCancel(t.Context())
		began, restarts := time.Now(), 0
		err := localstack.Keep(ctx, newMortal(lives), func(context.Context) (localstack.Server, error) {
			if restarts++; restarts == kills {
				stop()
			}
			return newMortal(lives), nil
		})
		require.NoError(t, err, "it was given up")
		require.Equal(t, kills, restarts)
		require.Equal(t, kills*lives, time.Since(began), "a restart waited")
	})
}

func TestServerThatCannotRunIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		restarts := 0
		err := localstack.Keep(t.Context(), newMortal(time.Minute), func(context.Context) (localstack.Server, error) {
			restarts++
			return newMortal(time.Second), nil
		})
		require.ErrorContains(t, err, "does not keep running")
		require.Equal(t, localstack.MaxFailures, restarts)
	})
}
