package outbox_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
)

func TestACrowdIsPresentUntilItWasGoneForAMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const many, calm = 3, time.Second
		c := outbox.NewCrowd(many, calm)
		require.False(t, c.Present())
		for range many - 1 {
			c.Enter()
		}
		require.False(t, c.Present(), "a few")
		c.Enter()
		<-time.After(2 * calm)
		require.True(t, c.Present(), "for as long as they are under way")
		for range many {
			c.Leave()
		}
		require.True(t, c.Present(), "those that were answered together come back together")
		<-time.After(calm / 2)
		require.True(t, c.Present())
		<-time.After(calm / 2)
		require.False(t, c.Present(), "they do not come back")
	})
}

func TestACrowdThatNobodyAsksForIsNotCounted(t *testing.T) {
	t.Parallel()
	var c *outbox.Crowd
	c.Enter()
	c.Leave()
}
