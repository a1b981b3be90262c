package call_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
)

// watched is a process that is looked at every two seconds.
type watched struct {
	t          *testing.T
	now        time.Time
	heartbeats *call.Heartbeats
}

func watch(t *testing.T) *watched {
	w := &watched{t: t, now: time.Unix(1e9, 0)}
	w.heartbeats = call.NewHeartbeats(func() time.Time { return w.now })
	return w
}

// silentFor looks for a while at a sign that does not change.
func (w *watched) silentFor(d time.Duration, sign time.Time) (alive bool) {
	for range d / (2 * time.Second) {
		w.now = w.now.Add(2 * time.Second)
		alive = w.heartbeats.Alive("w", sign)
	}
	return alive
}

func TestProcessWithoutHeartbeatsIsDead(t *testing.T) {
	t.Parallel()
	w, sign := watch(t), time.Unix(5, 0)
	require.True(t, w.silentFor(16*time.Second, sign))
	require.False(t, w.silentFor(2*time.Second, sign))
	require.True(t, w.silentFor(2*time.Second, sign.Add(time.Second)), "it was only slow")
}

// A process cannot say that it lives while the database is away: what it has on the wire is not given up for that.
func TestSilenceDuringAnOutageDoesNotCount(t *testing.T) {
	t.Parallel()
	w, sign := watch(t), time.Unix(5, 0)
	require.True(t, w.silentFor(4*time.Second, sign))
	w.now = w.now.Add(30 * time.Second) // the database is away
	require.True(t, w.heartbeats.Alive("w", sign), "before its first sign behind the outage")
	require.True(t, w.silentFor(4*time.Second, sign.Add(34*time.Second)))
	w.now = w.now.Add(30 * time.Second)
	require.True(t, w.silentFor(16*time.Second, sign))
	require.False(t, w.silentFor(2*time.Second, sign), "it did not live to see its end")
}

// The database's clock says nothing of life: set forward it makes every sign old, set back it makes those of the
// dead new.
func TestClockChangeDeclaresNoProcessDead(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		w := watch(t)
		sign := w.now.Add(by)
		require.True(t, w.silentFor(4*time.Second, sign))
		require.False(t, w.silentFor(14*time.Second, sign))
	}
}

// A busy machine checks seldom. A process that writes to the database all the while knows that others could as well.
func TestSilenceBetweenRareChecksCountsIfTheDatabaseAnswers(t *testing.T) {
	t.Parallel()
	w, sign := watch(t), time.Unix(5, 0)
	pass := func(d time.Duration) {
		for range d / (2 * time.Second) {
			w.now = w.now.Add(2 * time.Second)
			w.heartbeats.Reached()
		}
	}
	pass(2 * time.Second)
	require.True(t, w.heartbeats.Alive("w", sign))
	pass(12 * time.Second)
	require.True(t, w.heartbeats.Alive("w", sign), "silent for less than the bound")
	pass(12 * time.Second)
	require.False(t, w.heartbeats.Alive("w", sign))

	require.True(t, w.heartbeats.Alive("other", sign))
	w.now = w.now.Add(30 * time.Second) // the database is away
	pass(4 * time.Second)
	require.True(t, w.heartbeats.Alive("other", sign), "nobody could write meanwhile")
}
