package service_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/cli/service"
	"github.com/millrace-dev/millrace/internal/config"
)

// The lines to paste are complete requests.
func TestTheBannerCanBePasted(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cfg := config.Default()
	service.Banner(&out, cfg, app.Addresses{Base: "http://127.0.0.1:8188", TemporalUI: "http://127.0.0.1:8233"})
	require.Contains(t, out.String(), "Millrace is ready.\n\n  Console      http://127.0.0.1:8188/console\n", "the console comes first")
	require.Contains(t, out.String(), "API          http://127.0.0.1:8188")
	require.Contains(t, out.String(), "Temporal UI  http://127.0.0.1:8233")
	require.Contains(t, out.String(), cfg.DataDir)
	bodies := regexp.MustCompile(`(?s)-d '(.*?)'`).FindAllStringSubmatch(out.String(), -1)
	require.Len(t, bodies, 2)
	for _, body := range bodies {
		require.True(t, json.Valid([]byte(body[1])), body[1])
	}
	require.NotContains(t, out.String(), "X-API-Key")
	require.NotContains(t, out.String(), "Editor")
	out.Reset()
	cfg.Auth, cfg.Editor = "token", "/srv/editor"
	service.Banner(&out, cfg, app.Addresses{Base: "http://127.0.0.1:8188"})
	require.Contains(t, out.String(), "Editor       http://127.0.0.1:8188/\n")
	require.Contains(t, out.String(), `curl -s -H "X-API-Key: $KEY"`)
}
