package postgres_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// Most hosted databases have no superuser: a role that owns its database and nothing else migrates it, and may
// remove no event but those of retired jobs.
func TestARoleWithoutSpecialRightsMigrates(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	database := strings.TrimPrefix(u.Path, "/")
	role := strings.Replace(database, "mrtest", "owner", 1)
	admin, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { // before the database is dropped
		_, err := admin.Exec(context.Background(), `reassign owned by `+role+` to current_user; alter database `+database+` owner to `+
			`current_user; drop owned by `+role+`; drop role `+role)
		require.NoError(t, err)
		require.NoError(t, admin.Close(context.Background()))
	})
	_, err = admin.Exec(t.Context(), `create role `+role+` login; alter database `+database+` owner to `+role+`; alter schema public owner `+
		`to `+role)
	require.NoError(t, err)
	u.User = url.User(role)

	owned := u.String()
	require.NoError(t, postgres.Migrate(t.Context(), owned, nil))

	conn := storetest.OpenPool(t, owned)
	_, err = conn.Exec(t.Context(), `insert into streams (id, account, version, closed) values ('job-1', 'a', 2, true);
		insert into events (stream, version, id, type, account, data, meta, recorded_at) values
			('job-1', 1, gen_random_uuid(), 'job.submitted.v1', 'a', '{}', '{}', now()), ('job-1', 2, gen_random_uuid(), 'job.retired.v1', 'a',
				'{}', '{}', now())`)
	require.NoError(t, err)
	var gone int
	require.NoError(t, conn.QueryRow(t.Context(), `select prune_events('job-1', 2)`).Scan(&gone))
	require.Equal(t, 1, gone)
	_, err = conn.Exec(t.Context(), `select prune_events('job-1', 2); delete from events`)
	require.ErrorContains(t, err, "append-only", "the flag ends with the function")
}
