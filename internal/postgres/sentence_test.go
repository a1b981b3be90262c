package postgres_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// Whatever a statement fails with, its sentence for operators has none of the words of PostgreSQL.
func TestErrorSentenceHasNoTextOfPostgreSQL(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	for _, tc := range []struct{ sql, state string }{
		{`select * from no_such_table`, "42P01"},
		{`select no_such_column from accounts`, "42703"},
		{`select 'secret'::uuid`, "22P02"},
		{`select chr(0)`, "54000"},
		{`select 1/0`, "22012"},
		{`insert into accounts (id, name, tier) values ('local', 'x', 'x')`, "23505"},
		{`insert into accounts (id, name) values ('a', 'a')`, "23502"},
		{`delete from events`, "P0001"},
		{`set statement_timeout = 10; select pg_sleep(10)`, "57014"},
		{`set transaction_read_only = on; delete from accounts`, "25006"},
	} {
		_, err := pool.Exec(t.Context(), tc.sql)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, tc.sql)
		require.Equal(t, tc.state, refused.Code, tc.sql)
		err = errors.Join(errors.New("one"), postgres.Classify(err, "do something"))
		text := fault.Sentence(err)
		require.NotContains(t, text, refused.Message)
		require.NotContains(t, text, refused.Severity+":")
		require.Contains(t, text, "the database")
		require.Contains(t, text, tc.state)
		require.Contains(t, text, "do something")
		require.Contains(t, err.Error(), refused.Message, "the log has the words")
	}
}
