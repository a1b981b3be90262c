package router_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// W-21, W-22: the key that is submitted with a job is encrypted while the job needs it, and appears nowhere: in no
// table of either database, no file, no log, no answer.
func TestTheCredentialOfAJobAppearsNowhere(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	var got strings.Builder
	do := func(method, path, body string) reply {
		r := c.do(method, path, body)
		fmt.Fprintln(&got, path, r.header, r.body)
		return r
	}
	const graph = `{"1":{"class_type":"Partner_sim_image","inputs":{"prompt":"%s"}},"2":{"class_type":"SaveImage","inputs":{"images":["1",` +
		`0],"filename_prefix":"sealed"}}}`
	order := func(field, prompt string) (id string) {
		r := do("POST", "/api/prompt", fmt.Sprintf(`{"prompt":`+graph+`,"extra_data":{"%s":"%s"}}`, prompt, field, c.key))
		require.Equal(t, 200, r.status, r.body)
		return decode(t, r.body)["prompt_id"].(string)
	}
	running := order("api_key_service", "slowly [sim:delay=10m]")
	ended := []string{order("api_key_comfy_org", "one"), order("api_key_service", "two [sim:error]")}
	r := do("POST", "/api/v2/jobs", fmt.Sprintf(`{"workflow":`+graph+`,"extra_data":{"api_key_comfy_org":"%s"}}`, "three", c.key))
	require.Equal(t, 201, r.status, r.body)
	ended = append(ended, decode(t, r.body)["id"].(string))

	over := map[string]bool{}
	for _, id := range ended {
		c.until("the job has ended", func() bool {
			state := fmt.Sprint(decode(t, do("GET", "/api/job/"+id+"/status", "").body)["status"])
			over[state] = over[state] || state == "completed" || state == "failed"
			return state == "completed" || state == "failed"
		})
	}
	require.Equal(t, map[string]bool{"completed": true, "failed": true},
		map[string]bool{"completed": over["completed"], "failed": over["failed"]})
	c.until("the node waits for its model", func() bool { return c.job(running) == "in_progress" })

	// While a job needs its credential, it is stored encrypted. Ended jobs have none.
	require.Equal(t, 1, c.count(t, "millrace", `select count(*) from sealed_credentials where job_id::text = $1`, running))
	for _, id := range ended {
		require.Zero(t, c.count(t, "millrace", `select count(*) from sealed_credentials where job_id::text = $1`, id))
	}
	for _, id := range append(ended, running) {
		for _, path := range []string{"/api/jobs/" + id, "/api/v2/jobs/" + id, "/api/history/" + id, "/api/v2/jobs/" + id + "/logs"} {
			do("GET", path, "")
		}
	}
	for _, path := range []string{"/api/queue", "/api/history", "/api/jobs", "/api/v2/jobs"} {
		do("GET", path, "")
	}

	for _, database := range []string{"millrace", "temporal"} {
		require.Empty(t, c.tablesWith(t, database, c.key), database)
		require.NotEmpty(t, c.tablesWith(t, database, running), "%s: the search finds what is there", database)
	}
	require.NotContains(t, got.String(), c.key)
	require.NotContains(t, c.log.String(), c.key)
	require.Contains(t, c.log.String(), running, "the log is that of these jobs")
	require.Empty(t, filesWith(t, c.data, c.key))
	require.Equal(t, 200, c.do("POST", "/api/v2/jobs/"+running+"/cancel", "").status)
}

// tablesWith returns the tables of a database that contain a text, as text or as bytes.
func (s *service) tablesWith(t *testing.T, database, text string) (found []string) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), fmt.Sprintf("host=%s port=5432 user=millrace dbname=%s", filepath.Join(s.data, "postgres", "run"),
		database))
	require.NoError(t, err)
	defer db.Close(context.WithoutCancel(t.Context()))
	rows, err := db.Query(t.Context(), `select format('%I.%I', schemaname, tablename) from pg_tables where schemaname not in ('pg_catalog',
		'information_schema')`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(tables), 10, database)
	for _, table := range tables {
		var there bool
		query := `select exists (select from ` + table + ` r where position($1 in r::text) > 0 or position($2 in r::text) > 0)`
		require.NoError(t, db.QueryRow(t.Context(), query, text, hex.EncodeToString([]byte(text))).Scan(&there), table)
		if there {
			found = append(found, table)
		}
	}
	return found
}

// filesWith returns the files below a directory, including those of the databases, that contain a text.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil // files come and go while the service runs
		}
		file, err := os.Open(path)
		if err != nil {
			return nil // as above
		}
		defer file.Close()
		raw, err := io.ReadAll(io.LimitReader(file, 64<<20))
		if err == nil && bytes.Contains(raw, []byte(text)) {
			found = append(found, path)
		}
		return nil
	}))
	return found
}
