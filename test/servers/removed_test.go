package servers_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// A job whose only server is removed before it runs waits for one that has its classes.
func TestJobWaitsWhenItsOnlyServerIsRemoved(t *testing.T) {
	t.Parallel()
	s := start(t, comfyui.Options{Step: 20 * time.Millisecond})
	known := s.machines[0].URL()
	s.command("servers", "drain", known, "--reason", "a test")
	id := s.submit(served.Text2Img(1, 3))
	s.command("servers", "remove", known, "--reason", "a test")
	s.await("that new graphs are refused", func() bool {
		status, _ := s.do(http.MethodPost, "/api/prompt", map[string]any{"prompt": served.Text2Img(2, 3)})
		return status == http.StatusBadRequest
	})
	require.NotContains(t, []string{"completed", "failed", "error", "cancelled"}, s.status(id))
	s.command("servers", "add", known, "--reason", "a test")
	require.Equal(t, "completed", s.ended(id))
	require.Len(t, s.images(id), 1)
}
