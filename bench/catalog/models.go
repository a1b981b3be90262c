package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
)

// Bounds of the median duration of requests to the catalog's routes with 1,000 models.
const (
	routeTarget     = time.Millisecond
	unchangedTarget = 300 * time.Microsecond
)

// models is the number of entries that the catalog has in addition to the program's.
const models = 1000

// routes are measured whole, and unchanged where they have an entity tag.
var routes = []string{"/v2/models?limit=100", "/v2/models", "/v2/models/many/m0500", "/v2/models/many/m0500/openapi.json"}

// measureModels measures the catalog routes of the model router, without accounts and then with a key, which
// is looked up in PostgreSQL for every request.
func measureModels(ctx context.Context, s *harness.Service, span time.Duration) error {
	dir := filepath.Join(s.Dir, "catalog")
	if err := writeModels(dir); err != nil {
		return err
	}
	for _, mode := range []string{"none", "keys"} {
		if err := s.Serve(ctx, "MILLRACE_CATALOG="+dir, "MILLRACE_AUTH="+mode); err != nil {
			return err
		}
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8, DisableCompression: true}}
		if mode == "keys" {
			key, err := newKey(ctx, s)
			if err != nil {
				return err
			}
			client.Transport = keyed{client.Transport, key}
		}
		for _, route := range routes {
			if err := measureRoute(ctx, client, span, s.Base, mode, route); err != nil {
				return err
			}
		}
		if err := s.StopService(ctx); err != nil {
			return err
		}
	}
	return nil
}

// measureRoute compares a route with a bare program that answers with the same bytes.
func measureRoute(ctx context.Context, client *http.Client, span time.Duration, base, mode, route string) error {
	first, err := fetch(ctx, client, base+route, "")
	if err != nil {
		return err
	}
	bare := newBare(first)
	defer bare.Close()
	name := fmt.Sprintf("%s, auth %s, %d bytes", route, mode, len(first.body))
	whole := comparison{client: client, clients: 1, span: span, target: routeTarget, service: base + route, bare: bare.URL}
	err = whole.run(ctx, name)
	if first.etag == "" || err != nil {
		return err
	}
	unchanged := whole
	unchanged.target, unchanged.etag = unchangedTarget, first.etag
	return unchanged.run(ctx, name+", unchanged")
}

// writeModels writes catalog files with the given number of models, all with a schema.
func writeModels(dir string) error {
	var file strings.Builder
	file.WriteString(`provider: many
title: Many
base: https://many.example
auth: {kind: none}
defaults:
  protocol: sync
  charges_on_policy_rejection: no
  price: {exact: "0", as_of: 2026-11-01}
models:
`)
	for i := range models {
		fmt.Fprintf(&file, `  - model: m%04d
    title: Model %d
    submit: {url: /m}
    input:
      type: object
      required: [prompt]
      properties:
        prompt: {type: string, minLength: 1, maxLength: 10000, description: What the picture shows.}
        width: {type: integer, minimum: 64, maximum: 4096, default: 1024}
        height: {type: integer, minimum: 64, maximum: 4096, default: 1024}
        style: {type: string, enum: [photo, drawing, painting]}
    output: {type: object, properties: {url: {type: string, format: uri}}}
    example: {prompt: a red square}
`, i, i)
	}
	return errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "many.yaml"), []byte(file.String()), 0o600))
}

// newKey makes an account and a key for it.
func newKey(ctx context.Context, s *harness.Service) (string, error) {
	if _, err := command(ctx, s, "accounts", "create", "bench", "--tier", "pro"); err != nil {
		return "", err
	}
	return command(ctx, s, "keys", "create", "--account", "bench")
}

// command runs the service's own command line and returns its last line.
func command(ctx context.Context, s *harness.Service, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "bin/millrace", args...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+s.DatabaseURL)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("millrace %s: %w", strings.Join(args, " "), err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1], nil
}

// keyed sends a key with every request.
type keyed struct {
	http.RoundTripper
	key string
}

// RoundTrip implements http.RoundTripper.
func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("X-API-Key", k.key)
	return k.RoundTripper.RoundTrip(r)
}
