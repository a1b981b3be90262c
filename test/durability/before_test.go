package durability_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// Data of a service of the release before migration 0041 that was killed: two accounts, each with jobs that ended,
// run and wait, an upload, a call and a webhook.
var (
	//go:embed testdata/before/database.sql
	databaseBefore string
	//go:embed testdata/before/service.json
	serviceBefore []byte
)

// before is the content of that service's data directory, and its clients' data.
type before struct {
	Made     string            // when, in UTC
	Secret   string            // secret of its deployment
	Keys     map[string]string // by account
	Jobs     map[string]earlierJob
	Uploads  map[string]earlierUpload
	Calls    map[string]earlierCall
	Webhooks map[string]string // by account
	Blobs    map[string][]byte // by digest
}

type (
	earlierJob    struct{ ID, Account, State string }
	earlierUpload struct{ ID, Account, Content string }
	earlierCall   struct{ ID, Account, Model string }
)

func TestDataOfTheReleaseBeforeIsServed(t *testing.T) {
	t.Parallel()
	var was before
	require.NoError(t, json.Unmarshal(serviceBefore, &was))
	dir := dataDir(t)
	stack := startStack(t, dir)
	was.restore(t, stack.DatabaseURL, filepath.Join(dir, "service"))
	c := serveOn(t, stack, dir)
	c.env = append(c.env, "MILLRACE_AUTH=keys")

	// Running jobs can be replayed before the database is migrated. Temporal no longer has the workflows of these
	// jobs.
	run := was.Jobs["done-acme-0"].ID
	for _, selected := range [][]string{{"--since", "48h"}, {"--status", "succeeded"}, {run}} {
		shown, err := c.try(append([]string{"jobs", "replay", "--json"}, selected...)...)
		require.Error(t, err, "there is no history to replay")
		require.Contains(t, shown, run, "%v: %v", selected, err)
		require.Contains(t, shown, "forgotten", "%v", selected)
	}
	c.startRoles()

	for name, j := range was.Jobs {
		c.until(name+" has completed", func() bool {
			return c.as(was.Keys[j.Account], "/api/job/"+j.ID+"/status").Status == "completed"
		})
		outputs := c.as(was.Keys[j.Account], "/api/v2/jobs/"+j.ID).Outputs
		require.Len(t, outputs, 1, name)
		require.True(t, strings.HasPrefix(c.read(was.Keys[j.Account], outputs[0].URL), "\x89PNG"), name)
	}
	for name, u := range was.Uploads {
		require.Equal(t, u.Content, c.read(was.Keys[u.Account], c.as(was.Keys[u.Account], "/api/v2/assets/"+u.ID).URL), name)
	}
	for name, call := range was.Calls {
		require.Contains(t, c.read(was.Keys[call.Account], "/v2/models/"+call.Model+"/requests/"+call.ID), "hello", name)
	}
	for account, key := range was.Keys {
		require.Contains(t, c.read(key, "/api/v2/webhooks"), was.Webhooks[account])
		require.JSONEq(t, `{"a":1}`, c.read(key, "/api/userdata/notes.json"))
		listed := c.read(key, "/api/v2/jobs")
		for name, j := range was.Jobs {
			require.Equal(t, j.Account == account, strings.Contains(listed, j.ID), name)
		}
	}
	require.NotContains(t, c.command("views", "rebuild", "--check"), "differs")
}

// restore writes the rows into a database and the files into a data directory. It shifts times by whole days, so that
// nothing has expired.
func (b before) restore(t *testing.T, dsn, dir string) {
	t.Helper()
	made, err := time.Parse(time.DateTime, b.Made)
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	_, err = conn.PgConn().Exec(t.Context(), later(databaseBefore, time.Since(made).Truncate(24*time.Hour))).ReadAll()
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	for digest, content := range b.Blobs {
		name := filepath.Join(dir, "blobs", "blobs", digest[:2], digest[2:4], digest)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, content, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret.key"), []byte(b.Secret+"\n"), 0o600))
}

var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d)?`)

// later shifts every time and every day in a text.
func later(text string, by time.Duration) string {
	return timestamp.ReplaceAllStringFunc(text, func(was string) string {
		layout := time.DateTime
		switch {
		case len(was) == len(time.DateOnly):
			layout = time.DateOnly
		case strings.Contains(was, "T"):
			layout = "2006-01-02T15:04:05"
		}
		at, err := time.Parse(layout, was)
		if err != nil {
			return was // digits that are not a time
		}
		return at.Add(by).Format(layout)
	})
}

// answer holds the members of a job or an asset that the test reads.
type answer struct {
	Status  string
	URL     string
	Outputs []struct{ URL string }
}

// as reads a JSON document of an account.
func (c *cluster) as(key, path string) (a answer) {
	c.t.Helper()
	require.NoError(c.t, json.Unmarshal([]byte(c.read(key, path)), &a))
	return a
}

// read returns the body at a path, or at an address of this service.
func (c *cluster) read(key, path string) string {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.base+strings.TrimPrefix(path, c.base), nil)
	require.NoError(c.t, err)
	req.Header.Set("X-API-Key", key)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(c.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	require.Equal(c.t, http.StatusOK, resp.StatusCode, "%s: %s", path, bytes.TrimSpace(body))
	return string(body)
}
