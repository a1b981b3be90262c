package durability_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pgTool is a program of the PostgreSQL that the private cluster runs.
func pgTool(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	require.NoError(t, err)
	require.NotEmpty(t, found, "%s comes with PostgreSQL", name)
	return found[len(found)-1]
}

func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, out)
}

// The tested restore: a dump of PostgreSQL taken while jobs run and wait, put into a fresh cluster beside
// an empty Temporal. The doctor starts what has no workflow, and every job that was accepted before the
// dump completes, each output once.
func TestARestoredBackupCompletesEveryAcceptedJob(t *testing.T) {
	t.Parallel()
	old := startCluster(t)
	old.await([]string{old.submit(cheap("before"))}, "completed")
	jobs := old.batch("restored")
	old.until(time.Minute, "a long job runs", func() bool { return old.state(jobs["restored-long-0"]) == "in_progress" })
	dump := filepath.Join(old.dir, "backup.dump")
	tool(t, pgTool(t, "pg_dump"), "--format=custom", "--file="+dump, "--dbname="+old.stack.DatabaseURL)
	for _, p := range append(old.workers, old.api, old.projector) {
		p.kill() // the machine is gone
	}

	dir := dataDir(t)
	stack := startStack(t, dir)
	tool(t, pgTool(t, "pg_restore"), "--no-owner", "--exit-on-error", "--dbname="+stack.DatabaseURL, dump)
	tool(t, "cp", "-a", filepath.Join(old.dir, "service"), filepath.Join(dir, "service"))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "service", "values"))) // is no part of a backup
	c := serveOn(t, stack, dir)

	shown, err := c.try("doctor", "--reconcile")
	require.Error(t, err, "what is found is shown, and nothing is done without --yes")
	require.Contains(t, shown, "Temporal has no workflow of it")
	again, err := c.try("doctor", "--reconcile")
	require.Error(t, err)
	require.Equal(t, shown, again)
	c.command("doctor", "--reconcile", "--yes")
	require.Contains(t, c.command("doctor", "--reconcile"), "nothing to do")

	c.startRoles()
	c.await(ids(jobs), "completed")
	c.checkOutputs(jobs)
	c.checkViews()
	c.checkLanes()
	require.Contains(t, c.command("jobs", "events", jobs["restored-long-0"]), "job.requeued")
	replayed := c.command("jobs", "replay", "--since", "1h", "--limit", "3")
	require.Contains(t, replayed, "replays")
	require.NotContains(t, replayed, "diverges")
}

// try runs a command that may fail.
func (s *service) try(args ...string) (string, error) {
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), s.env...)
	out, err := cmd.Output()
	return string(out), err
}
