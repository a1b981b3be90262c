package servers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// hasFailed waits for the failure of a job and returns its history.
func (s *service) hasFailed(id string) string {
	s.t.Helper()
	require.Contains(s.t, []string{"failed", "error"}, s.ended(id))
	return s.get("/api/history/" + id)
}

// executions returns how often prompts ran on all servers since executed.
func (s *service) executions(before []int) (n int) {
	for i, m := range s.machines {
		n += len(m.Runs()) - before[i]
	}
	return n
}

func (s *service) executed() (n []int) {
	for _, m := range s.machines {
		n = append(n, len(m.Runs()))
	}
	return n
}

// everywhere makes a fault happen on all servers until the sub-test ends.
func (s *service) everywhere(f comfyui.Fault) {
	for _, m := range s.machines {
		m.Inject(f, comfyui.Always)
		s.t.Cleanup(m.Clear)
	}
}

// resume ends the rest of all servers and waits until they are available.
func (s *service) resume() {
	s.t.Helper()
	for _, m := range s.machines {
		m.Clear()
		s.command("servers", "resume", m.URL(), "--reason", "a test")
	}
	s.healthy(len(s.machines))
}

// No outcome of a segment repeats for ever: each has its bound, and the job says which node and why.
func TestNoOutcomeRepeatsForEver(t *testing.T) {
	t.Parallel()
	s := startWith(t, settings{"MILLRACE_COMFYUI_SILENCE": "8s", "MILLRACE_NODE_TIMEOUT": "5s"},
		comfyui.Options{Step: 20 * time.Millisecond}, comfyui.Options{Step: 20 * time.Millisecond})
	s.healthy(2)
	seed := 900
	submit := func(s *service, steps int) string {
		seed++
		return s.submit(served.Text2Img(seed, steps))
	}
	t.Run("a graph that ends its servers", func(t *testing.T) {
		s := s.with(t)
		before := s.executed()
		s.everywhere(comfyui.Crash)
		id := submit(s, 10)
		history := s.hasFailed(id)
		require.Contains(t, history, "two servers were lost while this node ran")
		require.Contains(t, history, `"node_id":"5"`)
		require.Contains(t, history, "ServiceError")
		require.Equal(t, 2, s.executions(before))
		require.Contains(t, s.command("jobs", "timeline", id), "given_up")
		s.resume()
		require.Equal(t, "completed", s.ended(submit(s, 2)))
	})
	for name, f := range map[string]comfyui.Fault{
		"a name with parents": comfyui.ParentName, "an absolute name": comfyui.AbsoluteName, "a name with backslashes": comfyui.BackslashName,
		"a name with NUL": comfyui.NULName, "a folder outside": comfyui.UnsafeName,
	} {
		t.Run(name, func(t *testing.T) {
			s := s.with(t)
			before := s.executed()
			s.everywhere(f)
			history := s.hasFailed(submit(s, 2))
			require.Contains(t, history, "the name of a file outside its folder")
			require.Contains(t, history, `"node_id":"7"`)
			require.Equal(t, 2, s.executions(before), "one repeat elsewhere")
			s.resume()
		})
	}
	t.Run("a full disk", func(t *testing.T) {
		s := s.with(t)
		id := ""
		for _, m := range s.machines {
			m.Inject(comfyui.DiskFull, 1)
		}
		s.machines[1].Clear()
		s.command("servers", "drain", s.machines[1].URL(), "--reason", "a test")
		id = submit(s, 2)
		s.await("the server to rest", func() bool { return strings.Contains(s.get("/admin/servers"), `"state":"resting"`) })
		require.Contains(t, s.command("servers", "list"), "No space left on device")
		s.command("servers", "resume", s.machines[1].URL(), "--reason", "a test")
		require.Equal(t, "completed", s.ended(id))
		s.resume()

		s.everywhere(comfyui.DiskFull)
		history := s.hasFailed(submit(s, 2))
		require.Contains(t, history, "No space left on device")
		require.NotContains(t, history, "/home/")
		s.resume()
	})
	t.Run("exceptions have the types of the contract", func(t *testing.T) {
		s := s.with(t)
		for f, want := range map[comfyui.Fault]string{
			comfyui.BadValue: "ValidationError", comfyui.Raise: "ServiceError", comfyui.MissingModel: "ModelDownloadError",
		} {
			s.everywhere(f)
			if f == comfyui.MissingModel {
				for _, m := range s.machines {
					require.NoError(t, m.Restart()) // it forgets the loaded checkpoint
				}
			}
			id := submit(s, 2)
			require.Contains(t, s.hasFailed(id), `"exception_type":"`+want+`"`)
			if f == comfyui.BadValue {
				require.Contains(t, s.command("jobs", "events", id, "--json"), `"runtime_type": "ValueError"`)
				require.Contains(t, s.get("/api/history/"+id), `"steps":["2"]`)
			}
			s.resume()
		}
	})
	t.Run("a node that reports progress may take any time", func(t *testing.T) {
		require.Equal(t, "completed", s.with(t).ended(submit(s.with(t), 350))) // seven seconds
	})
	t.Run("a silent server", func(t *testing.T) { s.with(t).silent(submit) })
	t.Run("a node that hangs", func(t *testing.T) { s.with(t).hangs(submit) })
	t.Run("a server that is removed", func(t *testing.T) { // last: it is gone
		s := s.with(t)
		id := submit(s, 300)
		victim := s.victim()
		s.command("servers", "remove", victim.URL(), "--reason", "a test")
		require.Equal(t, "completed", s.ended(id))
		var answer struct {
			Events []struct {
				Type string
				Data struct{ Attempt int }
			} `json:"events"`
		}
		require.NoError(t, json.Unmarshal([]byte(s.command("jobs", "events", id, "--json")), &answer))
		var attempts []int
		for _, e := range answer.Events {
			if e.Type == job.TypeSegmentPlaced {
				attempts = append(attempts, e.Data.Attempt)
			}
		}
		require.Equal(t, []int{1, 2}, attempts, "the earlier attempt counts: %s", s.command("jobs", "events", id, "--json"))
	})
}

