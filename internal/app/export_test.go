package app

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/api/about"
	"github.com/millrace-dev/millrace/internal/config"
)

// MetricNames returns the names of all metrics that a process may serve.
func MetricNames(ctx context.Context) []string {
	var group errgroup.Group
	return (&Instance{roles: []Role{Worker}}).openMetrics(ctx, &group).Names()
}

// RoomIn returns the readiness of a data directory with that reserve.
func RoomIn(dir string, reserve int64) error {
	return readiness{&Instance{cfg: config.Config{DataDir: dir, DiskReserve: reserve}}}.CheckSpace()
}

// WorkersPart returns the part of the readiness that concerns workers.
func WorkersPart(ctx context.Context, pool *pgxpool.Pool) about.Part {
	return readiness{&Instance{pool: pool}}.workers(ctx)
}

// Writable returns the readiness of a database.
func Writable(ctx context.Context, pool *pgxpool.Pool) error {
	return readiness{&Instance{pool: pool}}.writable(ctx)
}

// Banner returns the text that `millrace dev` prints when it is ready.
var Banner = banner

// Migrate migrates a database to this version, and waits for a database that is starting up.
var Migrate = migrate

// AwaitTemporal waits until Temporal has a namespace.
var AwaitTemporal = awaitTemporal

// UIPassword returns the password of Temporal's Web UI, and whether the UI is served.
var UIPassword = uiPassword

// ServeHTTP serves a listener as every process does.
var ServeHTTP = serveHTTP

// Profiles are the routes of the Go runtime's profiles.
var Profiles = profiles
