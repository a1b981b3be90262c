package server_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
)

var now = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

func healthy(id string, change ...func(*server.Server)) *server.Server {
	s := &server.Server{
		ID: server.ID(id), URL: "http://" + id, Slots: 1, Health: server.Answers,
		Devices: []server.Device{{Total: 8 << 30, Free: 4 << 30}},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func loaded(models ...string) func(*server.Server) {
	return func(s *server.Server) { s.Models = models }
}

func busy(models ...string) func(*server.Server) {
	return func(s *server.Server) { s.Leases = []server.Lease{{Account: "other", Models: models}} }
}

func waits(id string, change ...func(*server.Wait)) *server.Wait {
	w := &server.Wait{Key: server.Key{Job: job.ID(id), Run: 1}, Account: "a", Since: now, Attempt: 1}
	for _, c := range change {
		c(w)
	}
	return w
}

func needs(models ...string) func(*server.Wait) { return func(w *server.Wait) { w.Models = models } }

func pool(servers ...*server.Server) *server.Pool {
	return &server.Pool{
		Servers: servers, Now: now, Load: func(server.ID, string) time.Duration { return 0 },
		Missing: func(s *server.Server, needs []server.Need) string {
			for _, n := range needs {
				if n.Class == "only on "+string(s.ID) || n.Class == "" {
					continue
				}
				return "class " + n.Class
			}
			return ""
		},
	}
}

// placed renders a decision: "job→server", in order.
func placed(list []server.Placement) []string {
	out := []string{}
	for _, p := range list {
		out = append(out, fmt.Sprintf("%s→%s", p.Wait.Job, p.Server.ID))
	}
	return out
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		servers []*server.Server
		waiting []*server.Wait
		want    []string
	}{
		"one segment a server": {
			[]*server.Server{healthy("s1"), healthy("s2")}, []*server.Wait{waits("1"), waits("2"), waits("3")}, []string{"1→s1", "2→s2"},
		},
		"one that is away, drained or refused gets nothing": {
			[]*server.Server{
				healthy("s1", func(s *server.Server) { s.Health = server.Absent }), healthy("s2", func(s *server.Server) { s.Drained = true }),
				healthy("s3", func(s *server.Server) { s.Health = server.Unusable }),
			},
			[]*server.Wait{waits("1")},
			[]string{},
		},
		"the server with the model goes before an empty one": {
			[]*server.Server{healthy("s1"), healthy("s2", loaded("m"))}, []*server.Wait{waits("1", needs("m"))}, []string{"1→s2"},
		},
		"an empty server goes before one that would have to unload": {
			[]*server.Server{healthy("s1", loaded("x")), healthy("s2")}, []*server.Wait{waits("1", needs("m"))}, []string{"1→s2"},
		},
		"a server that was just given the model goes before an empty one": {
			[]*server.Server{healthy("s1", func(s *server.Server) { s.Slots = 2 }), healthy("s2")},
			[]*server.Wait{waits("1", needs("m")), waits("2", needs("m"))},
			[]string{"1→s1", "2→s1"},
		},
		"a busy server with the model is waited for": {
			[]*server.Server{healthy("s1"), healthy("s2", busy("m"))}, []*server.Wait{waits("1", needs("m"))}, []string{},
		},
		"but no longer than loading takes": {
			[]*server.Server{healthy("s1"), healthy("s2", busy("m"))},
			[]*server.Wait{waits("1", needs("m"), func(w *server.Wait) { w.Since = now.Add(-11 * time.Second) })},
			[]string{"1→s1"},
		},
		"a free server is not kept for a segment that avoids it": {
			[]*server.Server{healthy("s2", busy("m")), healthy("s3", busy("n")), healthy("s4", loaded("n"))},
			[]*server.Wait{
				waits("1", needs("m"), func(w *server.Wait) { w.Since = now.Add(-11 * time.Second) }),
				waits("2", needs("n"), func(w *server.Wait) { w.Account, w.Avoid = "b", []server.ID{"s4"} }),
			},
			[]string{"1→s4"},
		},
		"prompts of others count as waiting": {
			[]*server.Server{healthy("s1", func(s *server.Server) { s.Foreign = 1 }), healthy("s2")}, []*server.Wait{waits("1")}, []string{"1→s2"},
		},
		"more memory goes first, all else equal": {
			[]*server.Server{healthy("s1"), healthy("s2", func(s *server.Server) { s.Devices[0].Free = 7 << 30 })},
			[]*server.Wait{waits("1")},
			[]string{"1→s2"},
		},
		"classes decide who can": {
			[]*server.Server{healthy("s1"), healthy("s2")},
			[]*server.Wait{waits("1", func(w *server.Wait) { w.Needs = []server.Need{{Class: "only on s2"}} })},
			[]string{"1→s2"},
		},
		"labels decide who may": {
			[]*server.Server{healthy("s1"), healthy("s2", func(s *server.Server) { s.Labels = []string{"big"} })},
			[]*server.Wait{waits("1", func(w *server.Wait) { w.Labels = []string{"big"} })},
			[]string{"1→s2"},
		},
		"the account with the fewest running goes first": {
			[]*server.Server{healthy("s1", func(s *server.Server) { s.Leases = []server.Lease{{Account: "a"}} }), healthy("s2")},
			[]*server.Wait{waits("1"), waits("2", func(w *server.Wait) { w.Account = "b" })},
			[]string{"2→s2"},
		},
		"within an account the queue's order counts": {
			[]*server.Server{healthy("s1")},
			[]*server.Wait{waits("1", func(w *server.Wait) { w.Number = 2 }), waits("2", func(w *server.Wait) { w.Number = -1 })},
			[]string{"2→s1"},
		},
		"priority is an account's own: it does not go before other accounts": {
			[]*server.Server{healthy("s1")},
			[]*server.Wait{
				waits("1", func(w *server.Wait) { w.Number, w.Since = -1e7, now }),
				waits("2", func(w *server.Wait) { w.Account, w.Number, w.Since = "b", 5, now.Add(-time.Second) }),
			},
			[]string{"2→s1"},
		},
		"a tier of three places has three for one of a tier of one": {
			[]*server.Server{
				healthy("s1", func(s *server.Server) { s.Leases = []server.Lease{{Account: "a"}} }),
				healthy("s2", func(s *server.Server) { s.Leases = []server.Lease{{Account: "a"}} }),
				healthy("s3", func(s *server.Server) { s.Leases = []server.Lease{{Account: "b"}} }), healthy("s4"),
			},
			[]*server.Wait{
				waits("1", func(w *server.Wait) { w.Weight = 3 }), waits("2", func(w *server.Wait) { w.Account, w.Weight = "b", 1 }),
			},
			[]string{"1→s4"},
		},
		"prompts of others are waited behind only when nothing else can take it": {
			[]*server.Server{healthy("s1", func(s *server.Server) { s.Foreign = 1 }), healthy("s2", busy())}, []*server.Wait{waits("1")}, []string{},
		},
		"the fewest prompts of others are waited behind when all servers have some": {
			[]*server.Server{
				healthy("s1", func(s *server.Server) { s.Foreign = 2 }), healthy("s2", func(s *server.Server) { s.Foreign = 1 }),
				healthy("s3", busy(), func(s *server.Server) { s.Foreign = 1 }),
			},
			[]*server.Wait{waits("1")},
			[]string{"1→s2"},
		},
		"models that are waited for are not unloaded": {
			[]*server.Server{healthy("s1", loaded("a")), healthy("s2", busy("b"))},
			[]*server.Wait{
				waits("1", needs("b"), func(w *server.Wait) { w.Since = now.Add(-time.Hour) }),
				waits("2", needs("a"), func(w *server.Wait) { w.Number = 1 }),
			},
			[]string{"2→s1"},
		},
		"a server that failed it is taken again when no other is left": {
			[]*server.Server{healthy("s1")}, []*server.Wait{waits("1", func(w *server.Wait) { w.Avoid = []server.ID{"s1"} })}, []string{"1→s1"},
		},
		"more memory was asked for": {
			[]*server.Server{healthy("s1"), healthy("s2", func(s *server.Server) { s.Devices[0].Total = 24 << 30 })},
			[]*server.Wait{waits("1", func(w *server.Wait) { w.Memory = 8 << 30 })},
			[]string{"1→s2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, held := pool(c.servers...).Decide(c.waiting)
			require.Equal(t, c.want, placed(got))
			require.Len(t, held, len(c.waiting)-len(got), "whoever gets no server gets the reason")
			for _, h := range held {
				require.NotEmpty(t, h.Reason)
			}
			for _, p := range got {
				require.NotEmpty(t, p.Reason)
			}
		})
	}
}

// The account that had more of a server's time while both waited lets the other go first, by their weights.
func TestTimeOnServersIsSharedByWeight(t *testing.T) {
	t.Parallel()
	two := func() []*server.Wait {
		return []*server.Wait{waits("1"), waits("2", func(w *server.Wait) { w.Account, w.Weight = "b", 3 })}
	}
	for _, c := range []struct {
		a, b time.Duration
		want string
	}{
		{0, time.Second, "1→s1"}, {time.Second, 2 * time.Second, "2→s1"}, {time.Second, 4 * time.Second, "1→s1"},
	} {
		p := pool(healthy("s1"))
		p.Served = map[string]time.Duration{"a": c.a, "b": c.b}
		got, held := p.Decide(two())
		require.Equal(t, []string{c.want}, placed(got), "a was served for %s, b for %s", c.a, c.b)
		require.Len(t, held, 1)
		require.Equal(t, 0, held[0].Ahead)
	}
}

// A segment waits for loaded models as long as loading takes on the server that it would take instead.
func TestLoadingTimeIsThatOfTheServer(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration][]string{2 * time.Second: {"1→s1"}, 4 * time.Second: {}} {
		p := pool(healthy("s1"), healthy("s2", busy("m")))
		p.Load = func(id server.ID, _ string) time.Duration {
			return map[server.ID]time.Duration{"s1": took, "s2": time.Hour}[id]
		}
		got, _ := p.Decide([]*server.Wait{waits("1", needs("m"), func(w *server.Wait) { w.Since = now.Add(-3 * time.Second) })})
		require.Equal(t, want, placed(got), "loading takes %s", took)
	}
}

