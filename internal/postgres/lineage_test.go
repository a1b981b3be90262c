package postgres_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// describeSchema is one line for each thing that a schema has, in the words of PostgreSQL's catalogs: tables with their
// storage, columns in order with types, defaults and collations, constraints, indexes, sequences, functions, triggers.
const describeSchema = `
select format('table %s %s%s %s', c.relname, c.relkind, c.relpersistence, c.reloptions)
	from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind not in ('i', 'S')
union all
select format('column %s %s %s %s notnull=%s default=%s identity=%s generated=%s collation=%s storage=%s', c.relname,
		row_number() over (partition by c.oid order by a.attnum), a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
		coalesce(pg_get_expr(d.adbin, d.adrelid), ''), a.attidentity, a.attgenerated, a.attcollation::regcollation, a.attstorage)
	from pg_attribute a join pg_class c on c.oid = a.attrelid left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
	where c.relnamespace = 'public'::regnamespace and c.relkind not in ('i', 'S') and a.attnum > 0 and not a.attisdropped
union all
select format('constraint %s %s %s validated=%s', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated)
	from pg_constraint where connamespace = 'public'::regnamespace
union all
select format('index %s %s', pg_get_indexdef(i.indexrelid), case when i.indisvalid then '' else 'invalid' end)
	from pg_index i join pg_class c on c.oid = i.indexrelid where c.relnamespace = 'public'::regnamespace
union all
select format('sequence %s %s start=%s min=%s max=%s by=%s cycle=%s cache=%s of=%s', c.relname, s.seqtypid::regtype, s.seqstart, s.seqmin,
		s.seqmax, s.seqincrement, s.seqcycle, s.seqcache, (select format('%s.%s', d.refobjid::regclass, d.refobjsubid > 0)
			from pg_depend d where d.objid = c.oid and d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i')))
	from pg_sequence s join pg_class c on c.oid = s.seqrelid where c.relnamespace = 'public'::regnamespace
union all
select 'function ' || pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace
union all
select format('trigger %s enabled=%s', pg_get_triggerdef(t.oid), t.tgenabled)
	from pg_trigger t join pg_class c on c.oid = t.tgrelid where c.relnamespace = 'public'::regnamespace and not t.tgisinternal
union all
select format('type %s %s', typname, typtype) from pg_type where typnamespace = 'public'::regnamespace and typtype not in ('b', 'c')
order by 1`

// A database is the same whether it was made by the files for a new one or by the migrations of earlier releases,
// however many of those it had when this program came.
func TestDatabasesOfEarlierReleasesEndInTheSameSchema(t *testing.T) {
	t.Parallel()
	want := lines(t, storetest.OpenPool(t, storetest.NewDatabase(t)), describeSchema)
	require.Greater(t, len(want), 300)
	chain := releasedFiles(t)
	for _, n := range []int{1, len(chain) / 2, len(chain) - 1, len(chain)} {
		t.Run(filepath.Base(chain[n-1]), func(t *testing.T) {
			t.Parallel()
			dsn := pgtest.Database(t)
			pool := storetest.OpenPool(t, dsn)
			applyReleased(t, pool, chain[:n])
			require.NoError(t, postgres.Migrate(t.Context(), dsn, nil))
			requireSameLines(t, want, lines(t, pool, describeSchema))
			pending, err := postgres.Pending(t.Context(), pool)
			require.NoError(t, err)
			require.Empty(t, pending)
		})
	}
}

// Wherever a database stopped in the chain of earlier releases, it lacks the rest of the chain and nothing else.
func TestPendingContinuesTheChainOfEarlierReleases(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, pgtest.Database(t))
	pending, err := postgres.Pending(t.Context(), pool)
	require.NoError(t, err)
	schema, err := filepath.Glob("migrations/schema/*.sql")
	require.NoError(t, err)
	changes, err := filepath.Glob("migrations/*.sql")
	require.NoError(t, err)
	require.Equal(t, names(append(schema, changes...)), pending, "a new database")
	chain := releasedFiles(t)
	for n := range chain {
		applyReleased(t, pool, chain[n:n+1])
		pending, err := postgres.Pending(t.Context(), pool)
		require.NoError(t, err)
		require.Equal(t, names(slices.Concat(chain[n+1:], changes)), pending, "after %s", chain[n])
	}
}

