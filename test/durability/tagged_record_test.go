package durability_test

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/test/served"
)

var release = flag.String("release", "", "record the data of a service of this version: 0.9.0")

// maxBlob keeps what flows between nodes out of the recorded data. Without it, its producers run again.
const maxBlob = 64 << 10

// A service is killed while jobs run and wait. What it leaves is kept in the tree.
func TestDataOfAReleaseIsRecorded(t *testing.T) {
	t.Parallel()
	if *release == "" {
		t.Skip("make release/data records the data of a release")
	}
	c, _ := startPartners(t, "MILLRACE_AUTH=keys")
	d := tagged{
		Made: time.Now().UTC().Format(time.DateTime), Keys: map[string]string{}, Jobs: map[string]taggedJob{},
		Uploads: map[string]taggedUpload{}, Calls: map[string]taggedCall{}, Webhooks: map[string]string{},
	}
	for _, account := range []string{"acme", "umbrella"} {
		c.command("accounts", "create", account, "--tier", "standard") // which runs one job at a time
		d.Keys[account] = served.LastLine(c.command("keys", "create", "--account", account))
		c.useAs(&d, account)
	}
	c.freezeRunning(&d)
	for account := range d.Keys {
		d.Jobs["waiting-"+account] = taggedJob{c.submitAs(d.Keys[account], cheap("waiting-"+account)), account}
	}
	for _, p := range append(slices.Clone(c.workers), c.api, c.projector) {
		p.kill()
	}

	dir := filepath.Join(releases, *release)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	dump := filepath.Join(t.TempDir(), "database.sql")
	tool(t, pgTool(t, "pg_dump"), "--inserts", "--rows-per-insert=100", "--no-owner", "--no-privileges",
		"--file="+dump, "--dbname="+c.stack.DatabaseURL)
	raw, err := os.ReadFile(dump)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "database.sql"), portable(raw), 0o644))
	d.Blobs, d.Secret = c.stored()
	raw, err = json.MarshalIndent(d, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "service.json"), append(raw, '\n'), 0o644))
}

// useAs gives an account what a service stores of it.
func (c *cluster) useAs(d *tagged, account string) {
	c.t.Helper()
	key := d.Keys[account]
	c.ask(key, "POST", "/api/userdata/notes.json", `{"a":1}`, nil)
	var made struct{ ID string }
	c.ask(key, "POST", "/api/v2/webhooks", `{"url":"https://hooks.invalid/h","events":["job.*","call.*"]}`, &made)
	d.Webhooks[account] = made.ID

	content := "file of " + account
	asset, err := c.uploadAs(key, "note.txt", content)
	require.NoError(c.t, err)
	d.Uploads[account] = taggedUpload{asset, account, content}

	var call struct {
		ID string `json:"request_id"`
	}
	c.ask(key, "POST", "/v2/models/sim/echo/requests", `{"prompt":"hello"}`, &call)
	c.until("the call has ended", func() bool {
		status, body := c.asAccount(key, "GET", "/v2/models/sim/echo/requests/"+call.ID, "")
		return status == http.StatusOK && strings.Contains(body, "hello")
	})
	d.Calls[account] = taggedCall{call.ID, account, "sim/echo"}

	painted := strings.Replace(paintedBy("a picture for "+account), "{", fmt.Sprintf(`{"extra_data":{"api_key_service":%q},`, key), 1)
	for name, graph := range map[string]string{"done-": cheap("done-" + account), "partner-": painted} {
		id := c.submitAs(key, graph)
		c.until(name+account+" has completed", func() bool { return c.as(key, "/api/job/"+id+"/status").Status == "completed" })
		d.Jobs[name+account] = taggedJob{id, account}
	}
}

// freezeRunning submits a long job of each account until all are in the middle of their runs, and freezes the workers at
// that moment.
func (c *cluster) freezeRunning(d *tagged) {
	c.t.Helper()
	for try := 0; ; try++ {
		ids := map[string]string{}
		for account, key := range d.Keys {
			ids[account] = c.submitAs(key, long(fmt.Sprintf("running-%s-%d", account, try)))
		}
		for _, id := range ids {
			c.until("a node of it has run", func() bool { return slices.Contains(c.events(id), job.TypeNodeExecuted) })
		}
		c.freeze()
		running := 0
		for account, id := range ids {
			d.Jobs[fmt.Sprintf("running-%s-%d", account, try)] = taggedJob{id, account}
			if c.as(d.Keys[account], "/api/job/"+id+"/status").Status == "in_progress" {
				running++
			}
		}
		if running == len(ids) {
			return
		}
		c.thaw()
		for account, id := range ids {
			c.until("the slot is free", func() bool { return c.as(d.Keys[account], "/api/job/"+id+"/status").Status == "completed" })
		}
	}
}

func (c *cluster) submitAs(key, graph string) string {
	c.t.Helper()
	var answer struct {
		ID string `json:"prompt_id"`
	}
	c.ask(key, "POST", "/api/prompt", graph, &answer)
	return answer.ID
}

// ask decodes the answer of a request of an account that must succeed.
func (c *cluster) ask(key, method, path, body string, answer any) {
	c.t.Helper()
	status, got := c.asAccount(key, method, path, body)
	require.Less(c.t, status, 300, "%s %s: %s", method, path, got)
	if answer != nil {
		require.NoError(c.t, json.Unmarshal([]byte(got), answer), got)
	}
}

// portable returns a dump without what older servers, and clients other than psql, do not know.
func portable(dump []byte) []byte {
	var kept strings.Builder
	for line := range strings.Lines(string(dump)) {
		left := slices.ContainsFunc([]string{`\`, "--", "SET transaction_timeout"}, func(p string) bool { return strings.HasPrefix(line, p) })
		if !left && line != "\n" {
			kept.WriteString(line)
		}
	}
	return []byte(kept.String())
}

// stored returns the small blobs of the service's data directory, and the secret of the deployment.
func (c *cluster) stored() (blobs map[string][]byte, secret string) {
	c.t.Helper()
	dir := filepath.Join(c.dir, "service")
	raw, err := os.ReadFile(filepath.Join(dir, "secret.key"))
	require.NoError(c.t, err)
	blobs = map[string][]byte{}
	require.NoError(c.t, filepath.WalkDir(filepath.Join(dir, "blobs", "blobs"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if _, unknown := hex.DecodeString(e.Name()); unknown == nil && len(content) <= maxBlob {
			blobs[e.Name()] = content
		}
		return err
	}))
	return blobs, strings.TrimSpace(string(raw))
}
