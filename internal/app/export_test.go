package app

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/config"
)

// FindJobSQL is the query that finds a job, for the test of its plan.
const FindJobSQL = findStreamSQL

// RoomIn is the readiness of a data directory with that reserve.
func RoomIn(dir string, reserve int64) error {
	return readiness{&instance{cfg: config.Config{DataDir: dir, DiskReserve: reserve}}}.Room()
}

// Writable is the readiness of a database.
func Writable(ctx context.Context, pool *pgxpool.Pool) error {
	return readiness{&instance{pool: pool}}.writable(ctx)
}
