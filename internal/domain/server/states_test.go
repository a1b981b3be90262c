package server_test

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// The state of a server in one word, what operators are shown of it, and whether it gets a segment.
func TestTheStateOfAServer(t *testing.T) {
	t.Parallel()
	soon, long := time.Now().UTC().Add(time.Hour), time.Now().Add(-time.Hour)
	copying := []server.Copy{{Name: "w", State: server.Copying, Size: 200, Done: 50}, {Name: "x", State: server.Ready}}
	const brought = "the weight w is brought to a server: 25% of 200 B"
	for name, c := range map[string]struct {
		change  func(*server.Server)
		state   server.State
		trouble string
		gets    bool
	}{
		"it is idle":           {func(*server.Server) {}, server.Healthy, "", true},
		"it runs a prompt":     {func(s *server.Server) { s.Running = 1 }, server.Busy, "", true},
		"a prompt waits on it": {func(s *server.Server) { s.Pending = 1 }, server.Busy, "", true},
		"it has a segment": {
			func(s *server.Server) { s.Slots, s.Leases = 2, []server.Lease{{}} },
			server.Busy,
			"",
			true,
		},
		"it is away": {
			func(s *server.Server) { s.Health, s.Problem = server.Absent, "p" },
			server.Away,
			"p",
			false,
		},
		"it was not polled": {func(s *server.Server) { s.Health = server.Unseen }, server.Away, "", false},
		"it is no server": {
			func(s *server.Server) { s.Health, s.Problem = server.Unusable, "p" },
			server.Refused,
			"p",
			false,
		},
		"it is drained and none": {
			func(s *server.Server) { s.Health, s.Drained = server.Unusable, true },
			server.Refused,
			"",
			false,
		},
		"it is drained": {func(s *server.Server) { s.Drained, s.Running = true, 1 }, server.Draining, "", false},
		"it is drained and away": {
			func(s *server.Server) { s.Drained, s.Health = true, server.Absent },
			server.Draining,
			"",
			false,
		},
		"its process runs": {
			func(s *server.Server) { s.Process = &server.Process{Phase: server.PhaseRunning} },
			server.Healthy,
			"",
			true,
		},
		"it rested": {
			func(s *server.Server) { s.Failing = &server.Failing{Until: long} },
			server.Healthy,
			"",
			true,
		},
		"jobs failed on it": {
			func(s *server.Server) { s.Failing = &server.Failing{Jobs: []job.ID{"1"}} },
			server.Healthy,
			"",
			true,
		},
		"a weight is brought":  {func(s *server.Server) { s.Copies = copying }, server.Healthy, brought, true},
		"a weight, while busy": {func(s *server.Server) { s.Copies, s.Running = copying, 1 }, server.Busy, brought, true},
		"a weight, with problems": {
			func(s *server.Server) { s.Copies, s.Problem = copying, "p" },
			server.Healthy,
			"p",
			true,
		},
		"a weight, while away": {
			func(s *server.Server) { s.Copies, s.Health = copying, server.Absent }, server.Away, "", false,
		},
		"it is to be restarted": {
			func(s *server.Server) { s.Process = &server.Process{Phase: server.PhaseClosing, Problem: "worn"} },
			server.Draining, "its process is restarted when its segments have ended: worn", false,
		},
		"its process has ended": {
			func(s *server.Server) { s.Process = &server.Process{Phase: server.PhaseStopped, Problem: "crashed"} },
			server.Away, "its process ended and is started again: crashed", false,
		},
		"it rests": {
			func(s *server.Server) { s.Failing = &server.Failing{Until: soon, Problem: "broken"} },
			server.Resting, "rests until " + soon.Format(time.DateTime) + " UTC, because jobs failed on it; the last one: broken", true,
		},
		"a canceled prompt does not end": {
			func(s *server.Server) { s.CanceledAt, s.Problem = &long, "p" },
			server.Stuck, "a canceled prompt has not ended since " + long.UTC().Format(time.DateTime) +
				" UTC; nothing is sent to the server until it ends: restart ComfyUI there", false,
		},
		"a canceled prompt may end": {
			func(s *server.Server) { now := time.Now(); s.CanceledAt = &now },
			server.Healthy,
			"",
			false,
		},
	} {
		s := healthy("s", c.change)
		require.Equal(t, c.state, s.State(), name)
		require.Equal(t, c.trouble, s.Trouble(), name)
		p := pool(s)
		if p.Now = time.Now(); c.state == server.Resting {
			p.Now = soon // the decision has a clock of its own
		}
		got, _ := p.Decide([]*server.Wait{waits("1")})
		require.Equal(t, c.gets, len(got) == 1, name)
	}
}

func TestACopySaysHowFarItIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		copied server.Copy
		want   string
	}{
		{server.Copy{Name: "w", State: server.Copying, Size: 1 << 20, Done: 1 << 20}, "the weight w is brought to a server: 100% of 1 MiB"},
		{server.Copy{Name: "w", State: server.Copying}, "the weight w is brought to a server: 0% of 0 B"},
		{server.Copy{Name: "w", State: server.Copying, Size: 1, Done: 1}, "the weight w is brought to a server: 100% of 1 B"},
		{server.Copy{Name: "w", State: server.Failed, Problem: "p"}, "the weight w was not brought to a server: p"},
		{server.Copy{Name: "w", State: server.Ready}, "the weight w was brought to a server, which does not list it yet"},
	} {
		require.Equal(t, c.want, c.copied.Status())
	}
	require.Equal(t, server.File{Folder: "f", Name: "w"}, server.Copy{Folder: "f", Name: "w"}.File())
}

// Servers that share a folder of models have one target; a process of Millrace shares with those of its machine.
func TestTheFolderOfModelsOfAServer(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "none")
	on := func(host string) *server.Process { return &server.Process{Host: host, Phase: server.PhaseRunning} }
	for name, c := range map[string]struct {
		folder  string
		process *server.Process
		target  string
		reached bool
	}{
		"no folder":                         {"", nil, "http://s", false},
		"no folder of a process":            {"", on("here"), "http://s", false},
		"a folder":                          {folder, nil, folder, true},
		"a folder of a process here":        {folder, on("here"), "here:" + folder, true},
		"a folder of a process elsewhere":   {folder, on("there"), "there:" + folder, false},
		"a folder that is not there":        {file, nil, file, false},
		"a file, and no folder":             {"/proc/self/exe", nil, "/proc/self/exe", false},
		"a folder of a process, not there":  {file, on("here"), "here:" + file, false},
		"a folder that this process cannot": {"\x00", nil, "\x00", false},
	} {
		s := healthy("s", func(s *server.Server) { s.ModelsFolder, s.Process = c.folder, c.process })
		require.Equal(t, c.target, s.Target(), name)
		require.Equal(t, c.reached, s.Reachable("here"), name)
	}
}

func TestAServerHasLabelsAndModels(t *testing.T) {
	t.Parallel()
	s := healthy("s", loaded("m", "n"), func(s *server.Server) { s.Labels = []string{"a", "b"} })
	for _, c := range []struct {
		some []string
		want bool
	}{{nil, true}, {[]string{"x"}, false}} {
		require.Equal(t, c.want, s.Has(c.some))
		require.Equal(t, c.want, s.HasLoaded(c.some))
	}
	require.True(t, s.Has([]string{"b", "a"}))
	require.True(t, s.HasLoaded([]string{"n"}))
	require.False(t, s.Has([]string{"a", "x"}))
	free, total := s.Memory()
	require.Equal(t, []int64{4 << 30, 8 << 30}, []int64{free, total})
	s.Devices, s.RAMFree, s.RAMTotal = nil, 5, 6
	free, total = s.Memory()
	require.Equal(t, []int64{5, 6}, []int64{free, total}, "a server without a device computes in its memory")
	ended := map[server.Phase]bool{server.PhaseEnded: true, server.PhaseStopped: false, server.PhaseRunning: false}
	for phase, want := range ended {
		require.Equal(t, want, (&server.Process{Phase: phase}).Ended())
	}
	require.False(t, (*server.Process)(nil).Ended())
}

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
		_, held := pool(c.servers...).Decide(c.waits)
		var reasons []string
		for i, h := range held {
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
	_, held := pool(none).Decide([]*server.Wait{waits("1", func(w *server.Wait) { w.Memory = 1 })})
	require.Len(t, held, 1, "more than this")
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

// A server on which the machine is the cause rests at once. One that has rested does so after the next failure, and at most for 5 minutes.
func TestRestsOfAServer(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 9, 1, 12, 0, 0, 700, time.UTC)
	whole := at.Truncate(time.Second)
	for name, c := range map[string]struct {
		before  *server.Failing
		outcome server.Outcome
		want    *server.Failing
		event   string
	}{
		"a failure": {nil, server.Outcome{Job: "1", Problem: "p"}, &server.Failing{Jobs: []job.ID{"1"}, Problem: "p"}, ""},
		"a failure of the machine": {
			nil,
			server.Outcome{Job: "1", Problem: "p", Machine: true},
			&server.Failing{Jobs: []job.ID{"1"}, Problem: "p", Rests: 1, Until: whole.Add(30 * time.Second)}, server.TypeRested,
		},
		"a failure after a rest": {
			&server.Failing{Jobs: []job.ID{"1"}, Rests: 1, Until: at},
			server.Outcome{Job: "2", Problem: "q"},
			&server.Failing{Jobs: []job.ID{"1", "2"}, Problem: "q", Rests: 2, Until: whole.Add(time.Minute)}, server.TypeRested,
		},
		"a failure while it rests": {
			&server.Failing{Jobs: []job.ID{"1", "2", "3"}, Rests: 1, Until: at.Add(1)},
			server.Outcome{Job: "4", Problem: "q", Machine: true},
			&server.Failing{Jobs: []job.ID{"2", "3", "4"}, Problem: "q", Rests: 1, Until: at.Add(1)}, "",
		},
		"a failure after many rests": {
			&server.Failing{Jobs: []job.ID{"1"}, Rests: 80},
			server.Outcome{Job: "1", Problem: "q"},
			&server.Failing{Jobs: []job.ID{"1"}, Problem: "q", Rests: 81, Until: whole.Add(5 * time.Minute)}, server.TypeRested,
		},
		"a success":                {&server.Failing{Jobs: []job.ID{"1"}}, server.Outcome{Job: "1"}, nil, ""},
		"a success after one rest": {&server.Failing{Rests: 1}, server.Outcome{Job: "1"}, nil, server.TypeRecovered},
	} {
		s := healthy("s")
		s.Failing = c.before
		next, event, data := s.After(c.outcome, at)
		require.Equal(t, c.want, next, name)
		require.Equal(t, c.event, event, name)
		switch event {
		case server.TypeRested:
			require.Equal(t, server.RestedV1{Server: "s", Jobs: next.Jobs, Problem: next.Problem, Until: next.Until}, data, name)
		case server.TypeRecovered:
			require.Equal(t, server.RecoveredV1{Server: "s"}, data, name)
		default:
			require.Nil(t, data, name)
		}
	}
}

