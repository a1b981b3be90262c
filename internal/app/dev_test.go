package app_test

import (
	"bytes"
	"encoding/json"
	"net"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/config"
)

func TestATakenPortIsToldBeforeAnythingIsStarted(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, taken.Close()) })
	dir := t.TempDir()
	_, err = run(t, "dev", "--addr", taken.Addr().String(), "--data", dir)
	require.ErrorContains(t, err, "cannot listen on "+taken.Addr().String())
	require.ErrorContains(t, err, "stop what uses it, or choose another with --addr")
	require.NotContains(t, app.Message(err), "\n")
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Empty(t, left, "no data, no server")
}

func TestAnEditorThatIsNotThereIsToldBeforeAnythingIsStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := run(t, "dev", "--addr", "127.0.0.1:0", "--data", dir, "--editor", filepath.Join(dir, "none"))
	require.ErrorContains(t, err, "--editor (MILLRACE_EDITOR): no editor in "+filepath.Join(dir, "none"))
	require.ErrorContains(t, err, "comfyui-frontend-package")
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Empty(t, left, "no data, no server")
}

// The lines to paste are complete requests.
func TestTheBannerCanBePasted(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cfg := config.Default()
	app.Banner(&out, cfg, "http://127.0.0.1:8188", "http://127.0.0.1:8233")
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
	app.Banner(&out, cfg, "http://127.0.0.1:8188", "")
	require.Contains(t, out.String(), "Editor       http://127.0.0.1:8188/\n")
	require.Contains(t, out.String(), `curl -s -H "X-API-Key: $KEY"`)
}
