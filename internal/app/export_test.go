package app

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/config"
)

// FindJobSQL is the query that finds a job, for the test of its plan.
const FindJobSQL = findStreamSQL

// MetricNames are the names of all metrics that a process may serve.
func MetricNames(ctx context.Context) []string {
	var group errgroup.Group
	return (&instance{roles: []role{roleWorker}}).openMetrics(ctx, &group).Names()
}

// RoomIn is the readiness of a data directory with that reserve.
func RoomIn(dir string, reserve int64) error {
	return readiness{&instance{cfg: config.Config{DataDir: dir, DiskReserve: reserve}}}.CheckSpace()
}

// Writable is the readiness of a database.
func Writable(ctx context.Context, pool *pgxpool.Pool) error {
	return readiness{&instance{pool: pool}}.writable(ctx)
}

// Banner is what `millrace dev` prints when it is ready.
var Banner = banner

// EventTypes is the registry of all event types of the program.
var EventTypes = eventTypes

// RunChecks runs checks that only look, and returns what is said of each that was run.
func RunChecks(ctx context.Context, looks ...func(context.Context) error) []string {
	checks := make([]check, len(looks))
	for i, look := range looks {
		checks[i] = check{fmt.Sprint(i), "mend it", func(ctx context.Context) (finding, error) {
			return finding{Status: healthy, Detail: "well"}, look(ctx)
		}}
	}
	var said []string
	for _, f := range runChecks(ctx, checks) {
		said = append(said, f.Status+" "+f.Detail)
	}
	return said
}