// A database that earlier releases filled keeps every row with every value.
func TestMigrateKeepsWhatEarlierReleasesStored(t *testing.T) {
	t.Parallel()
	filled, err := os.ReadFile("testdata/filled_at_0040.sql")
	require.NoError(t, err)
	dsn := pgtest.Database(t)
	pool := storetest.OpenPool(t, dsn)
	chain := releasedFiles(t)
	until := slices.IndexFunc(chain, func(path string) bool { return strings.Contains(path, "0041_") })
	applyReleased(t, pool, chain[:until])
	_, err = pool.Exec(t.Context(), string(filled))
	require.NoError(t, err)

	before := allRows(t, pool)
	require.Greater(t, len(before), 30, "tables with rows")
	const sequences = `select format('%s %s', sequencename, last_value) from pg_sequences where schemaname = 'public' and last_value is not null order by 1`
	next := lines(t, pool, sequences)
	require.NotEmpty(t, next)
	require.NoError(t, postgres.Migrate(t.Context(), dsn, nil))
	for _, query := range before {
		requireSameLines(t, query.rows, lines(t, pool, query.sql))
	}
	require.Equal(t, next, lines(t, pool, sequences))
}

// tableRows are the rows of a table in the columns that it had when they were read.
type tableRows struct {
	sql  string
	rows []string
}

// allRows reads every table that has rows and that the newest release still has.
func allRows(t *testing.T, pool *pgxpool.Pool) map[string]tableRows {
	t.Helper()
	all := map[string]tableRows{}
	for _, table := range lines(t, pool, `select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
		and relname not in ('schema_migrations', 'assets_v1', 'assets_v1_tags')`) {
		columns := lines(t, pool, `select quote_ident(attname) from pg_attribute where attrelid = '`+table+`'::regclass and attnum > 0 and not attisdropped order by attnum`)
		sql := `select row(` + strings.Join(columns, ", ") + `)::text from ` + table + ` order by 1`
		if rows := lines(t, pool, sql); len(rows) > 0 {
			all[table] = tableRows{sql, rows}
		}
	}
	return all
}

// releasedFiles returns the files that earlier releases applied, in order.
func releasedFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("migrations/released/*.sql")
	require.NoError(t, err)
	require.Greater(t, len(files), 30)
	return files
}

// applyReleased does what an earlier release did: each file in a transaction, and a row that names it.
func applyReleased(t *testing.T, pool *pgxpool.Pool, files []string) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `create table if not exists schema_migrations (
		version integer primary key, name text not null, checksum text not null, applied_at timestamptz not null default now())`)
	require.NoError(t, err)
	for i, name := range names(files) {
		sql, err := os.ReadFile(files[i]) // a path from Glob
		require.NoError(t, err)
		var version int
		_, err = fmt.Sscanf(name, "%04d_", &version)
		require.NoError(t, err)
		require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), string(sql)); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), `insert into schema_migrations (version, name, checksum) values ($1, $2, $3)`,
				version, name, fmt.Sprintf("%x", sha256.Sum256(sql)))
			return err
		}), name)
	}
}

func names(paths []string) []string {
	var all []string
	for _, path := range paths {
		all = append(all, filepath.Base(path))
	}
	return all
}

// lines runs a query that returns one text for each row.
func lines(t *testing.T, pool *pgxpool.Pool, query string) []string {
	t.Helper()
	rows, err := pool.Query(context.WithoutCancel(t.Context()), query)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return all
}

// requireSameLines shows only what differs of two long lists.
func requireSameLines(t *testing.T, want, got []string) {
	t.Helper()
	lacks := slices.DeleteFunc(slices.Clone(want), func(line string) bool { return slices.Contains(got, line) })
	extra := slices.DeleteFunc(slices.Clone(got), func(line string) bool { return slices.Contains(want, line) })
	require.Empty(t, lacks, "expected, and not there")
	require.Empty(t, extra, "there, and not expected")
	require.Len(t, got, len(want))
}
