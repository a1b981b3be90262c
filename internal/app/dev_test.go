package app_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/config"
)

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

// Temporal's Web UI shows the workflows of all accounts, so the key of an account does not open it.
func TestTheWebUIAsksForAnOperatorsCredential(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		auth                   string
		token, admin, password string
		open                   bool
	}{
		"none":                 {auth: config.AuthNone, open: true},
		"none with admin":      {auth: config.AuthNone, admin: "a", open: true},
		"token":                {auth: config.AuthToken, token: "t", password: "t", open: true},
		"token with admin":     {auth: config.AuthToken, token: "t", admin: "a", password: "a", open: true},
		"keys":                 {auth: config.AuthKeys},
		"keys with admin":      {auth: config.AuthKeys, admin: "a", password: "a", open: true},
		"keys, token left set": {auth: config.AuthKeys, token: "t"},
	} {
		cfg := config.Default()
		cfg.Auth, cfg.Token, cfg.AdminToken = c.auth, c.token, c.admin
		password, open := app.UIPassword(cfg)
		require.Equal(t, c.open, open, name)
		require.Equal(t, c.password, password, name)
	}
}
