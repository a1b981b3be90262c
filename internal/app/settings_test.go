package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/config"
)

func TestInvalidSettingsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	values := map[string]string{
		"MILLRACE_JWT_SECRET": "hunter2", "MILLRACE_JWT_JWKS": "http://id.example/keys", "MILLRACE_JWT_CREATE": "gold",
		"MILLRACE_TIER_SLOTS": "gold=1", "MILLRACE_COMFYUI_WEB": "ftp://gpu-1", "MILLRACE_COMFYUI_CREDENTIALS": "http://gpu-1 gpu-2",
	}
	for name, value := range values {
		cfg, err := config.Load(func(n string) (string, bool) { return value, n == name })
		require.NoError(t, err)
		err = app.Validate(cfg)
		require.ErrorContains(t, err, name)
		require.NotContains(t, err.Error(), "hunter2", "a secret is not shown")
	}
	cfg, err := config.Load(func(n string) (string, bool) { v, ok := values[n]; return v, ok })
	require.NoError(t, err)
	cfg.Slots = 0
	err = app.Validate(cfg)
	for _, problem := range []string{
		"MILLRACE_JWT_SECRET", "MILLRACE_JWT_CREATE", "MILLRACE_TIER_SLOTS", "MILLRACE_COMFYUI_WEB", "gpu-2", "slots",
	} {
		require.ErrorContains(t, err, problem)
	}
	require.NoError(t, app.Validate(config.Default()))
}

func TestAShortSkewOfTokensIsRequired(t *testing.T) {
	t.Parallel()
	_, err := config.Load(func(n string) (string, bool) { return "0s", n == "MILLRACE_JWT_SKEW" })
	require.ErrorContains(t, err, "MILLRACE_JWT_SKEW")
}
