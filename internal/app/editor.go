package app

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/web/editor"
	"github.com/millrace-dev/millrace/internal/web/editor/published"
)

// fetchEditor replaces config.EditorAuto by the directory of the published editor, none where it cannot be fetched.
func fetchEditor(ctx context.Context, cfg config.Config, log *slog.Logger) config.Config {
	if cfg.Editor == config.EditorAuto {
		f := published.Fetcher{Dir: filepath.Join(cfg.DataDir, "editor"), Index: cfg.EditorIndex, Release: published.Pinned}
		cfg.Editor = f.FetchOrNone(ctx, log)
	}
	return cfg
}

// openEditor opens the files of the web editor, which shows pictures of the service and of some other origins; nil without one.
func openEditor(cfg config.Config, media ...string) (*editor.Dir, error) {
	if cfg.Editor == "" || cfg.Editor == config.EditorAuto {
		return nil, nil // a deployment need not have one, and one that is fetched is there later
	}
	files, err := editor.Open(cfg.Editor, media...)
	if err != nil {
		return nil, fmt.Errorf("--editor (MILLRACE_EDITOR): %w", err)
	}
	return files, nil
}

// checkEditor fails when there is no editor where one should be.
func checkEditor(cfg config.Config) error {
	files, err := openEditor(cfg)
	if files == nil {
		return err
	}
	return files.Close()
}

// editor is what the API serves as an editor, nil without one; its directory stays open as long as the process.
func (in *Instance) editor(sealer edge.Sealer, media []string) (*api.Editor, error) {
	files, err := openEditor(in.cfg, media...)
	if files == nil {
		return nil, err
	}
	return &api.Editor{Files: files, Sealer: sealer}, nil
}

// media returns the origins of files beside the service's own: that of the bucket, where files are in one.
func (in *Instance) media(ctx context.Context) ([]string, error) {
	p, ok := in.blobs.(blob.Presigner)
	if !ok {
		return nil, nil
	}
	origin, err := p.Origin(ctx)
	return []string{origin}, err
}