// An address is in its normal form, or refused, whatever is wrong with it.
func TestAddressesOfServers(t *testing.T) {
	t.Parallel()
	longest := "http://h/" + strings.Repeat("x", 2000-len("http://h/"))
	for text, want := range map[string]string{
		longest: longest, "http://h/a%2Fb": "http://h/a/b", "http://h//a/../b/": "http://h/b", "https://h:80/": "https://h:80",
		"http://h:443": "http://h:443",
	} {
		got, err := server.ParseURL(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	const none = "is not the address of a server"
	for text, says := range map[string]string{
		longest + "x": none, "http://h:port": none, "http://:8188": none, "http:///x": none, "ftp://h": none,
		"http://u@h": "no user and no password", "http://h?q": "no query and no fragment", "http://h#f": "no query and no fragment",
	} {
		got, err := server.ParseURL(text)
		require.Equal(t, fault.CodeInvalidServer, fault.CodeOf(err), text)
		require.ErrorContains(t, err, says, text)
		require.Empty(t, got)
	}
	long := strings.Repeat("x", 101)
	require.Equal(t, fault.Shorten(long, 100), server.Unnamed(long))
	require.NotEqual(t, long, server.Unnamed(long))
	require.Equal(t, long[1:], server.Unnamed(long[1:]))
	for text, want := range map[string]string{"@h": "h", "http://@h": "http://h", "u@h,label=x": "h", "http://u:p@h": "http://h"} {
		require.Equal(t, want, server.Unnamed(text))
	}
	require.Equal(t, server.Registration{
		URL: "http://h", Labels: []string{}, Slots: 1, Fixed: true, By: server.By{Actor: "configuration", Reason: "named by --comfyui"},
	}, server.UnusableFixed("http://u:p@h,label=x"))
}

// A registration is completed by the program and by its token.
func TestARegistrationIsCompleted(t *testing.T) {
	t.Parallel()
	by := server.By{Actor: "ops", Reason: "new"}
	r := server.Registration{URL: "http://H:80/", Labels: []string{"b", "a", "b"}, ModelsFolder: "/m/../n/", By: by}
	require.NoError(t, r.Check())
	require.Equal(t, server.Registration{URL: "http://h", Labels: []string{"a", "b"}, Slots: 1, ModelsFolder: "/n", By: by}, r)

	token := &server.Token{Name: "t", Labels: []string{"c", "a"}, Price: 5}
	from := netip.MustParseAddr("10.0.0.1")
	r = server.Registration{URL: "http://10.0.0.1", Labels: []string{"b", "a"}, Price: 9, Token: token, From: from, ExpiresIn: time.Second}
	require.NoError(t, r.Check())
	require.Equal(t, server.Registration{
		URL: "http://10.0.0.1", Labels: []string{"a", "b", "c"}, Slots: 1, Price: 5, Token: token, From: from, ExpiresIn: time.Second,
		By: server.By{Actor: "token:t", Reason: "registered by its machine"},
	}, r)
	r.By.Reason = "my own"
	require.NoError(t, r.Check())
	require.Equal(t, "my own", r.By.Reason)
	token.Labels = []string{"no label"}
	require.ErrorContains(t, r.Check(), "is not a label")
	r.ExpiresIn = 25 * time.Hour
	require.ErrorContains(t, r.Check(), "must expire within 24h0m0s")
}

// The actor and the reason of a command are needed, and bounded.
func TestCommandsNameTheirActorAndReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		by server.By
		ok bool
	}{
		{server.By{Actor: "ops", Reason: "r"}, true},
		{server.By{Reason: "r"}, false},
		{server.By{Actor: "ops"}, false},
		{server.By{}, false},
		{server.By{Actor: "ops", Reason: strings.Repeat("r", 1000)}, true},
		{server.By{Actor: "ops", Reason: strings.Repeat("r", 1001)}, false},
	} {
		r := server.Registration{URL: "http://h", By: c.by}
		for _, err := range []error{server.CheckBy(c.by), r.Check()} {
			require.Equal(t, c.ok, err == nil, "%v", err)
			if !c.ok {
				require.Equal(t, fault.CodeInvalidRequest, fault.CodeOf(err))
				require.ErrorContains(t, err, "at most 1000 bytes")
			}
		}
	}
}

