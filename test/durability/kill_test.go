package durability_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// separate roles against one PostgreSQL and one Temporal, each killed in turn
// while jobs wait, run and end. Workers keep nothing in memory between tasks, so they finish each
// other's jobs.
func TestAnyProcessMayBeKilled(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.command("accounts", "credit", "local", "--amount", "1000", "--reason", "metered")
	all := map[string]string{}
	for _, step := range []struct {
		name string
		kill func()
	}{
		{"worker", func() { c.workers[0].kill(); c.workers[0].start() }},
		{"both-workers", func() { c.workers[0].kill(); c.workers[1].kill(); c.workers[0].start(); c.workers[1].start() }},
		{"api", func() { c.api.kill(); c.api.start() }},
		{"projector", func() { c.projector.kill(); c.projector.start() }},
		{"temporal", c.killTemporal},
		{"postgres", func() { killPostgres(t, c.dir) }},
	} {
		jobs := c.batch(step.name)
		c.begun(jobs[step.name+"-long-0"])
		step.kill()
		c.ready()
		c.await(ids(jobs), "completed")
		c.checkOutputs(jobs)
		for prefix, id := range jobs {
			all[prefix] = id
		}
		t.Logf("%s killed: %d jobs completed", step.name, len(jobs))
	}
	c.checkOutputs(all)
	c.checkViews()
	c.checkLanes()
	spent := float64(len(all)) / 4
	require.Contains(t, c.command("accounts", "ledger", "local"), // fails if the balance differs from that of the events
		fmt.Sprintf("%.2f USD available (%.2f credits), 0.00 reserved, %.2f spent, 1000.00 granted", 1000-spent, (1000-spent)*211, spent))
}

// checkLanes requires that no slot and no counter is left over.
func (c *cluster) checkLanes() {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.stack.DatabaseURL)
	require.NoError(c.t, err)
	defer conn.Close(c.t.Context())
	var slots, queued, running, secrets int
	require.NoError(c.t, conn.QueryRow(c.t.Context(),
		`select (select count(*) from job_slots), (select coalesce(sum(queued), 0) from job_admissions),
		(select coalesce(sum(running + released), 0) from job_admissions), (select count(*) from sealed_credentials)`).
		Scan(&slots, &queued, &running, &secrets))
	require.Equal(c.t, [4]int{}, [4]int{slots, queued, running, secrets})
}

// jobs that are submitted while Temporal is down are accepted, and run when it is back.
func TestSubmissionsAreAcceptedWithoutTemporal(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.await([]string{c.submit(cheap("before"))}, "completed")
	jobs := map[string]string{}
	c.killTemporal() // it needs a second to restart
	for i := range 5 {
		prefix := "away-" + string(rune('a'+i))
		jobs[prefix] = c.submit(cheap(prefix))
	}
	c.await(ids(jobs), "completed")
	c.checkOutputs(jobs)
}

// all of local mode is killed, and started again on the same data.
func TestTheWholeOfLocalModeMayBeKilled(t *testing.T) {
	t.Parallel()
	dir, addr := dataDir(t), freeAddress(t)
	env := []string{"MILLRACE_SLOTS=6", "MILLRACE_DATA=" + dir}
	p := &process{t: t, args: []string{"dev", "--addr", addr}, env: env, log: filepath.Join(dir, "dev.log")}
	p.start()
	t.Cleanup(p.stop)
	s := &service{t: t, base: "http://" + addr, env: env}
	s.ready()
	all := map[string]string{}
	require.Equal(t, http.StatusCreated, s.uploadOnce("kept"))
	for _, name := range []string{"first", "second"} {
		jobs := s.batch(name)
		s.begun(jobs[name+"-long-0"])
		p.kill()
		s.until("the database is gone with its owner", func() bool { return !postgresRuns(dir) })
		p.start()
		s.ready()
		require.Equal(t, http.StatusUnprocessableEntity, s.uploadOnce("kept"), "a key that was used outlives every process")
		s.await(ids(jobs), "completed")
		s.checkOutputs(jobs)
		for prefix, id := range jobs {
			all[prefix] = id
		}
	}
	s.checkOutputs(all)
	s.checkViews()
}

// uploadOnce uploads a file with that idempotency key and returns the status of the answer.
func (s *service) uploadOnce(key string) int {
	s.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, field := range [][2]string{{"content_type", "text/plain"}, {"file_path", "kept.txt"}, {"file", "bytes"}} {
		require.NoError(s.t, form.WriteField(field[0], field[1]))
	}
	require.NoError(s.t, form.Close())
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.base+"/api/v2/assets", &body)
	require.NoError(s.t, err)
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Idempotency-Key", key)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	require.NoError(s.t, resp.Body.Close())
	return resp.StatusCode
}

// postgresRuns reports whether a private PostgreSQL still uses the directory.
func postgresRuns(dir string) bool {
	for _, pattern := range []string{"postgres/postmaster.pid", "postgres/*/postmaster.pid"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return true
		}
		for _, file := range files {
			if _, err := os.Stat(file); err == nil {
				return true
			}
		}
	}
	return false
}
