package config

import "time"

// Tokens configures the JSON Web Tokens that the model router accepts. Without a secret or a JWKS it accepts none.
type Tokens struct {
	Secret   string // MILLRACE_JWT_SECRET, secret of HS256, at least 32 bytes
	JWKS     string // MILLRACE_JWT_JWKS, address of the issuer's public keys, for RS256, ES256 and EdDSA
	Issuer   string // MILLRACE_JWT_ISSUER, that iss must be; "" = any
	Audience string // MILLRACE_JWT_AUDIENCE, that aud must contain; "" = any
	Claim    string // MILLRACE_JWT_CLAIM, that is the id or name of the account; "a.b" = b within a
	Tier     string // MILLRACE_JWT_TIER_CLAIM, that is the account's tier; "" = tokens say none
	Scopes   string // MILLRACE_JWT_SCOPES_CLAIM, that lists read and write; "" = every token has both
	Begins   bool   // MILLRACE_JWT_REQUIRE_NBF, refuse tokens without nbf
	// MILLRACE_JWT_CREATE, tier of accounts that are created when a token first names them; "" = accounts are not created
	Create string
	Skew   time.Duration // MILLRACE_JWT_SKEW, the tolerated difference of clocks
}

var tokenSettings = []setting{
	text("MILLRACE_JWT_SECRET", func(c *Config) *string { return &c.Tokens.Secret }),
	text("MILLRACE_JWT_JWKS", func(c *Config) *string { return &c.Tokens.JWKS }),
	text("MILLRACE_JWT_ISSUER", func(c *Config) *string { return &c.Tokens.Issuer }),
	text("MILLRACE_JWT_AUDIENCE", func(c *Config) *string { return &c.Tokens.Audience }),
	text("MILLRACE_JWT_CLAIM", func(c *Config) *string { return &c.Tokens.Claim }),
	text("MILLRACE_JWT_TIER_CLAIM", func(c *Config) *string { return &c.Tokens.Tier }),
	text("MILLRACE_JWT_SCOPES_CLAIM", func(c *Config) *string { return &c.Tokens.Scopes }),
	flag("MILLRACE_JWT_REQUIRE_NBF", func(c *Config) *bool { return &c.Tokens.Begins }),
	text("MILLRACE_JWT_CREATE", func(c *Config) *string { return &c.Tokens.Create }),
	duration("MILLRACE_JWT_SKEW", func(c *Config) *time.Duration { return &c.Tokens.Skew }),
}

// Accepted reports whether tokens are accepted.
func (t Tokens) Accepted() bool { return t.Secret != "" || t.JWKS != "" }
