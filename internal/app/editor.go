package app

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/web/editor"
	"github.com/millrace-dev/millrace/internal/web/editor/published"
)

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
