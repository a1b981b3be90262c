package servers_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim/comfyui"
)

func TestTwoServersAreCompared(t *testing.T) {
	t.Parallel()
	s := start(t, comfyui.Options{}, comfyui.Options{Without: []string{"ImageInvert"}}, comfyui.Options{})
	diff := func(a, b int) (found []struct{ What, A, B string }) {
		require.NoError(t, json.Unmarshal([]byte(s.command("servers", "diff", s.machines[a].URL(), s.machines[b].URL(), "--json")), &found))
		return found
	}
	s.await("the classes of all servers", func() bool {
		for _, m := range s.machines {
			if _, err := s.Command(t.Context(), "servers", "diff", m.URL(), m.URL()); err != nil {
				return false
			}
		}
		return true
	})
	require.Empty(t, diff(0, 2))
	found := diff(0, 1)
	require.Len(t, found, 1)
	require.Contains(t, found[0].What, "that the other lacks")
	require.Equal(t, "ImageInvert", found[0].A)
	require.Empty(t, found[0].B)
	require.Contains(t, s.command("servers", "diff", s.machines[0].URL(), s.machines[2].URL()), "no difference")
	require.Contains(t, s.command("servers", "show", s.machines[0].URL()), `"python":`)
}
