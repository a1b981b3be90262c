// Package app is the composition root: it builds each role of the service from its parts, and runs a process of one
// or more roles until it is stopped or fails permanently. It is the only package that imports every implementation;
// commands and operators' services get their dependencies from here.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/comfyui/packroutes"
	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/domain/session"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/web/webtoken"
)

// settings are those parts of the configuration that other packages parse: package config imports none of them.
type settings struct {
	mode       account.Mode
	slots      account.Slots // jobs of an account that run at the same time, by tier
	create     account.Tier  // tier of accounts that are created when a token first names them; "" = none are created
	tokens     webtoken.Options
	grants     session.Rules // of people who sign in with OpenID Connect
	web        string        // address of the server whose web files of custom nodes an editor loads; "" = none
	comfyOrg   []string      // addresses of the servers that receive credentials of Comfy.org
	packRoutes []packroutes.Rule
	weights    files.WeightSources
	steps      []call.Step
	windows    []call.Window
	webhooks   webhook.Policy
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
	if cfg.OpenID.Issuer != "" {
		s.grants, err = session.ParseRules(cfg.OpenID.Grants, s.mode.OnlyAccount(), cfg.OpenID.Domains)
		check("MILLRACE_OIDC_GRANTS", err)
	}
	if cfg.Servers.Web != "" {
		s.web, err = server.ParseURL(cfg.Servers.Web)
		check("MILLRACE_COMFYUI_WEB", err)
	}
	s.packRoutes, err = packroutes.ParseRules(cfg.Servers.PackRoutes)
	check("MILLRACE_PACK_ROUTES", err)
	s.weights, err = files.ParseWeightSources(cfg.Servers.WeightSources)
	check("MILLRACE_WEIGHT_SOURCES", err)
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

// Role is a part of the service that can run in a process of its own.
type Role string

const (
	API       Role = "api"       // HTTP, WebSocket
	Worker    Role = "worker"    // workflows and activities
	Projector Role = "projector" // views
)

// AllRoles are the roles of local mode.
var AllRoles = []Role{API, Worker, Projector}

// ParseRoles reads a comma-separated list.
func ParseRoles(list string) ([]Role, error) {
	var roles []Role
	for name := range strings.SplitSeq(list, ",") {
		r := Role(strings.TrimSpace(name))
		if !slices.Contains(AllRoles, r) {
			return nil, fmt.Errorf("role %q is not one of api, worker, projector", name)
		}
		if !slices.Contains(roles, r) {
			roles = append(roles, r)
		}
	}
	return roles, nil
}

// Serve runs the roles until ctx ends or one of them fails. ready, if not nil, is called once the address is listening and,
// in a process with that role, the workers have announced themselves.
func Serve(ctx context.Context, cfg config.Config, roles []Role, log *slog.Logger, ready func(base string)) error {
	if err := validate(cfg); err != nil {
		return err
	}
	if slices.Contains(roles, API) {
		cfg = fetchEditor(ctx, cfg, log)
	}
	for _, warning := range cfg.Warnings() {
		log.Warn("configuration warning", slog.String("warning", warning))
	}
	if err := migrate(ctx, cfg, databaseWithin, log); err != nil {
		return err
	}
	in, err := Open(ctx, cfg, log, roles)
	if err != nil {
		return err
	}
	defer in.Close()
	// The listener opens first, so that a taken port is reported before anything is started.
	var listener net.Listener
	if slices.Contains(roles, API) {
		if listener, err = Listen(cfg.Addr); err != nil {
			return err
		}
	}
	asked := ctx
	group, ctx := errgroup.WithContext(ctx)
	if err := in.openBus(ctx, group); err != nil {
		return err
	}
	in.start(ctx, group)
	var handler http.Handler
	if listener != nil {
		if handler, err = in.handler(ctx, group); err != nil {
			return errors.Join(err, listener.Close())
		}
	}
	if handler, err = in.serveOperators(ctx, group, in.tracedRequests(handler)); err != nil {
		return err
	}
	if listener != nil {
		group.Go(func() error { return serveHTTP(ctx, listener, handler, cfg.StopAfter) })
		if ready != nil {
			group.Go(func() error {
				if in.awaitReady(ctx) {
					ready("http://" + listener.Addr().String())
				}
				return nil
			})
		}
	}
	return stopped(asked, group.Wait(), log)
}

// stopped returns the result of a process: nil if it was asked to stop, otherwise the first error of its parts.
func stopped(asked context.Context, err error, log *slog.Logger) error {
	if asked.Err() == nil {
		return err
	}
	if ignoreStop(err) != nil {
		log.Warn("errors during shutdown", "error", err)
	}
	return nil
}

func ignoreStop(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Listen listens on HOST:PORT. Its error names the remedy.
func Listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; stop what uses it, or choose another with --addr", addr, errors.Unwrap(err))
	}
	return l, nil
}

// headerTimeout bounds the time for the header of a request, bodyTimeout that for a body without bounds of its route.
const (
	headerTimeout = 15 * time.Second
	bodyTimeout   = time.Minute
)

func serveHTTP(ctx context.Context, l net.Listener, handler http.Handler, grace time.Duration) error {
	srv := &http.Server{
		Handler: request.BoundWaiting(handler, bodyTimeout), ReadHeaderTimeout: headerTimeout, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	stopped := make(chan error, 1)
	go func() { stopped <- srv.Serve(l) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("serve HTTP: %w", err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := srv.Shutdown(end); err != nil {
		return srv.Close() // streams that are still open are closed; their clients reconnect
	}
	return nil
}

// Paths within the data directory.

func blobDir(cfg config.Config) string    { return filepath.Join(cfg.DataDir, "blobs") }
func valueDir(cfg config.Config) string   { return filepath.Join(cfg.DataDir, "values") }
func processDir(cfg config.Config) string { return filepath.Join(cfg.DataDir, "comfyui") }
func secretFile(cfg config.Config) string { return filepath.Join(cfg.DataDir, "secret.key") }
