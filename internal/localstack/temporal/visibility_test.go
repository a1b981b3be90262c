//go:build unix

package temporal_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/localstack/temporal"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// visibility runs a statement in the database with the list of workflows and returns the first column.
func visibility(t *testing.T, opts temporal.Options, statement string) []string {
	t.Helper()
	config, err := pgx.ParseConfig(pgtest.Server(t))
	require.NoError(t, err)
	config.Database = opts.Database + "_visibility"
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	rows, err := conn.Query(t.Context(), statement, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	column, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return column
}

const listIndexes = `select indexname::text from pg_indexes where tablename = 'executions_visibility' order by 1`

// Each workflow is written to every index of the list twice, and most indexes are never read.
func TestListOfWorkflowsHasTheIndexesThatAreRead(t *testing.T) {
	t.Parallel()
	opts := options(t)
	run := func() {
		s, err := temporal.Start(t.Context(), opts)
		require.NoError(t, err)
		require.NoError(t, s.Stop(context.Background()))
	}
	kept := []string{"by_status", "by_workflow_id", "by_workflow_type", "default_idx", "executions_visibility_pkey", "millrace_by_division"}
	run()
	require.Equal(t, kept, visibility(t, opts, listIndexes))
	dropped := visibility(t, opts, `select name from millrace_dropped_indexes order by 1`)
	require.Greater(t, len(dropped), 60)

	// A data directory from a server that kept all indexes.
	for _, definition := range visibility(t, opts, `select definition from millrace_dropped_indexes`) {
		visibility(t, opts, definition)
	}
	visibility(t, opts, `drop table millrace_dropped_indexes`)
	require.Greater(t, len(visibility(t, opts, listIndexes)), 70)
	run()
	require.Equal(t, kept, visibility(t, opts, listIndexes))
	require.Equal(t, dropped, visibility(t, opts, `select name from millrace_dropped_indexes order by 1`))

	// Before a schema is updated, it must have every index again. PostgreSQL wrote the definition of this one.
	visibility(t, opts, `insert into millrace_dropped_indexes values ('by_probe', 'create index by_probe on executions_visibility (memo)')`)
	visibility(t, opts, `update schema_version set curr_version = '1.13'`)
	run()
	require.Equal(t, kept, visibility(t, opts, listIndexes))
	require.Equal(t, []string{"CREATE INDEX by_probe ON public.executions_visibility USING btree (memo)"},
		visibility(t, opts, `select definition from millrace_dropped_indexes where name = 'by_probe'`))
}
