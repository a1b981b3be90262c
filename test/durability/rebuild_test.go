package durability_test

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// A rebuild that is killed half way, while it builds copies of the live views, changes nothing: the live views stay
// in use and equal their rebuild, and the next rebuild removes the remains of the killed one.
func TestKilledRebuildLeavesTheViewUnchanged(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	var ids []string
	for _, name := range []string{"one", "two", "three"} {
		ids = append(ids, c.submit(cheap(name)))
	}
	c.await(ids, "completed")
	conn, err := pgx.Connect(t.Context(), c.stack.DatabaseURL)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(t.Context()) }) // read only
	shadows := func() (n int) {
		require.NoError(t, conn.QueryRow(t.Context(), `select count(*) from pg_namespace where nspname like 'shadow_%'`).Scan(&n))
		return n
	}

	for killed := 0; killed < 3; {
		cmd := exec.Command(binary, "views", "rebuild")
		cmd.Env = append(os.Environ(), c.env...)
		require.NoError(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		tick := time.NewTicker(time.Millisecond)
		for done := false; !done; {
			select {
			case err := <-ended:
				require.NoError(t, err, "it was faster than we are")
				done = true
			case <-tick.C:
				if shadows() > 0 {
					_ = cmd.Process.Kill() // it may have ended at this moment
					var cut *exec.ExitError
					if done = true; errors.As(<-ended, &cut) {
						require.Equal(t, -1, cut.ExitCode(), "it was killed, and has not failed")
						killed++
					}
				}
			}
		}
		tick.Stop()
		require.Equal(t, "completed", c.state(ids[0]))
		c.checkViews()
	}
	c.command("views", "rebuild")
	require.Zero(t, shadows())
	c.checkViews()
}
