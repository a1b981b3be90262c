package console_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/console"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

func TestEveryMomentOfAJobHasAName(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	second := func(n float64) time.Time { return at.Add(time.Duration(n * float64(time.Second))) }
	took := func(n float64) inspect.Millis { return inspect.Millis(n * float64(time.Second)) }
	timeline := inspect.Timeline{
		SubmittedAt: at, Until: second(20), WaitedSlot: took(2), WaitedStart: took(1),
		Nodes: []inspect.NodeSpan{
			{Node: "1", Began: second(4), Took: took(2)}, {Node: "2", Began: second(5), Took: took(2)}, // at once
			{Node: "3", Began: second(11), Took: took(3)}, {Node: "4", Began: second(15), Took: 0},
		},
		Servers: []inspect.ServerSpan{{Began: second(10), Took: took(6)}},
	}
	got := map[string]time.Duration{}
	var sum time.Duration
	for _, p := range console.Parts(timeline) {
		got[p.Name] = p.Took.Duration()
		sum += p.Took.Duration()
		require.NotEmpty(t, p.What)
	}
	require.Equal(t, map[string]time.Duration{
		"slot": 2 * time.Second, "worker": time.Second, "plan": time.Second, "nodes": 6 * time.Second,
		"wait": 3 * time.Second, "server": 3 * time.Second, "end": 4 * time.Second,
	}, got)
	require.Equal(t, 20*time.Second, sum)
	for _, p := range console.Parts(inspect.Timeline{SubmittedAt: at, Until: second(10), Nodes: []inspect.NodeSpan{
		{Node: "1", Began: second(0), Took: took(6), Waited: took(4)}, {Node: "2", Began: second(1), Took: took(2)}, // node 2 runs meanwhile
	}}) {
		got[p.Name] = p.Took.Duration()
	}
	require.Equal(t, 2*time.Second, got["place"], "node 1 waits for four seconds, in two of which node 2 runs")
	require.Equal(t, 4*time.Second, got["nodes"])
	none := console.Parts(inspect.Timeline{SubmittedAt: at, Until: second(3), WaitedSlot: took(1)})
	require.Len(t, none, 2, "a run without nodes was preparing")
}
