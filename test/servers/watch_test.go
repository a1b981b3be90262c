package servers_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// post sends a prompt to a server directly.
func post(t *testing.T, m *sim.Machine, g served.Graph, id, client string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"prompt": g, "prompt_id": id, "client_id": client})
	require.NoError(t, err)
	res, err := http.Post(m.URL()+"/prompt", "application/json", bytes.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusOK, res.StatusCode)
}

// outcome returns the outcome of a prompt's execution, or "" while it has not begun.
func outcome(m *sim.Machine, id string) string {
	runs := m.Runs()
	if at := slices.IndexFunc(runs, func(r sim.Run) bool { return r.ID == id }); at >= 0 {
		return runs[at].Outcome
	}
	return ""
}

// A process that watches the servers notices when they stop and return, distinguishes prompts of other clients from
// segments, and cancels only the prompts that were given up.
func TestWatchOfServers(t *testing.T) {
	t.Parallel()
	m := machine(t, 10*time.Millisecond)
	d := newDeployment(t, served.Text2Img(1, 2), m)
	d.worker("first")
	await := func(what string, condition func(*server.Server) bool) {
		t.Helper()
		require.Eventually(t, func() bool {
			all, err := d.store.Servers(t.Context())
			require.NoError(t, err)
			return condition(all[0])
		}, patience, 20*time.Millisecond, what)
	}
	await("the server answers", func(s *server.Server) bool {
		return s.Health == server.Answers && s.Version == "0.33.0" && s.Digest != "" && len(s.Devices) == 1
	})

	w := server.Wait{Key: server.Key{Job: job.NewID(), Run: 1}, Account: "a", Since: time.Now().UTC(), Attempt: 1, Holder: "gone"}
	made, _, err := d.store.Place(t.Context(), server.Round{Waits: []server.Wait{w}},
		func(all []*server.Server, waiting []*server.Wait, _ map[string]time.Duration) ([]server.Placement, []server.Unplaced) {
			return []server.Placement{{Wait: waiting[0], Server: all[0], Reason: "a test"}}, nil
		})
	require.NoError(t, err)
	require.Len(t, made, 1)
	ours, foreign := made[0].Prompt(1).String(), uuid.NewString()
	post(t, m, served.Text2Img(2, 10_000), ours, ours)
	post(t, m, served.Text2Img(3, 200), foreign, "somebody")
	await("two prompts, of which one is somebody else's", func(s *server.Server) bool {
		return s.Running == 1 && s.Pending == 1 && s.Foreign == 1
	})
	require.NoError(t, d.store.Orphan(t.Context(), made[0]))
	require.NoError(t, d.store.Drop(t.Context(), made[0]))
	require.Eventually(t, func() bool { return outcome(m, ours) == "interrupted" && outcome(m, foreign) == "success" }, patience,
		20*time.Millisecond)
	await("the canceled prompt has ended", func(s *server.Server) bool { return s.CanceledAt == nil })

	m.Kill()
	await("the server is away", func(s *server.Server) bool { return s.Health == server.Absent && s.Problem != "" })
	require.NoError(t, m.Restart())
	await("the server is back", func(s *server.Server) bool { return s.Health == server.Answers && s.Problem == "" })
}
