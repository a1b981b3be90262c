package durability_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/config/version"
)

// tagged is the content of the data directory of a service of a tagged version that was killed, and its clients' data:
// two accounts, each with jobs that ended, run and wait, an upload, a call and a webhook.
type tagged struct {
	Made     string                  `json:"made"`   // when, in UTC
	Secret   string                  `json:"secret"` // of the deployment
	Keys     map[string]string       `json:"keys"`   // by account
	Jobs     map[string]taggedJob    `json:"jobs"`
	Uploads  map[string]taggedUpload `json:"uploads"`
	Calls    map[string]taggedCall   `json:"calls"`
	Webhooks map[string]string       `json:"webhooks"` // by account
	Blobs    map[string][]byte       `json:"blobs"`    // by digest

	database string // a dump
}

type (
	taggedJob struct {
		ID      string `json:"id"`
		Account string `json:"account"`
	}
	taggedUpload struct {
		ID      string `json:"id"`
		Account string `json:"account"`
		Content string `json:"content"`
	}
	taggedCall struct {
		ID      string `json:"id"`
		Account string `json:"account"`
		Model   string `json:"model"`
	}
)

// The data of the last tagged version is served; make release/data has recorded it. The first version with data is the
// base, and the last tag has data of its own.
func TestDataOfTheLastTaggedVersionIsServed(t *testing.T) {
	t.Parallel()
	versions := recordedVersions(t)
	require.Equal(t, version.Base, versions[0])
	last := versions[len(versions)-1]
	require.Contains(t, versions, newestTag(t), "make release/data RELEASE=%s", newestTag(t))
	was := readTagged(t, last)
	dir := dataDir(t)
	stack := startStack(t, dir)
	was.restore(t, stack.DatabaseURL, filepath.Join(dir, "service"))
	c := serveOn(t, stack, dir)
	c.env = append(c.env, "MILLRACE_AUTH=keys")

	// Running jobs can be replayed before the database is migrated. Temporal no longer has the workflows of these
	// jobs.
	run := was.Jobs["done-acme"].ID
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

// releases are the folders of recorded data, by version.
const releases = "testdata/releases"

// recordedVersions returns the versions with recorded data, the oldest first.
func recordedVersions(t *testing.T) (versions []string) {
	t.Helper()
	entries, err := os.ReadDir(releases)
	require.NoError(t, err)
	for _, e := range entries {
		versions = append(versions, e.Name())
	}
	require.NotEmpty(t, versions)
	slices.SortFunc(versions, compareVersions)
	return versions
}

// newestTag returns the version of the newest tag, or the base where the checkout has no tags.
func newestTag(t *testing.T) string {
	t.Helper()
	newest := version.Base
	out, err := exec.Command("git", "tag", "--list", "v*").Output()
	if err != nil {
		return newest // the sources are not a git checkout
	}
	for tag := range strings.FieldsSeq(string(out)) {
		if of := strings.TrimPrefix(tag, "v"); !strings.Contains(of, "-") && compareVersions(of, newest) > 0 {
			newest = of
		}
	}
	return newest
}

// compareVersions compares versions of the form 1.2.3.
func compareVersions(a, b string) int {
	parse := func(v string) (parts [3]int) {
		_, _ = fmt.Sscanf(v, "%d.%d.%d", &parts[0], &parts[1], &parts[2]) // what is no version comes first
		return parts
	}
	x, y := parse(a), parse(b)
	return slices.Compare(x[:], y[:])
}

// readTagged reads the recorded data of a version.
func readTagged(t *testing.T, version string) (d tagged) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(releases, version, "service.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &d))
	raw, err = os.ReadFile(filepath.Join(releases, version, "database.sql"))
	require.NoError(t, err)
	d.database = string(raw)
	return d
}

// restore writes the rows into a database and the files into a data directory. It shifts times by whole days, so that
// nothing has expired.
func (d tagged) restore(t *testing.T, dsn, dir string) {
	t.Helper()
	made, err := time.Parse(time.DateTime, d.Made)
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	_, err = conn.PgConn().Exec(t.Context(), later(d.database, time.Since(made).Truncate(24*time.Hour))).ReadAll()
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	for digest, content := range d.Blobs {
		name := filepath.Join(dir, "blobs", "blobs", digest[:2], digest)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, content, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret.key"), []byte(d.Secret+"\n"), 0o600))
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
