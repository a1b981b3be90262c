package postgres

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/config/version"
	"github.com/millrace-dev/millrace/internal/fault"
)

//go:embed migrations
var migrationFiles embed.FS

// migrationLock is the key of the advisory lock under which one process migrates ("mill" + 1).
const migrationLock = 0x6d696c6c01

type migration struct {
	version  int
	name     string // file name, which also defines the order
	sql      string
	checksum string
}

// readMigrations reads the migrations of this program, in order: the schema of version.Base, one file for each noun, and
// the changes since.
func readMigrations(files fs.FS) ([]migration, error) {
	var all []migration
	for _, dir := range []string{"migrations/schema", "migrations"} {
		paths, err := fs.Glob(files, dir+"/*.sql") // sorted
		if err != nil {
			return nil, err
		}
		for _, p := range paths {
			m, err := readMigration(files, p)
			if err != nil {
				return nil, err
			}
			if len(all) > 0 && m.version <= all[len(all)-1].version {
				return nil, fmt.Errorf("migration %s has no number above those before it", m.name)
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// readMigration reads a file NNNN_name.sql.
func readMigration(files fs.FS, p string) (migration, error) {
	name := path.Base(p)
	number, _, _ := strings.Cut(name, "_")
	n, err := strconv.Atoi(number)
	if err != nil {
		return migration{}, fmt.Errorf("migration %s has no number: %w", name, err)
	}
	sql, err := fs.ReadFile(files, p)
	sum := sha256.Sum256(sql)
	return migration{version: n, name: name, sql: string(sql), checksum: hex.EncodeToString(sum[:])}, err
}

// missing returns the migrations that a database with those in found lacks, in order.
func missing(all []migration, found map[int]applied) []migration {
	return slices.DeleteFunc(slices.Clone(all), func(m migration) bool { _, ok := found[m.version]; return ok })
}

// Migrate migrates the schema that dsn's search_path names to this program's version. Several processes may call it
// at the same time. If a newer program has migrated the database, or a migration was edited after it was applied,
// Migrate fails with Conflict and changes nothing. logf, if not nil, is called for each applied migration.
func Migrate(ctx context.Context, dsn string, logf func(format string, args ...any)) error {
	all, err := readMigrations(migrationFiles)
	if err != nil {
		return err
	}
	conn, err := Connect(ctx, dsn, "migrate", 0, nil)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) // ends the session and with it the lock
	if _, err := conn.Exec(ctx, `select pg_advisory_lock($1)`, int64(migrationLock)); err != nil {
		return classify(err, "take the migration lock")
	}
	found, err := appliedMigrations(ctx, conn)
	if err != nil {
		return err
	}
	if err := check(all, found); err != nil {
		return err
	}
	for _, m := range missing(all, found) {
		if err := m.apply(ctx, conn); err != nil {
			return err
		}
		if logf != nil {
			logf("applied migration %s", m.name)
		}
	}
	return nil
}

func (m migration) apply(ctx context.Context, conn *pgx.Conn) error {
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Conn().PgConn().Exec(ctx, m.sql).ReadAll(); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `insert into schema_migrations (version, name, checksum, program) values ($1, $2, $3, $4)`,
			m.version, m.name, m.checksum, version.Version)
		return err
	})
	return classify(err, "apply migration "+m.name)
}

// applied is a migration that the database has.
type applied struct {
	checksum string
	program  string // release of the program that applied it
}

// appliedMigrations returns the migrations that the database has, by version.
func appliedMigrations(ctx context.Context, conn *pgx.Conn) (map[int]applied, error) {
	_, err := conn.Exec(ctx, `create table if not exists schema_migrations (
		version integer primary key, name text not null, checksum text not null, program text not null,
		applied_at timestamptz not null default now())`)
	if err != nil {
		return nil, classify(err, "prepare the table of migrations")
	}
	return readApplied(ctx, conn)
}

// readApplied reads the table of migrations.
func readApplied(ctx context.Context, db querier) (map[int]applied, error) {
	rows, err := db.Query(ctx, `select version, checksum, program from schema_migrations`)
	if err != nil {
		return nil, classify(err, "read the applied migrations")
	}
	found := map[int]applied{}
	var number int
	var a applied
	_, err = pgx.ForEachRow(rows, []any{&number, &a.checksum, &a.program}, func() error {
		found[number] = a
		return nil
	})
	return found, classify(err, "read the applied migrations")
}

// querier is a connection or a pool.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// check refuses a database with a migration that this program does not have, or has with other contents.
func check(all []migration, found map[int]applied) error {
	for _, m := range all {
		if a, ok := found[m.version]; ok && a.checksum != m.checksum {
			return fault.New(fault.Conflict, fault.CodeMigrationChanged,
				"migration %s was applied with other contents than this program has; databases from before %s cannot be upgraded", m.name, version.Base)
		}
	}
	newest := slices.Max(append(slices.Collect(maps.Keys(found)), 0))
	for number := range found {
		if !slices.ContainsFunc(all, func(m migration) bool { return m.version == number }) {
			return fault.New(fault.Conflict, fault.CodeDatabaseNewer,
				"the database has migration %04d, which this program (%s) does not know: run millrace %s or newer",
				newest, version.Version, found[newest].program)
		}
	}
	return nil
}
