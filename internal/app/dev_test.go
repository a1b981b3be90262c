package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/config"
)

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
