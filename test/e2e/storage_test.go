package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
)

// putText is putAsset for a text.
func (c *client) putText(name, data, key string) reply {
	c.t.Helper()
	return c.putAsset(name, "text/plain", data, key)
}

// putAsset sends bytes to POST /api/v2/assets.
func (c *client) putAsset(name, contentType, data, key string) reply {
	c.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	require.NoError(c.t, form.WriteField("content_type", contentType))
	require.NoError(c.t, form.WriteField("file_path", name))
	part, err := form.CreateFormFile("file", name)
	require.NoError(c.t, err)
	_, err = part.Write([]byte(data))
	require.NoError(c.t, err)
	require.NoError(c.t, form.Close())
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.base+"/api/v2/assets", &body)
	require.NoError(c.t, err)
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("X-API-Key", c.key)
	req.Header.Set("Authorization", "Bearer "+c.key)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return c.send(req)
}

// limit has an operator say how much the account may keep. It counts at once in the process that is asked.
func (c *client) limit(id string, bytes int64) {
	c.t.Helper()
	status, kept := c.admin("PUT", "/accounts/"+id+"/storage", fmt.Sprintf(`{"actor":"kim","reason":"share","limit_bytes":%d}`, bytes))
	require.Equal(c.t, 200, status, kept)
	require.EqualValues(c.t, bytes, kept["limit_bytes"])
}

func (c *client) kept(id string) account.Storage {
	c.t.Helper()
	status, answer := c.admin("GET", "/accounts/"+id+"/storage", "")
	require.Equal(c.t, 200, status, answer)
	raw, err := json.Marshal(answer)
	require.NoError(c.t, err)
	var kept account.Storage
	require.NoError(c.t, json.Unmarshal(raw, &kept))
	return kept
}

// An account that keeps as much as it may is refused at every door, in the words of each surface, and lets nothing
// go that was accepted: its running job saves what it makes.
func TestStorageLimitOfAnAccount(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	graph := `{"prompt":` + strings.ReplaceAll(cheapGraph, "PREFIX", "share") + `}`
	first := c.putText("first.txt", strings.Repeat("a", 1000), "")
	require.Equal(t, 201, first.status, first.body)
	made := decode(t, first.body)
	status, created := c.admin("GET", "/events?stream=asset-"+made["id"].(string), "")
	require.Equal(t, 200, status)
	id := created["events"].([]any)[0].(map[string]any)["account"].(string)
	require.Equal(t, account.Storage{Bytes: 1000, Files: 1}, c.kept(id))

	// What was accepted before is done in full, however little room there is.
	status, answer := c.admin("PUT", "/queues/"+id, `{"actor":"kim","reason":"hold","mode":"paused"}`)
	require.Equal(t, 200, status, answer)
	waiting := c.submit(strings.TrimSuffix(strings.TrimPrefix(graph, `{"prompt":`), "}"))
	c.limit(id, 1500)
	big := c.putText("big.txt", strings.Repeat("b", 501), "")
	require.Equal(t, 403, big.status, big.body)
	require.Equal(t, account.Storage{Bytes: 1000, Files: 1, Limit: 1500}, c.kept(id), "nothing of what was refused is kept")
	fits := c.putText("fits.txt", strings.Repeat("b", 500), "")
	require.Equal(t, 201, fits.status, fits.body)
	status, answer = c.admin("PUT", "/queues/"+id, `{"actor":"kim","reason":"go on","mode":"open"}`)
	require.Equal(t, 200, status, answer)
	c.await(waiting, "completed")
	require.Contains(t, c.do("GET", "/api/v2/jobs/"+waiting, "").body, "share_00001_.png")
	full := c.kept(id)
	require.Greater(t, full.Bytes, int64(1500))
	require.EqualValues(t, 3, full.Files)

	for name, r := range map[string]reply{
		"v2 upload":    c.putText("more.txt", "x", "key-1"),
		"from hash":    c.do("POST", "/api/v2/assets/from-hash", `{"hash":"`+made["hash"].(string)+`","file_path":"again.txt"}`),
		"v2 job":       c.do("POST", "/api/v2/jobs", `{"workflow":`+strings.ReplaceAll(cheapGraph, "PREFIX", "no")+`}`),
		"cloud prompt": c.do("POST", "/api/prompt", graph),
		"cloud upload": c.upload("more.png", []byte("x")),
		"user data":    c.do("POST", "/api/userdata/a.json", `{}`),
	} {
		require.Equal(t, 403, r.status, "%s: %s", name, r.body)
		require.Contains(t, r.body, fault.CodeStorageQuotaExceeded, name)
		require.Contains(t, r.body, "1.5 KiB", name)
		require.Empty(t, r.header.Get("Retry-After"), "%s: to wait does not help", name)
	}
	refused := decode(t, c.putText("more.txt", "x", "").body)["error"].(map[string]any)
	require.EqualValues(t, fault.CodeStorageQuotaExceeded, refused["code"])
	run := c.do("POST", "/v2/models/sim/echo/requests", `{}`, "Authorization", "Bearer "+c.key)
	require.Equal(t, 403, run.status, run.body)
	require.Equal(t, "forbidden", decode(t, run.body)["error_type"])
	b := c.signedIn()
	require.Contains(t, b.get("/console").body, "of 1.5 KiB in 3. The account cannot store more files")
	require.Equal(t, 403, b.post("/console/jobs/"+waiting+"/retry", url.Values{"reason": {"again"}}).status)
	require.Equal(t, full, c.kept(id))

	// Reading and deleting go on, and what is deleted makes room at once; the refused key was not used up.
	require.Equal(t, 200, c.do("GET", "/api/v2/assets/"+made["id"].(string), "").status)
	require.Equal(t, 204, c.do("DELETE", "/api/v2/assets/"+made["id"].(string), "").status)
	again := c.putText("more.txt", "x", "key-1")
	require.Equal(t, 201, again.status, again.body)
	require.Equal(t, full.Bytes-1000+1, c.kept(id).Bytes)

	require.Eventually(t, func() bool { // the database has seconds to answer, which may not be enough on a busy machine
		metrics := c.do("GET", "/admin/metrics", "", "Authorization", "Bearer "+adminToken).body
		return strings.Contains(metrics, "millrace_accounts_full ") && strings.Contains(metrics, `millrace_account_storage_bytes{account="`)
	}, patience, 50*time.Millisecond)
	for path, body := range map[string]string{
		"no limit given":    `{"actor":"kim","reason":"r"}`,
		"less than nothing": `{"actor":"kim","reason":"r","limit_bytes":-1}`, "words": `{"actor":"kim","reason":"r","limit_bytes":"much"}`,
	} {
		status, answer := c.admin("PUT", "/accounts/"+id+"/storage", body)
		require.Equal(t, 400, status, "%s: %v", path, answer)
	}
	status, _ = c.admin("GET", "/accounts/nobody/storage", "")
	require.Equal(t, 404, status)
}
