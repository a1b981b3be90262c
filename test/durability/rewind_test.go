package durability_test

import (
	"context"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// The database fails over to a replica that lagged behind: it has the state of a time when a job was running, while
// Temporal has run the job to its end. The doctor abandons nothing that the log has accepted: the job runs to its end
// again, with one output.
func TestAJobWhoseEndTheDatabaseLostIsRunAgain(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	prefix, id := c.caught("rewound")
	jobs := map[string]string{prefix: id}
	c.untilDelivered()
	dump := filepath.Join(c.dir, "replica.dump")
	tool(t, pgTool(t, "pg_dump"), "--format=custom", "--file="+dump, "--dbname="+c.stack.DatabaseURL)
	c.thaw()
	c.await(ids(jobs), "completed")
	for _, p := range append(c.workers, c.api, c.projector) {
		p.stop()
	}
	c.recreateDatabase()
	tool(t, pgTool(t, "pg_restore"), "--no-owner", "--exit-on-error", "--dbname="+c.stack.DatabaseURL, dump)

	shown, err := c.try("doctor", "--reconcile")
	require.Error(t, err, "there is something to mend")
	require.Contains(t, shown, "runs, but its workflow has ended: Completed")
	require.Contains(t, shown, "start it again")
	c.command("doctor", "--reconcile", "--yes")
	c.startRoles()
	c.await(ids(jobs), "completed")
	c.checkOutputs(jobs)
	c.checkViews()
	c.checkLanes()
}

// recreateDatabase deletes the service's database, but not Temporal's.
func (c *cluster) recreateDatabase() {
	c.t.Helper()
	u, err := url.Parse(c.stack.DatabaseURL)
	require.NoError(c.t, err)
	name := pgx.Identifier{u.Path[1:]}.Sanitize()
	u.Path = "/postgres"
	conn, err := pgx.Connect(c.t.Context(), u.String())
	require.NoError(c.t, err)
	defer conn.Close(context.WithoutCancel(c.t.Context()))
	for _, sql := range []string{"drop database " + name + " with (force)", "create database " + name} {
		_, err := conn.Exec(c.t.Context(), sql)
		require.NoError(c.t, err)
	}
}
