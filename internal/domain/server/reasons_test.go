package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
)

// A placement says why the server was chosen.
func TestPlacementsSayTheirReason(t *testing.T) {
	t.Parallel()
	foreign := func(n int) func(*server.Server) { return func(s *server.Server) { s.Foreign = n } }
	big := func(s *server.Server) { s.Devices[0].Free = 7 << 30 }
	two := func(s *server.Server) { s.Slots = 2 }
	const best = "the best of 2 free servers by waiting prompts, models and memory"
	late := func(w *server.Wait) { w.Since = now.Add(-10 * time.Second) }
	for name, c := range map[string]struct {
		servers []*server.Server
		wait    *server.Wait
		on      server.ID
		want    string
	}{
		"a loaded model": {
			[]*server.Server{healthy("a"), healthy("b", loaded("m"))},
			waits("1", needs("m")),
			"b",
			"has its models loaded",
		},
		"no model":                  {[]*server.Server{healthy("a"), healthy("b", big)}, waits("1"), "b", best},
		"no model, whatever loaded": {[]*server.Server{healthy("a", loaded("x")), healthy("b")}, waits("1"), "a", best},
		"others that are loaded": {
			[]*server.Server{healthy("a", loaded("x")), healthy("b", loaded("y"))},
			waits("1", needs("m")),
			"a",
			best,
		},
		"an empty server": {
			[]*server.Server{healthy("a", loaded("x")), healthy("b")},
			waits("1", needs("m")),
			"b",
			"free, with no models loaded",
		},
		"one that is busy": {
			[]*server.Server{healthy("a", busy()), healthy("b")},
			waits("1"),
			"b",
			"the only free server that can run it",
		},
		"foreign prompts": {
			[]*server.Server{healthy("a", foreign(1)), healthy("b", foreign(2))},
			waits("1"),
			"a",
			"no other server is free; 1 foreign prompts are before it",
		},
		"alone": {
			[]*server.Server{healthy("a")},
			waits("1", func(w *server.Wait) { w.Cause = "it was lost" }),
			"a",
			"the only server; it was lost",
		},
		"a busy one without models": {
			[]*server.Server{healthy("a"), healthy("b", loaded("m"), busy())},
			waits("1", needs("m"), late),
			"a",
			"the only free server that can run it",
		},
		"fewer segments": {[]*server.Server{healthy("a", two, busy()), healthy("b", two)}, waits("1"), "b", best},
	} {
		got, _ := pool(c.servers...).Decide([]*server.Wait{c.wait})
		require.Len(t, got, 1, name)
		require.Equal(t, c.on, got[0].Server.ID, name)
		require.Equal(t, c.want, got[0].Reason, name)
	}
}

// A segment that waits says for what, and how many are before it.
func TestWaitingSegmentsSayTheirReason(t *testing.T) {
	t.Parallel()
	foreign := func(s *server.Server) { s.Foreign = 3 }
	since := func(d time.Duration) func(*server.Wait) { return func(w *server.Wait) { w.Since = now.Add(-d) } }
	for name, c := range map[string]struct {
		servers []*server.Server
		waits   []*server.Wait
		want    []string
	}{
		"no servers": {nil, []*server.Wait{waits("1")}, []string{"no server is registered"}},
		"busy ones": {
			[]*server.Server{healthy("a", busy()), healthy("b", busy())},
			[]*server.Wait{waits("1"), waits("2")},
			[]string{"all 2 servers that can run it are busy", "all 2 servers that can run it are busy"},
		},
		"foreign": {
			[]*server.Server{healthy("a", foreign), healthy("b", busy())},
			[]*server.Wait{waits("1")},
			[]string{"server http://a has 3 foreign prompts in its queue; waits for a server without foreign prompts"},
		},
		"its models": {
			[]*server.Server{healthy("a"), healthy("b", busy("m"))},
			[]*server.Wait{waits("1", needs("m"), since(10*time.Second-1))},
			[]string{"waits up to 10s for a server that has its models loaded"},
		},
		"still loads": {
			[]*server.Server{healthy("a"), healthy("b", loaded("m"), busy())},
			[]*server.Wait{waits("1", needs("m"))},
			[]string{"waits up to 10s for a server that has its models loaded"},
		},
		"of another": {
			[]*server.Server{healthy("a", loaded("n"), func(s *server.Server) { s.Foreign = 1 }), healthy("b", busy("m"), foreign)},
			[]*server.Wait{waits("1", needs("m"), since(time.Hour)), waits("2", needs("n"), func(w *server.Wait) { w.Number = 1 })},
			[]string{"waits for a server that has its models loaded; another segment waits for the models of server http://a"},
		},
		"refused": {
			[]*server.Server{healthy("a")},
			[]*server.Wait{waits("1", func(w *server.Wait) { w.Refused = []server.ID{"a"} })},
			[]string{"server http://a cannot run it"},
		},
		"memory": {
			[]*server.Server{healthy("a")},
			[]*server.Wait{waits("1", func(w *server.Wait) { w.Memory = 8 << 30 })},
			[]string{"server http://a does not have more memory than the server that had too little"},
		},
		"classes": {
			[]*server.Server{healthy("a")},
			[]*server.Wait{waits("1", func(w *server.Wait) { w.Needs = []server.Need{{Class: "X"}} })},
			[]string{"server http://a does not have class X"},
		},
	} {
		_, left := pool(c.servers...).Decide(c.waits)
		var reasons []string
		for i, h := range left {
			require.Equal(t, i, h.Ahead, name)
			reasons = append(reasons, h.Reason)
		}
		require.Equal(t, c.want, reasons, name)
	}
}

