package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/bench/harness"
)

// startBare starts the bare server over a directory in parent.
func startBare(ctx context.Context, parent string) (program *harness.Program, dir string, err error) {
	dir = filepath.Join(parent, "bare")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, "", err
	}
	program, err = harness.Again(ctx, "-bare", dir)
	return program, dir, err
}

// serveBare accepts uploads and serves files, and does nothing else.
func serveBare(ctx context.Context, dir string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /upload", func(w http.ResponseWriter, r *http.Request) {
		if err := bareUpload(r, dir); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
	})
	mux.Handle("GET /files/", http.StripPrefix("/files/", http.FileServer(http.Dir(dir))))
	return harness.Listen(ctx, mux)
}

// bareUpload streams the file part to disk and hashes it, synced and renamed as a careful program does.
func bareUpload(r *http.Request, dir string) error {
	parts, err := r.MultipartReader()
	if err != nil {
		return err
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if part.FormName() != "file" {
			io.Copy(io.Discard, part) // fields are small
			continue
		}
		if err := bareStore(part, dir); err != nil {
			return err
		}
	}
}

func bareStore(r io.Reader, dir string) error {
	f, err := os.CreateTemp(dir, "staging-")
	if err != nil {
		return err
	}
	defer f.Close()
	h := blake3.New()
	buf := make([]byte, 256<<10)
	if _, err := io.CopyBuffer(io.MultiWriter(f, h), struct{ io.Reader }{r}, buf); err != nil {
		return err
	}
	if err := datasync(f); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, fmt.Sprintf("%x", h.Sum(nil)))); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
