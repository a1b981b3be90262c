package app

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/localstack"
	"github.com/millrace-dev/millrace/internal/sim"
	"github.com/millrace-dev/millrace/internal/web/editor"
	"github.com/millrace-dev/millrace/internal/web/editor/published"
)

// Addresses are those of a service that is ready.
type Addresses struct {
	Base       string // http://HOST:PORT
	TemporalUI string // "" = it is not served
}

// Dev runs the private servers and all roles until ctx ends or one of them fails permanently. ready is called once a job
// would run: the address is listening, and the workers have announced themselves.
func Dev(ctx context.Context, cfg config.Config, log *slog.Logger, ready func(Addresses)) error {
	if err := validate(cfg); err != nil {
		return err
	}
	if err := checkEditor(cfg); err != nil { // fail before the servers are started
		return err
	}
	probe, err := Listen(cfg.Addr) // fail before the servers are started
	if err != nil {
		return err
	}
	if err := probe.Close(); err != nil {
		return err
	}
	if err := localstack.CheckUIAddress(cfg.UIAddr); err != nil {
		return err
	}
	password, open := cfg.UIPassword()
	if !open {
		log.Warn("Temporal's Web UI is off: it shows the workflows of all accounts, and in mode keys it needs an operator's password; " +
			"set MILLRACE_ADMIN_TOKEN")
	}
	stack, err := localstack.Start(ctx, localstack.Options{
		DataDir: cfg.DataDir, DatabaseURL: cfg.DatabaseURL, TemporalAddress: cfg.TemporalAddress,
		Namespace: cfg.TemporalNamespace, Log: log, NoUI: !open, UIAddress: cfg.UIAddr, UIPassword: password, UIWrites: cfg.UIWrites,
	})
	if err != nil {
		return err
	}
	defer stack.Close(context.WithoutCancel(ctx))
	if cfg.DatabaseURL == "" && cfg.TemporalAddress == "" {
		cfg.PrivateServers = stack.DataDir
	}
	if cfg.TemporalAddress == "" {
		cfg.Temporal = cfg.Temporal.Private()
	}
	cfg.DatabaseURL, cfg.TemporalAddress = stack.DatabaseURL, stack.TemporalAddress
	cfg = fetchEditor(ctx, cfg, log) // the servers must make the data directory first, with their permissions
	simulator, err := withSimulator(&cfg, log)
	if err != nil {
		return err
	}
	leave, err := localstack.Addresses{
		DatabaseURL: cfg.DatabaseURL, TemporalAddress: cfg.TemporalAddress, Simulator: cfg.Router.Simulator,
	}.Leave(cfg.DataDir)
	if err != nil {
		return err
	}
	defer leave()
	asked := ctx
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return simulator(ctx) })
	group.Go(func() error {
		select {
		case err := <-stack.Failed():
			return err
		case <-ctx.Done():
			return nil
		}
	})
	group.Go(func() error {
		return Serve(ctx, cfg, AllRoles, log, func(base string) { ready(Addresses{base, stack.UIURL}) })
	})
	return stopped(asked, group.Wait(), log)
}

// fetchEditor replaces config.EditorAuto by the directory of the published editor, or by "" if the editor cannot be
// fetched.
func fetchEditor(ctx context.Context, cfg config.Config, log *slog.Logger) config.Config {
	if cfg.Editor == config.EditorAuto {
		f := published.Fetcher{Dir: filepath.Join(cfg.DataDir, "editor"), Index: cfg.EditorIndex, Release: published.Pinned}
		cfg.Editor = f.FetchOrNone(ctx, log)
	}
	return cfg
}

// openEditor opens the files of the web editor, or returns nil. The editor may show pictures of the service and of
// some other origins.
func openEditor(cfg config.Config, media ...string) (*editor.Dir, error) {
	if cfg.Editor == "" || cfg.Editor == config.EditorAuto {
		return nil, nil // the editor is optional, and a fetched one is available later
	}
	files, err := editor.Open(cfg.Editor, media...)
	if err != nil {
		return nil, fmt.Errorf("--editor (MILLRACE_EDITOR): %w", err)
	}
	return files, nil
}

// checkEditor fails if the configured directory has no editor.
func checkEditor(cfg config.Config) error {
	files, err := openEditor(cfg)
	if files == nil {
		return err
	}
	return files.Close()
}

// withSimulator starts a simulator for local mode, on a loopback port of its own, unless the configuration names one.
// run serves it.
func withSimulator(cfg *config.Config, log *slog.Logger) (run func(context.Context) error, err error) {
	if cfg.Router.Simulator != "" {
		return func(context.Context) error { return nil }, nil
	}
	listener, err := Listen("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	cfg.Router.Simulator = "http://" + listener.Addr().String()
	return func(ctx context.Context) error {
		return sim.Serve(ctx, listener, sim.Options{Log: log})
	}, nil
}
