package postgres_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

func TestMigrateRunsOnceHoweverOftenItIsCalled(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	var mu sync.Mutex
	applied := 0
	count := func(string, ...any) {
		mu.Lock()
		defer mu.Unlock()
		applied++
	}
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = postgres.Migrate(t.Context(), dsn, count) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	var recorded int
	require.NoError(t, storetest.OpenPool(t, dsn).QueryRow(t.Context(), `select count(*) from schema_migrations`).Scan(&recorded))
	require.Positive(t, recorded)
	require.Equal(t, recorded, applied)
}

func TestMigrateRefusesADatabaseItDoesNotKnow(t *testing.T) {
	t.Parallel()
	cases := map[fault.Code]string{
		fault.CodeDatabaseNewer: `insert into schema_migrations (version, name, checksum, program) values (9999, '9999_future.sql', 'x',
			'v9.1.0')`,
		fault.CodeMigrationChanged: `update schema_migrations set checksum = 'edited' where version = 101`,
	}
	for code, sql := range cases {
		dsn := storetest.NewDatabase(t)
		_, err := storetest.OpenPool(t, dsn).Exec(t.Context(), sql)
		require.NoError(t, err)
		err = postgres.Migrate(t.Context(), dsn, nil)
		require.Equal(t, fault.Conflict, fault.KindOf(err))
		require.Equal(t, code, fault.CodeOf(err))
	}
}

func TestAnOldProgramSaysWhichVersionItNeeds(t *testing.T) {
	t.Parallel()
	dsn := storetest.NewDatabase(t)
	pool := storetest.OpenPool(t, dsn)
	for _, sql := range []string{
		`insert into schema_migrations (version, name, checksum, program) values (9998, '9998_future.sql', 'x', 'v9.0.0')`,
		`insert into schema_migrations (version, name, checksum, program) values (9999, '9999_future.sql', 'x', 'v9.1.0')`,
	} {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	const says = "the database has migration 9999, which this program (dev) does not know: run millrace v9.1.0 or newer"
	require.ErrorContains(t, postgres.Migrate(t.Context(), dsn, nil), says)
	_, err := postgres.Pending(t.Context(), pool)
	require.ErrorContains(t, err, says)
}

func TestSchemasOfOneDatabaseAreSeparate(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(t.Context()) // the end of the test
	for _, schema := range []string{"one", "two"} {
		_, err := conn.Exec(t.Context(), "create schema "+schema)
		require.NoError(t, err)
		require.NoError(t, postgres.Migrate(t.Context(), dsn+"&search_path="+schema, nil))
	}
	for _, schema := range []string{"one", "two"} {
		var tables int
		err := conn.QueryRow(t.Context(), `select count(*) from pg_tables where schemaname = $1 and tablename = 'events'`, schema).Scan(&tables)
		require.NoError(t, err)
		require.Equal(t, 1, tables)
	}
	_, err = conn.Exec(t.Context(), `select from events`)
	require.Error(t, err, "nothing lies outside the schemas")
}
