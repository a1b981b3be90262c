package app

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/api/about"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// MetricNames returns the names of all metrics that a process may serve.
func MetricNames(ctx context.Context) []string {
	var group errgroup.Group
	return (&Instance{roles: []Role{Worker}}).openMetrics(ctx, &group).Names()
}

// RoomIn fails if a data directory with that reserve has no space for so many bytes.
func RoomIn(dir string, reserve, bytes int64) error {
	return readiness{&Instance{cfg: config.Config{DataDir: dir, DiskReserve: reserve}}}.space(bytes)
}

// WorkersPart returns the part of the readiness that concerns workers.
func WorkersPart(ctx context.Context, pool *pgxpool.Pool) about.Part {
	return readiness{&Instance{pool: pool}}.workers(ctx)
}

// Writable returns the readiness of a database.
func Writable(ctx context.Context, pool *pgxpool.Pool) error {
	return readiness{&Instance{pool: pool}}.writable(ctx)
}

// Validate reports all invalid settings of a configuration.
var Validate = validate

// Migrate migrates a database to this version, and waits for a database that is starting up.
var Migrate = migrate

// AwaitTemporal waits until Temporal has a namespace.
var AwaitTemporal = awaitTemporal

// UIPassword returns the password of Temporal's Web UI, and whether the UI is served.
var UIPassword = config.Config.UIPassword

// ServeHTTP serves a listener as every process does.
var ServeHTTP = serveHTTP

// Profiles are the routes of the Go runtime's profiles.
var Profiles = profiles

// Table lists method and path of every route of a process with the role api, parameters in braces.
func Table(t *testing.T) []string {
	t.Helper()
	parameter := regexp.MustCompile(`[:*]([a-z_]+)`)
	var all []string
	for _, r := range append(routes(t, editorDir(t)), routes(t, "")...) { // an editor's files lie where some routes are
		path := parameter.ReplaceAllString(r.Path, "{$1}")
		all = append(all, r.Method+" "+path)
		if r.Method == "POST" && strings.HasSuffix(path, "/userdata/{file}") { // one route of the router serves both
			all = append(all, r.Method+" "+path+"/move/{dest}")
		}
	}
	return all
}

// OpenChanges lists the routes that ask for no credential and are for more than reading.
func OpenChanges(t *testing.T) []string {
	t.Helper()
	var open []string
	reads := []string{http.MethodGet, http.MethodHead, http.MethodOptions}
	for _, r := range routes(t, editorDir(t)) {
		if r.Access == edge.Public && !slices.Contains(reads, r.Method) {
			open = append(open, r.Method+" "+r.Path)
		}
	}
	slices.Sort(open)
	return open
}

// editorDir makes the directory of an editor of one page.
func editorDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "index.html"), []byte("<!doctype html><title>E</title>"), 0o600))
	return dir
}

// routes returns the routes of a process. Nothing behind them is ever asked.
func routes(t *testing.T, editorDir string) []edge.Route {
	t.Helper()
	cfg := config.Default()
	cfg.DataDir, cfg.Editor, cfg.Auth, cfg.DatabaseURL = t.TempDir(), editorDir, config.AuthKeys, pgtest.Migrated(t, postgres.Migrate)
	in, err := Open(t.Context(), cfg, slog.New(slog.DiscardHandler), nil)
	require.NoError(t, err)
	t.Cleanup(in.Close)
	s, err := in.newSurfaces(t.Context())
	require.NoError(t, err)
	var all []edge.Route
	for _, surface := range s.all() {
		all = append(all, surface.Routes()...)
	}
	return all
}
