package server_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
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
		require.Equal(t, c.want, c.copied.Status("a server"))
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
