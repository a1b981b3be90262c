package app

import (
	"errors"
	"fmt"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/web/webtoken"
)

// settings are those parts of the configuration that other packages parse: package config imports none of them.
type settings struct {
	mode     account.Mode
	slots    account.Slots // jobs of an account that run at the same time, by tier
	create   account.Tier  // tier of accounts that are created when a token first names them; "" = none are created
	tokens   webtoken.Options
	web      string   // address of the server whose web files of custom nodes an editor loads; "" = none
	comfyOrg []string // addresses of the servers that receive credentials of Comfy.org
	steps    []call.Step
	windows  []call.Window
	webhooks webhook.Policy
}

// validate reports all invalid settings of a configuration.
func validate(cfg config.Config) error {
	_, err := parse(cfg)
	return errors.Join(cfg.Validate(), err)
}

// parse reads the settings of a configuration. It reports all that are not valid.
func parse(cfg config.Config) (s settings, err error) {
	var problems []error
	check := func(name string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	}
	s.mode = account.Mode(cfg.Auth)
	if cfg.TierSlots != "" {
		s.slots, err = account.ParseSlots(cfg.TierSlots)
		check("MILLRACE_TIER_SLOTS", err)
	}
	if cfg.Tokens.Create != "" {
		s.create, err = account.ParseTier(cfg.Tokens.Create)
		check("MILLRACE_JWT_CREATE", err)
	}
	if cfg.Tokens.Accepted() {
		t := cfg.Tokens
		s.tokens = webtoken.Options{
			Secret: t.Secret, JWKS: t.JWKS, Issuer: t.Issuer, Audience: t.Audience,
			Claim: t.Claim, Tier: t.Tier, Scopes: t.Scopes, Begins: t.Begins, Skew: t.Skew,
		}
		check("MILLRACE_JWT_SECRET, MILLRACE_JWT_JWKS", s.tokens.Check())
	}
	if cfg.Servers.Web != "" {
		s.web, err = server.ParseURL(cfg.Servers.Web)
		check("MILLRACE_COMFYUI_WEB", err)
	}
	for _, text := range cfg.Servers.ComfyOrg {
		address, err := server.ParseURL(text)
		check("MILLRACE_COMFYUI_CREDENTIALS", err)
		s.comfyOrg = append(s.comfyOrg, address)
	}
	for _, step := range cfg.Router.Concurrent {
		s.steps = append(s.steps, call.Step(step))
	}
	for _, w := range cfg.Router.Windows {
		s.windows = append(s.windows, call.Window(w))
	}
	w := cfg.Webhooks
	s.webhooks = webhook.Policy{Timeout: w.Timeout, Retries: w.Retries, DisableAfter: w.DisableAfter, Retention: w.Retention}
	return s, errors.Join(problems...)
}
