package operators_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// picture returns the file of the one output of a job, as the account reads it, and the job's history as text.
func (b *bench) picture(id string) (file, history string) {
	b.t.Helper()
	_, history = b.do(http.MethodGet, "/api/history/"+id, nil)
	var entries map[string]struct {
		Outputs map[string]struct {
			Images []struct{ Filename, Subfolder, Type string }
		}
	}
	require.NoError(b.t, json.Unmarshal([]byte(history), &entries), history)
	im := entries[id].Outputs["7"].Images
	require.Len(b.t, im, 1, history)
	query := url.Values{"filename": {im[0].Filename}, "subfolder": {im[0].Subfolder}, "type": {im[0].Type}}
	status, file := b.do(http.MethodGet, "/api/view?"+query.Encode(), nil)
	require.Equal(b.t, http.StatusOK, status)
	return file, history
}

// Two accounts choose the same id for their prompts. On a server they are two prompts, each account reads its own,
// and a cancel affects only the caller's.
func TestAccountsWithTheSamePromptIDOnAServer(t *testing.T) {
	b := start(t)
	m := b.server(comfyui.Options{Step: 10 * time.Millisecond}, map[string]any{"slots": 2})
	other := *b
	other.name = "b-" + uuid.NewString()[:8]
	other.account = strings.TrimSpace(b.command("accounts", "create", other.name, "--tier", "pro"))
	other.key = served.LastLine(b.command("keys", "create", "--account", other.name))

	submit := func(b *bench, id string, g served.Graph) {
		body := asking(g, b.label)
		body["prompt_id"] = id
		status, text := b.do(http.MethodPost, "/api/prompt", body)
		require.Equal(t, http.StatusOK, status, text)
	}
	of := func(text string, steps int) served.Graph {
		g := served.Text2Img(7, steps)
		g["2"] = served.Node("CLIPTextEncode", map[string]any{"text": text, "clip": []any{"1", 1}})
		return g
	}
	id := uuid.NewString()
	submit(b, id, of("a cat", 20))
	submit(&other, id, of("a dog", 20))
	require.Equal(t, "completed", b.ended(id))
	require.Equal(t, "completed", other.ended(id))
	cat, catHistory := b.picture(id)
	dog, dogHistory := other.picture(id)
	require.NotEqual(t, cat, dog, "each has its own picture")
	require.Contains(t, catHistory, "a cat")
	require.NotContains(t, catHistory+cat, "a dog")
	require.Contains(t, dogHistory, "a dog")
	require.NotContains(t, dogHistory+dog, "a cat")
	runs := m.Runs()
	require.Len(t, runs, 2)
	require.NotEqual(t, runs[0].ID, runs[1].ID, "they are two prompts of the server")
	require.NotContains(t, []string{runs[0].ID, runs[1].ID}, id)

	id = uuid.NewString()
	submit(b, id, of("a long cat", 3000))
	b.await("the first prompt to run", func() bool { return len(m.Runs()) == 3 })
	submit(&other, id, of("a short dog", 20))
	status, body := b.do(http.MethodPost, "/api/interrupt", map[string]any{"prompt_id": id})
	require.Less(t, status, 300, body)
	require.Equal(t, "cancelled", b.ended(id))
	require.Equal(t, "completed", other.ended(id))
	b.await("the first prompt to be interrupted", func() bool { return m.Runs()[2].Outcome == "interrupted" })
}
