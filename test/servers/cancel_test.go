package servers_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// cancel cancels a job and returns how long it took until the cancel of its prompt reached the server.
func (s *service) cancel(id string, m *comfyui.Machine, prompt string) (took time.Duration) {
	s.t.Helper()
	asked := time.Now()
	status, body := s.do(http.MethodPost, "/api/interrupt", map[string]any{"prompt_id": id})
	require.Less(s.t, status, 300, body)
	s.await("the cancel of prompt "+prompt, func() bool {
		at := slices.IndexFunc(m.Stops(), func(stop comfyui.Stop) bool { return stop.ID == prompt })
		if at >= 0 {
			took = m.Stops()[at].At.Sub(asked)
		}
		return at >= 0
	})
	s.t.Logf("the cancel reached the server after %s", took.Round(time.Millisecond))
	require.Equal(s.t, "cancelled", s.ended(id))
	return took
}

// within repeats something until it takes less than bound. A busy machine does not always do it in that time.
func within(t *testing.T, bound time.Duration, what string, do func() time.Duration) {
	t.Helper()
	for n := 0; do() >= bound; n++ {
		require.Less(t, n, 5, "it always takes longer than %s: %s", bound, what)
	}
}

// cancelRunning cancels jobs while their prompts run: in the first moment, during the hand-over, and later. The socket of the client
// gets the start and the interruption of each.
func (s *service) cancelRunning() {
	m, seed := s.machines[0], 800
	for _, millis := range []int64{0, 0, 0, 0, 800, 900, 950, 1000, 1050, 1100, 1500} {
		within(s.t, time.Second, fmt.Sprint("the cancel of a prompt after ", millis, " ms"), func() time.Duration {
			before, client := len(m.Runs()), uuid.NewString()
			heard := listen(s.t, s.Base, client)
			seed++
			id := s.queue(map[string]any{"prompt": served.Text2Img(seed, 2000), "client_id": client})
			require.Eventually(s.t, func() bool {
				runs := m.Runs()
				return len(runs) > before && time.Since(runs[before].Began).Milliseconds() >= millis
			}, patience, time.Millisecond, "the prompt to run")
			took := s.cancel(id, m, m.Runs()[before].ID)
			s.await("the prompt to be interrupted", func() bool { return m.Runs()[before].Outcome == "interrupted" })
			text := (<-heard).text
			require.Regexp(s.t, `(?s)"execution_start"[^\n]*`+id+`.*"execution_interrupted"[^\n]*`+id, text, "after %d ms", millis)
			return took
		})
	}
}

// cancelQueued cancels a job whose prompt waits on its server after a prompt of another client.
func (s *service) cancelQueued() {
	m, seed := s.machines[0], 60
	within(s.t, time.Second, "the cancel of a prompt in the queue", func() time.Duration {
		foreign := uuid.NewString()
		post(s.t, m, served.Text2Img(seed, 500), foreign, "somebody")
		s.await("the foreign prompt to run", func() bool { return outcome(m, foreign) == "running" })
		id := s.submit(served.Text2Img(seed+1, 5))
		seed += 100
		var queued string
		s.await("the job's prompt behind it", func() bool {
			queued = pending(s.t, m)
			return queued != ""
		})
		took := s.cancel(id, m, queued)
		require.Empty(s.t, pending(s.t, m))
		s.await("the end of the foreign prompt", func() bool { return outcome(m, foreign) == "success" })
		require.Empty(s.t, outcome(m, queued), "it never ran")
		return took
	})
}
