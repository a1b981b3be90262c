package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/config"
)

func TestTokenSettings(t *testing.T) {
	t.Parallel()
	c, err := config.Load(env(nil))
	require.NoError(t, err)
	require.False(t, c.Tokens.Accepted(), "none by default")
	secret := strings.Repeat("s", 32)
	c, err = config.Load(env(map[string]string{
		"MILLRACE_JWT_SECRET": secret, "MILLRACE_JWT_JWKS": "https://id.example/keys", "MILLRACE_JWT_ISSUER": "https://id.example",
		"MILLRACE_JWT_AUDIENCE": "millrace", "MILLRACE_JWT_CLAIM": "org.id", "MILLRACE_JWT_TIER_CLAIM": "plan",
		"MILLRACE_JWT_SCOPES_CLAIM": "scope",
		"MILLRACE_JWT_REQUIRE_NBF":  "true", "MILLRACE_JWT_CREATE": "free", "MILLRACE_JWT_SKEW": "10s",
	}))
	require.NoError(t, err)
	require.NoError(t, c.Validate())
	require.Equal(t, config.Tokens{
		Secret: secret, JWKS: "https://id.example/keys", Issuer: "https://id.example", Audience: "millrace",
		Claim: "org.id", Tier: "plan", Scopes: "scope", Begins: true, Create: "free", Skew: 10 * time.Second,
	}, c.Tokens)
}
