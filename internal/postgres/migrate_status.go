package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Pending returns the names of the migrations that the database lacks, in order, and changes nothing.
// A database that Migrate would refuse is Conflict.
func Pending(ctx context.Context, pool *pgxpool.Pool) ([]string, error) {
	all, err := migrations(migrationFiles)
	if err != nil {
		return nil, err
	}
	var migrated bool
	if err := pool.QueryRow(ctx, `select to_regclass('schema_migrations') is not null`).Scan(&migrated); err != nil {
		return nil, classify(err, "look for applied migrations")
	}
	applied := map[int]string{}
	if migrated {
		rows, err := pool.Query(ctx, `select version, checksum from schema_migrations`)
		if err != nil {
			return nil, classify(err, "read the applied migrations")
		}
		var version int
		var checksum string
		_, err = pgx.ForEachRow(rows, []any{&version, &checksum}, func() error {
			applied[version] = checksum
			return nil
		})
		if err != nil {
			return nil, classify(err, "read the applied migrations")
		}
	}
	if err := checkApplied(all, applied); err != nil {
		return nil, err
	}
	var pending []string
	for _, m := range all {
		if _, done := applied[m.version]; !done {
			pending = append(pending, m.name)
		}
	}
	return pending, nil
}
