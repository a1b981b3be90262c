package servers_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/operate/doctor"
	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// inject makes a fault happen on a server once, as an operator of the simulator does.
func inject(t *testing.T, m *comfyui.Machine, fault string) {
	t.Helper()
	res, err := http.Post(m.URL()+"/sim/faults/"+fault, "", nil)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusOK, res.StatusCode)
}

// doctorSays returns the finding of one check.
func (s *service) doctorSays(check string) doctor.Finding {
	s.t.Helper()
	out, _ := s.Command(s.t.Context(), "doctor", "--json") // the exit status is that of the worst finding
	var report struct{ Checks []doctor.Finding }
	require.NoError(s.t, json.Unmarshal([]byte(out), &report), out)
	at := slices.IndexFunc(report.Checks, func(f doctor.Finding) bool { return f.Check == check })
	require.GreaterOrEqual(s.t, at, 0, out)
	return report.Checks[at]
}

// A node that hangs costs one job two runs. Its segment runs elsewhere once and then fails with the node's name. A server that hangs
// in the canceled prompt gets nothing more until that prompt ends; the doctor, the console and the metric of the alert say so within
// a minute, and the job that waits for the servers says what it waits for.
func TestANodeThatHangsCostsOneJobTwoRuns(t *testing.T) {
	t.Parallel()
	machines := []*comfyui.Machine{simulate(t, comfyui.Options{}), simulate(t, comfyui.Options{})}
	s := serve(t, nil, machines, "--node-timeout", "5s")
	s.healthy(2)
	for _, m := range machines {
		inject(t, m, "hang")
		t.Cleanup(m.Clear)
	}
	id := s.submit(served.Text2Img(1, 2))
	history := s.hasFailed(id)
	require.Contains(t, history, "the node sent no sign of progress for 5s")
	require.Contains(t, history, `"node_id":"5"`)
	require.Contains(t, history, `"node_type":"KSampler"`)
	require.Equal(t, []int{1, 1}, s.executed(), "once on each server")
	var timeline struct {
		Servers []struct {
			Outcome string
			Took    int64 // milliseconds
		}
	}
	require.NoError(t, json.Unmarshal([]byte(s.command("jobs", "timeline", id, "--json")), &timeline))
	require.Len(t, timeline.Servers, 2)
	require.Equal(t, "given_up", timeline.Servers[0].Outcome)
	for _, attempt := range timeline.Servers {
		require.InDelta(t, 10_000, attempt.Took, 5_000, "an attempt ends with a poll after 5 s of silence, where the machine is idle within 8 s")
	}

	waiting := s.submit(served.Text2Img(2, 2))
	hung := time.Now()
	s.await("that the service names both servers everywhere", func() bool {
		finding := s.doctorSays("servers")
		for _, m := range machines {
			if strings.Count(finding.Detail, m.URL()+" a canceled prompt has not ended") != 1 {
				return false
			}
		}
		require.Equal(t, doctor.Failing, finding.Status, "no server is left: %+v", finding)
		require.Contains(t, finding.Detail, "restart ComfyUI there")
		return strings.Count(s.get("/console/servers"), "a canceled prompt has not ended") >= 2 &&
			strings.Count(s.get("/admin/metrics"), `state="stuck"} 1`) == 2
	})
	require.Less(t, time.Since(hung), time.Minute)
	s.await("that the page of the job says why it waits", func() bool {
		return strings.Contains(s.get("/console/jobs/"+waiting), "still runs a canceled prompt")
	})
	require.Equal(t, []int{1, 1}, s.executed(), "nothing is sent there")

	machines[0].Clear() // the prompt ends, and the server's queue moves
	require.Equal(t, "completed", s.ended(waiting))
	require.Equal(t, []int{2, 1}, s.executed())
	finding := s.doctorSays("servers")
	require.Equal(t, doctor.Warning, finding.Status, "one server is left: %+v", finding)
	require.NotContains(t, finding.Detail, machines[0].URL()+" a canceled prompt")
}