// What one segment is assigned changes what the next ones find, and a segment without models changes no server's models.
func TestSegmentsWithoutModelsLeaveThoseOfServers(t *testing.T) {
	t.Parallel()
	two := func(s *server.Server) { s.Slots = 2 }
	got, _ := pool(healthy("a", loaded("m"), two), healthy("b")).Decide([]*server.Wait{waits("1"), waits("2", needs("m"))})
	require.Equal(t, []string{"1→a", "2→a"}, placed(got))
	got, _ = pool(healthy("a", loaded("m"), two, busy()), healthy("b")).Decide([]*server.Wait{waits("1", needs("m"))})
	require.Equal(t, []string{"1→a"}, placed(got), "a lease without models")
	got, _ = pool(healthy("a", loaded("m")), healthy("b", busy("n"))).Decide([]*server.Wait{
		waits("1", needs("n"), func(w *server.Wait) { w.Since = now.Add(-time.Hour) }), waits("2", func(w *server.Wait) { w.Number = 1 }),
	})
	require.Equal(t, []string{"1→a"}, placed(got), "a segment without models is no reason to keep those of a server")
	failing := healthy("a", two, func(s *server.Server) { s.Failing = &server.Failing{Jobs: []job.ID{"1"}} })
	got, _ = pool(failing).Decide([]*server.Wait{waits("1"), waits("2")})
	require.Len(t, got, 2, "a server that has not rested gets all that fits")
	failing.Failing.Rests = 1
	got, _ = pool(failing).Decide([]*server.Wait{waits("1"), waits("2")})
	require.Len(t, got, 1, "one that has rested is tried with one")
	none := healthy("a", func(s *server.Server) { s.Devices = nil })
	got, _ = pool(none).Decide([]*server.Wait{waits("1")})
	require.Len(t, got, 1, "a server that names no memory")
	none.RAMTotal = 1
	_, left := pool(none).Decide([]*server.Wait{waits("1", func(w *server.Wait) { w.Memory = 1 })})
	require.Len(t, left, 1, "more than this")
}

// A segment that names a server gets no other one while that one can run it.
func TestASegmentMayNameItsServer(t *testing.T) {
	t.Parallel()
	better := func(s *server.Server) { s.Devices[0].Free = 7 << 30 }
	for only, want := range map[server.ID]string{"a": "1→a", "b": "1→b", "gone": "1→b", "": "1→b", "away": "1→b"} {
		p := pool(healthy("a"), healthy("b", better), healthy("away", func(s *server.Server) { s.Health = server.Absent }))
		w := waits("1", func(w *server.Wait) { w.Only = only })
		got, _ := p.Decide([]*server.Wait{w})
		require.Equal(t, []string{want}, placed(got), only)
		if only == "a" || only == "b" {
			require.Len(t, p.Able(w), 1)
		}
	}
	away := healthy("a", func(s *server.Server) { s.Health, s.Labels = server.Absent, []string{"eu"} })
	p := pool(healthy("b"), away)
	for label, want := range map[string]bool{"eu": true, "us": false} {
		w := waits("1", func(w *server.Wait) { w.Labels = []string{label} })
		require.Equal(t, want, p.CanRun(w), label)
		require.Empty(t, p.Able(w), label)
	}
}

// The shares of accounts are compared by their weights, whichever of them came first.
func TestTheSharesOfAccountsAreComparedByWeight(t *testing.T) {
	t.Parallel()
	with := func(account string, weight int) func(*server.Wait) {
		return func(w *server.Wait) { w.Account, w.Weight = account, weight }
	}
	running := func(account string, n int) func(*server.Server) {
		return func(s *server.Server) {
			s.Slots = n
			for range n {
				s.Leases = append(s.Leases, server.Lease{Account: account})
			}
		}
	}
	for _, c := range []struct {
		running, served [2]int // of a with the weight 4, and b with the weight 2
		want            string
	}{
		{[2]int{3, 2}, [2]int{0, 0}, "1→s"},
		{[2]int{3, 1}, [2]int{0, 0}, "2→s"},
		{[2]int{2, 1}, [2]int{5, 2}, "2→s"},
		{[2]int{2, 1}, [2]int{3, 2}, "1→s"},
		{[2]int{0, 0}, [2]int{5, 2}, "2→s"},
		{[2]int{0, 0}, [2]int{3, 2}, "1→s"},
	} {
		a, b := waits("1", with("a", 4)), waits("2", with("b", 2))
		for _, order := range [][]*server.Wait{{a, b}, {b, a}} {
			p := pool(healthy("s"), healthy("a", running("a", c.running[0])), healthy("b", running("b", c.running[1])))
			p.Served = map[string]time.Duration{"a": time.Duration(c.served[0]) * time.Second, "b": time.Duration(c.served[1]) * time.Second}
			got, _ := p.Decide(order)
			require.Equal(t, []string{c.want}, placed(got), "%+v", c)
		}
	}
}

// A later driver finds the prompt of a segment by its id, which is the same in every version of the program.
func TestIDsOfPromptsStayTheSame(t *testing.T) {
	t.Parallel()
	require.Equal(t, "60f5836d-472f-5921-8dca-48fc27e405c7", server.Key{Job: "j", Run: 1, Unit: 2}.Prompt(3).String())
}