// Ten graphs of two checkpoints, in turns, on two servers: each checkpoint is loaded once.
func TestPlacementKeepsModelsOnTheirServers(t *testing.T) {
	t.Parallel()
	servers := []*server.Server{healthy("s1"), healthy("s2")}
	var waiting []*server.Wait
	for i := range 10 {
		waiting = append(waiting, waits(fmt.Sprint(i), needs([]string{"a", "b"}[i%2]), func(w *server.Wait) { w.Number = float64(i) }))
	}
	loads := map[string][]server.ID{}
	for len(waiting) > 0 {
		got, _ := pool(servers...).Decide(waiting)
		require.NotEmpty(t, got)
		for _, p := range got {
			if !slices.Contains(loads[p.Wait.Models[0]], p.Server.ID) {
				loads[p.Wait.Models[0]] = append(loads[p.Wait.Models[0]], p.Server.ID)
			}
			p.Server.Models = p.Wait.Models
			waiting = slices.DeleteFunc(waiting, func(w *server.Wait) bool { return w == p.Wait })
		}
	}
	require.Len(t, loads["a"], 1)
	require.Len(t, loads["b"], 1)
}

func TestPromptsAreNamedByJobRunSegmentAndAttempt(t *testing.T) {
	t.Parallel()
	k := server.Key{Job: "j", Run: 1, Unit: 2}
	require.Equal(t, k.Prompt(1), server.Key{Job: "j", Run: 1, Unit: 2}.Prompt(1))
	for _, other := range []server.Key{{Job: "k", Run: 1, Unit: 2}, {Job: "j", Run: 2, Unit: 2}, {Job: "j", Run: 1, Unit: 3}} {
		require.NotEqual(t, k.Prompt(1), other.Prompt(1))
	}
	require.NotEqual(t, k.Prompt(1), k.Prompt(2))
}

func TestParseURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://HOST:8188/": "http://host:8188", "http://host:80": "http://host", "https://host:443/comfy/": "https://host/comfy",
		" http://10.0.0.7:8188 ": "http://10.0.0.7:8188",
	} {
		got, err := server.ParseURL(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, bad := range []string{"", "host:8188", "ftp://host", "http://", "http://user:pass@host", "http://host/?q=1"} {
		_, err := server.ParseURL(bad)
		require.Error(t, err, bad)
	}
	require.Equal(t, "http://host", server.Unnamed("http://user:secret@host,label=x"))
}

func TestTheReasonOfAWaitIsThatOfTheNearestServer(t *testing.T) {
	t.Parallel()
	drained := healthy("drained", func(s *server.Server) { s.Drained, s.Labels = true, []string{"eu"} })
	away := healthy("away", func(s *server.Server) { s.Health, s.Labels = server.Absent, []string{"us"} })
	asking := func(label string) *server.Wait {
		return waits("j", func(w *server.Wait) { w.Labels = []string{label} })
	}
	pool := server.Pool{
		Servers: []*server.Server{healthy("other"), drained, away, healthy("another")}, Now: now,
		Missing: func(*server.Server, []server.Need) string { return "" }, Load: func(server.ID, string) time.Duration { return 0 },
	}
	for label, says := range map[string]string{
		"eu": "http://drained is draining", "us": "http://away is away",
		"asia": "does not have the labels [asia]",
	} {
		_, held := pool.Decide([]*server.Wait{asking(label)})
		require.Len(t, held, 1)
		require.Contains(t, held[0].Reason, says)
	}
}

func TestServerWhosePromptHasEndedTakesTheNextSegment(t *testing.T) {
	t.Parallel()
	copying := func(s *server.Server) { s.Leases[0].Copying = true }
	got, _ := pool(healthy("s1", busy("m"), copying)).Decide([]*server.Wait{waits("1")})
	require.Equal(t, []string{"1→s1"}, placed(got))
	got, _ = pool(healthy("s1", busy("m"))).Decide([]*server.Wait{waits("1")})
	require.Empty(t, placed(got))
}