func TestFoldersOfModelsAreAbsolutePaths(t *testing.T) {
	t.Parallel()
	longest := "/" + strings.Repeat("m", 999)
	for folder, ok := range map[string]bool{longest: true, longest + "m": false, "m": false, "/m\x00": false, "/m\x01": true, "/": true} {
		r := server.Registration{URL: "http://h", ModelsFolder: folder, By: server.By{Actor: "ops", Reason: "new"}}
		err := r.Check()
		require.Equal(t, ok, err == nil, "%q: %v", folder, err)
		if !ok {
			require.Equal(t, fault.CodeInvalidServer, fault.CodeOf(err))
		}
	}
}

// A refusal says which machines the token may register.
func TestATokenSaysWhatItMayNotRegister(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hosts      []string
		from, says string
	}{
		{[]string{"a", "b"}, "10.0.0.1", "the token autoscaler may not register http://10.0.0.2: it was made for a, b"},
		{[]string{"a"}, "", "it was made for a"},
		{nil, "", "whose address is unknown"},
		{nil, "::ffff:10.0.0.1", "the machine that sends the request, 10.0.0.1, not http://10.0.0.2; a token for other machines must name"},
	} {
		require.ErrorContains(t, register(c.hosts, c.from, "http://10.0.0.2"), c.says)
	}
	longest := strings.Repeat("a", 253)
	hosts, err := server.ParseHosts([]string{longest})
	require.NoError(t, err)
	require.Equal(t, []string{longest}, hosts)
	_, err = server.ParseHosts([]string{longest + "a"})
	require.ErrorContains(t, err, "is not a host")
	many := make([]string, 32)
	for i := range many {
		many[i] = "h"
	}
	hosts, err = server.ParseHosts(many)
	require.NoError(t, err)
	require.Equal(t, []string{"h"}, hosts)
	_, err = server.ParseHosts(append(many, "h"))
	require.ErrorContains(t, err, "at most 32 hosts")
}

// A canceled prompt may run for 20 seconds, before its server counts as stuck.
func TestAServerIsStuckAfterAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		canceled := time.Now()
		s := healthy("s", func(s *server.Server) { s.CanceledAt = &canceled })
		<-time.After(20 * time.Second)
		require.Equal(t, server.Healthy, s.State())
		<-time.After(1)
		require.Equal(t, server.Stuck, s.State())
	})
}

// A token is random, and shown by its beginning.
func TestSecretsOfTokens(t *testing.T) {
	t.Parallel()
	one, prefix := server.NewTokenSecret()
	require.Regexp(t, "^millrace-server-[a-z2-7]{40}$", one)
	require.Equal(t, one[:len("millrace-server-")+6], prefix)
	other, _ := server.NewTokenSecret()
	require.NotEqual(t, one, other)
	require.NotEqual(t, server.HashToken(one), server.HashToken(other))
	require.NotRegexp(t, "a{40}$", one)
	require.NoError(t, server.CheckTokenName(strings.Repeat("a", 63)))
	require.Equal(t, fault.CodeInvalidRequest, fault.CodeOf(server.CheckTokenName(strings.Repeat("a", 64))))
	require.Equal(t, fault.CodeTokenNotFound, fault.CodeOf(server.UnknownToken()))
	require.True(t, fault.Is(server.UnknownToken(), fault.NotFound))
	require.Equal(t, "server_token-x", server.Token{ID: "x"}.Stream())
}

// A registry takes each event type once.
func TestTheEventTypesOfServersAreRegisteredOnce(t *testing.T) {
	t.Parallel()
	types := eventlog.NewRegistry()
	require.NoError(t, server.Register(types))
	require.Error(t, server.Register(types))
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
