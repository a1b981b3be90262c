package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
)

// A server rests after failures of different jobs, longer each time, and is then tried with one segment.
func TestServerRestsAndIsTriedAgain(t *testing.T) {
	t.Parallel()
	s, at := healthy("s1"), now
	fails := func(of job.ID) (event string) {
		s.Failing, event, _ = s.After(server.Outcome{Job: of, Problem: "broken"}, at)
		return event
	}
	for range 5 {
		require.Empty(t, fails("1"), "one job, however often, is not several")
	}
	require.Empty(t, fails("2"))
	require.Equal(t, server.TypeRested, fails("3"))
	require.Empty(t, fails("4"), "it rests already")

	s.Slots = 2
	decided := func() []string {
		p := pool(s)
		p.Now = at
		got, _ := p.Decide([]*server.Wait{waits("1"), waits("2")})
		return placed(got)
	}
	require.Empty(t, decided())
	p := pool(s)
	p.Now = at
	_, waiting := p.Decide([]*server.Wait{waits("1")})
	require.Contains(t, waiting[0].Reason, "rests until")
	require.NotContains(t, waiting[0].Reason, "broken", "the problem is a text of another account's job")
	require.Equal(t, []job.ID{"2", "3", "4"}, s.Failing.Jobs)
	at = at.Add(30 * time.Second)
	require.Equal(t, []string{"1→s1"}, decided(), "one segment, although two fit")
	require.Equal(t, server.TypeRested, fails("1"))
	at = at.Add(30 * time.Second)
	require.Empty(t, decided(), "the second rest is longer")
	at = at.Add(30 * time.Second)
	require.Len(t, decided(), 1)
	var event string
	s.Failing, event, _ = s.After(server.Outcome{}, at)
	require.Equal(t, server.TypeRecovered, event)
	require.Len(t, decided(), 2)
	for _, before := range []*server.Failing{nil, {Jobs: []job.ID{"1"}}} {
		s.Failing = before
		after, event, _ := s.After(server.Outcome{}, at)
		require.Empty(t, event, "it has not rested")
		require.Nil(t, after, "a success clears the failures")
	}
}

// A server that still runs a canceled prompt gets nothing, even if it has the models of a segment.
func TestServerWithACanceledPromptGetsNothing(t *testing.T) {
	t.Parallel()
	warm := healthy("s1", loaded("m"), func(s *server.Server) { s.CanceledAt = &now })
	got, _ := pool(warm, healthy("s2")).Decide([]*server.Wait{waits("1", needs("m"))})
	require.Equal(t, []string{"1→s2"}, placed(got))
	_, held := pool(warm).Decide([]*server.Wait{waits("1", needs("m"))})
	require.Contains(t, held[0].Reason, "still runs a canceled prompt")
	require.Equal(t, server.Stuck, warm.State())
	just := time.Now()
	warm.CanceledAt = &just
	require.Equal(t, server.Healthy, warm.State(), "an interrupt takes a moment")
}
