package uiworkflow_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
)

func TestModelsOfADrawing(t *testing.T) {
	t.Parallel()
	drawn := `{"nodes":[{"properties":{"models":[{"name":"a.safetensors","url":"https://example.com/a","directory":"vae","hash":"00"},
		{"name":"b","url":"file:///etc/passwd"},{"name":"c","url":"https://me:secret@example.com/c"},{"url":"https://example.com/d"}]}},{}],
		"definitions":{"subgraphs":[{"nodes":[{"properties":{"models":[{"name":"e","url":"http://example.com/e"}]}}]}]}}`
	require.Equal(t, []uiworkflow.Model{
		{Name: "a.safetensors", URL: "https://example.com/a", Hash: "00", Folder: "vae"}, {Name: "e", URL: "http://example.com/e"},
	}, uiworkflow.Models(json.RawMessage(drawn)))
	for _, unreadable := range []string{"", "null", "[]", `{"nodes":[{"properties":{"models":"x"}}]}`} {
		require.Empty(t, uiworkflow.Models(json.RawMessage(unreadable)), unreadable)
	}
}
