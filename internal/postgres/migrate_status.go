package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Pending returns the names of the migrations that the database lacks, in order, and changes nothing. A database that
// Migrate would refuse is Conflict.
func Pending(ctx context.Context, pool *pgxpool.Pool) ([]string, error) {
	all, err := readMigrations(migrationFiles)
	if err != nil {
		return nil, err
	}
	var migrated bool
	if err := pool.QueryRow(ctx, `select to_regclass('schema_migrations') is not null`).Scan(&migrated); err != nil {
		return nil, classify(err, "look for applied migrations")
	}
	found := map[int]applied{}
	if migrated {
		if found, err = readApplied(ctx, pool); err != nil {
			return nil, err
		}
	}
	if err := check(all, found); err != nil {
		return nil, err
	}
	var pending []string
	for _, m := range missing(all, found) {
		pending = append(pending, m.name)
	}
	return pending, nil
}
