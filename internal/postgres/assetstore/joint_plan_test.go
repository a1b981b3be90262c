package assetstore_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
)

// However many files an account has, an upload reads those of its name and of its bytes: also with the plan that was made while
// the account had none.
func TestAnUploadReadsNoOtherFiles(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	conn, err := b.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	exec := func(statement string) {
		_, err := conn.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err, statement)
	}
	exec(`set plan_cache_mode = force_generic_plan`)
	prepared := map[string]string{}
	for statement, args := range assetstore.Statements() {
		name := "s" + strconv.Itoa(len(prepared))
		exec("prepare " + name + " as " + statement)
		exec("execute " + name + "(" + args + ")") // plans it
		prepared[statement] = name + "(" + args + ")"
	}
	exec(`insert into files (asset_id, account, hash, size, content_type, folder, subfolder, filename, named)
		select gen_random_uuid(), 'acme', sha256(i::text::bytea), 1, 'x', 'input', '', i::text, true from generate_series(1, 3000) i`)
	for statement, call := range prepared {
		rows, err := conn.Query(t.Context(), "explain (analyze, costs off) execute "+call, pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err)
		plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		for _, line := range plan {
			_, behind, found := strings.Cut(line, " rows=")
			if count, _, _ := strings.Cut(behind, " "); found {
				rows, err := strconv.Atoi(count)
				require.NoError(t, err, line)
				require.LessOrEqual(t, rows, 20, "%s:\n%s", statement, strings.Join(plan, "\n"))
			}
		}
	}
}