// silent runs a segment elsewhere within the silence bound and five seconds, whether the server froze before or after it got the
// prompt.
func (s *service) silent(submit func(*service, int) string) {
	for _, early := range []bool{false, true} {
		within(s.t, 8*time.Second+5*time.Second, "a segment goes elsewhere", func() time.Duration {
			before := s.executed()
			var victim *comfyui.Machine
			var id string
			var frozen time.Time
			if early {
				victim = s.machines[0]
				s.command("servers", "drain", s.machines[1].URL(), "--reason", "a test")
				victim.Freeze()
				frozen = time.Now()
				id = submit(s, 5)
				s.command("servers", "resume", s.machines[1].URL(), "--reason", "a test")
			} else {
				id = submit(s, 200)
				victim = s.victim()
				victim.Freeze()
				frozen = time.Now()
			}
			other := s.machines[0]
			if victim == other {
				other = s.machines[1]
			}
			at := before[0]
			if other == s.machines[1] {
				at = before[1]
			}
			s.await("the segment elsewhere", func() bool { return len(other.Runs()) > at })
			took := other.Runs()[at].Began.Sub(frozen)
			s.t.Logf("elsewhere after %s", took.Round(time.Millisecond))
			require.Equal(s.t, "completed", s.ended(id))
			victim.Thaw()
			s.resume()
			return took
		})
	}
}

// hangs runs a graph whose sampler hangs on every server, and one that hangs when it is canceled.
func (s *service) hangs(submit func(*service, int) string) {
	t := s.t
	for _, m := range s.machines {
		m.Inject(comfyui.Hang, 1)
	}
	before := s.executed()
	history := s.hasFailed(submit(s, 2))
	require.Contains(t, history, "no sign of progress for 5s")
	require.Contains(t, history, `"node_id":"5"`)
	require.Equal(t, 2, s.executions(before), "one repeat elsewhere")
	noted := time.Now()
	s.await("both servers to be stuck", func() bool { return strings.Count(s.get("/admin/servers"), `"state":"stuck"`) == 2 })
	doctor, _ := s.Command(t.Context(), "doctor", "--json")
	require.Contains(t, doctor, "a canceled prompt has not ended")
	require.Contains(t, s.get("/console/servers"), "a canceled prompt has not ended")
	require.Less(t, time.Since(noted), time.Minute)
	waiting := submit(s, 2)
	s.await("that nothing is sent there", func() bool {
		return strings.Contains(s.command("jobs", "events", waiting, "--json"), "still runs a canceled prompt")
	})
	s.resume()
	require.Equal(t, "completed", s.ended(waiting))

	s.healthy(2)
	for _, m := range s.machines {
		m.Inject(comfyui.Hang, 1)
	}
	id := submit(s, 2)
	hung := s.victim()
	status, _ := s.do(http.MethodPost, "/api/interrupt", map[string]any{"prompt_id": id})
	require.Less(t, status, 300)
	require.Equal(t, "cancelled", s.ended(id))
	for _, m := range s.machines {
		if m != hung {
			m.Clear()
		}
	}
	before = s.executed()
	require.Equal(t, "completed", s.ended(submit(s, 2)), "on the free server, although the other one has loaded its models")
	for i, m := range s.machines {
		if m == hung {
			require.Len(t, m.Runs(), before[i])
		}
	}
	s.resume()
}

// maxHostile bounds the memory that definitions of hostile servers may take.
const maxHostile = 320 << 20

// Definitions that never end, are nested without end, or define millions of classes, cost little memory, and are no reason to lose
// the good server. When the servers are removed, the memory comes back.
func TestHostileDefinitionsCostLittle(t *testing.T) {
	s := start(t, comfyui.Options{})
	s.healthy(1)
	runtime.GC()
	before := heap()
	var hostile []*comfyui.Machine
	for i, f := range []comfyui.Fault{
		comfyui.ManyClasses, comfyui.ManyClasses, comfyui.EndlessClasses, comfyui.EndlessClasses, comfyui.DeepClasses, comfyui.DeepClasses,
	} {
		m := simulate(t, comfyui.Options{})
		m.Inject(f, comfyui.Always)
		hostile = append(hostile, m)
		s.command("servers", "add", m.URL(), "--label", fmt.Sprint("hostile", i), "--reason", "a test")
	}
	peak := before
	s.await("that they are refused", func() bool {
		peak = max(peak, heap())
		return strings.Count(s.get("/admin/servers"), `"state":"refused"`) == len(hostile)
	})
	t.Logf("memory in use: %d MiB before, at most %d MiB", before>>20, peak>>20)
	require.Less(t, peak, before+maxHostile)
	require.Equal(t, "completed", s.ended(s.submit(served.Text2Img(1, 2))))
	for _, m := range hostile {
		s.command("servers", "remove", m.URL(), "--reason", "a test")
	}
	s.await("the memory to come back", func() bool {
		runtime.GC()
		return heap() < before+maxHostile/4
	})
}
