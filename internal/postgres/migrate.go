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

// migrationSet contains all migrations of this program, each list in order. A database gets its tables from schema or
// from released, which lead to the same schema; changes follow both.
type migrationSet struct {
	schema   []migration // one file for each noun, for a new database
	released []migration // the migrations of earlier releases, for a database that has one of them
	changes  []migration
}

// readMigrations reads the migrations of this program.
func readMigrations(files fs.FS) (s migrationSet, err error) {
	known := map[int]bool{}
	for _, list := range []struct {
		dir  string
		into *[]migration
	}{{"migrations/released", &s.released}, {"migrations/schema", &s.schema}, {"migrations", &s.changes}} {
		if *list.into, err = readDir(files, list.dir, known); err != nil {
			return migrationSet{}, err
		}
	}
	return s, nil
}

// missing returns the migrations that a database with those in found lacks, in order.
func (s migrationSet) missing(found map[int]applied) []migration {
	has := func(m migration) bool { _, ok := found[m.version]; return ok }
	first := s.schema
	if slices.ContainsFunc(s.released, has) {
		first = s.released
	}
	return slices.DeleteFunc(slices.Concat(first, s.changes), has)
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
	if err := all.check(found); err != nil {
		return err
	}
	for _, m := range all.missing(found) {
		if err := m.apply(ctx, conn); err != nil {
			return err
		}
		if logf != nil {
			logf("applied migration %s", m.name)
		}
	}
	return redefine(ctx, conn)
}

func (m migration) apply(ctx context.Context, conn *pgx.Conn) error {
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Conn().PgConn().Exec(ctx, m.statements()).ReadAll(); err != nil {
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
	program  string // release of the program that applied it; "" = an early release, which did not record it
}

// appliedMigrations returns the migrations that the database has, by version.
func appliedMigrations(ctx context.Context, conn *pgx.Conn) (map[int]applied, error) {
	_, err := conn.Exec(ctx, `create table if not exists schema_migrations (
		version integer primary key, name text not null, checksum text not null,
		applied_at timestamptz not null default now());
		alter table schema_migrations add column if not exists program text not null default ''`)
	if err != nil {
		return nil, classify(err, "prepare the table of migrations")
	}
	return readApplied(ctx, conn)
}

// readApplied reads the table of migrations, which an older program may have created.
func readApplied(ctx context.Context, db querier) (map[int]applied, error) {
	rows, err := db.Query(ctx, `select version, checksum, coalesce(to_jsonb(m) ->> 'program', '') from schema_migrations m`)
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
func (s migrationSet) check(found map[int]applied) error {
	all := slices.Concat(s.released, s.schema, s.changes)
	newest := slices.Max(append(slices.Collect(maps.Keys(found)), 0))
	for number, a := range found {
		i := slices.IndexFunc(all, func(m migration) bool { return m.version == number })
		if i < 0 {
			return fault.New(fault.Conflict, fault.CodeDatabaseNewer,
				"the database has migration %04d, which this program (%s) does not know: run %s", newest, version.Version, releaseFor(found[newest]))
		}
		if all[i].checksum != a.checksum {
			return fault.New(fault.Conflict, fault.CodeMigrationChanged,
				"migration %s was applied with other contents than this program has", all[i].name)
		}
	}
	return nil
}

// releaseFor returns the name of a program that has a migration.
func releaseFor(a applied) string {
	if a.program == "" {
		return "a newer millrace"
	}
	return "millrace " + a.program + " or newer"
}

//go:embed migrations/definitions/prune_facts.sql
var pruneFacts string

// attachedParameter is the part of the first definition of prune_facts that only a superuser may execute. Migrations
// are applied without it, and redefine runs after them.
const attachedParameter = "set millrace.pruning = 'on'\n"

// statements returns the part that a role without special rights may execute.
func (m migration) statements() string { return strings.Replace(m.sql, attachedParameter, "", 1) }

// redefine replaces the first definition of prune_facts. It is not a migration, because earlier programs work with
// both definitions and would refuse a database with an unknown migration. A role that does not own the function does
// not change it.
func redefine(ctx context.Context, conn *pgx.Conn) error {
	var first bool
	err := conn.QueryRow(ctx, `select exists (select from pg_proc where proname = 'prune_facts' and pronamespace = current_schema()::regnamespace
		and prosrc not like '%set_config%' and pg_has_role(proowner, 'usage'))`).Scan(&first)
	if err == nil && first {
		_, err = conn.Exec(ctx, pruneFacts)
	}
	return classify(err, "redefine prune_facts")
}

// readDir reads the files NNNN_name.sql of a directory in order of their numbers, and adds the numbers to known.
func readDir(files fs.FS, dir string, known map[int]bool) ([]migration, error) {
	paths, err := fs.Glob(files, dir+"/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	all := make([]migration, 0, len(paths))
	for _, p := range paths {
		name := path.Base(p)
		number, _, _ := strings.Cut(name, "_")
		n, err := strconv.Atoi(number)
		if err != nil || known[n] {
			return nil, fmt.Errorf("migration %s has no number of its own", name)
		}
		known[n] = true
		sql, err := fs.ReadFile(files, p)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(sql)
		all = append(all, migration{version: n, name: name, sql: string(sql), checksum: hex.EncodeToString(sum[:])})
	}
	return all, nil
}
