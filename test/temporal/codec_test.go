//go:build unix

package temporal_test

import (
	"bytes"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// Encryption keys of histories.
var (
	keyOne = "one:" + strings.Repeat("1a", 32)
	keyTwo = "two:" + strings.Repeat("2b", 32)
)

const (
	keysEnv    = "MILLRACE_TEMPORAL_KEYS"
	adminToken = "operators-only"
)

func TestHistoriesAreEncrypted(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, map[string]string{keysEnv: keyOne})
	p := d.serve(nil)
	done, failed, long := p.paint(1), p.submit(failing), p.submit(slowGraph(9))
	require.Equal(t, "failed", p.end(failed))
	require.Equal(t, "completed", p.end(long))
	for _, id := range []string{done, failed, long} {
		_, err := d.workflowOf(id)
		require.Equal(t, id == failed, err != nil)
		text, _ := d.historyOf(d.client, id)
		for _, word := range []string{"EmptyImage", "PreviewAny", "424242"} {
			require.NotContains(t, text, word)
		}
	}
	dir := t.TempDir()
	require.Contains(t, d.run("jobs", "replay", done, failed, long), "replays")
	d.run("histories", "export", done, long, "--dir", dir)
	require.Contains(t, d.run("histories", "replay", dir), "replays")

	// A new key is put before the former one, which still decrypts its payloads.
	require.NoError(t, p.stop())
	d.env[keysEnv] = keyTwo + "," + keyOne
	next := d.serve(nil)
	require.Contains(t, d.run("jobs", "replay", done, next.paint(2)), "replays")
	d.env[keysEnv] = keyTwo
	out, err := d.try("histories", "replay", dir)
	require.Error(t, err)
	require.Contains(t, out, "unreadable")
	require.Contains(t, out, `key "one"`)
	require.NotContains(t, out, "diverges")
}

// A workflow whose key is missing is not ended: it is listed, and continues when the key is back.
func TestRunsGoOnWhenTheirKeyIsBack(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, map[string]string{keysEnv: keyOne})
	p := d.start(nil, "--roles", "api,projector")
	require.Eventually(t, func() bool { return p.get("/readyz") != nil }, patience, tick)
	id := p.submit(graphOf(1))
	w := d.start(map[string]string{keysEnv: keyTwo}, "--roles", "worker")
	workflow := job.ID(id).WorkflowID(1)
	require.Eventually(t, func() bool {
		found, err := d.client.DescribeWorkflowExecution(t.Context(), workflow, "")
		return err == nil && found.GetPendingWorkflowTask().GetAttempt() > 1
	}, patience, tick)
	text, _ := d.historyOf(d.client, id)
	require.Contains(t, text, `WORKFLOW_TASK_FAILED`)
	d.env[keysEnv] = keyTwo
	var out string
	require.Eventually(t, func() bool { // Temporal lists a workflow a moment later
		var err error
		out, err = d.try("histories", "stuck")
		return err != nil && strings.Contains(err.Error(), "1 running workflows wait for keys")
	}, patience, tick)
	require.Contains(t, out, workflow)
	require.Contains(t, out, "one")

	require.NoError(t, w.stop())
	d.env[keysEnv] = keyTwo + "," + keyOne
	d.start(nil, "--roles", "worker")
	require.Equal(t, "completed", p.end(id))
	status, err := d.workflowOf(id)
	require.NoError(t, err)
	require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, status)
	require.Eventually(t, func() bool { // as above
		out, err := d.try("histories", "stuck")
		return err == nil && strings.Contains(out, "no running workflow waits for a key")
	}, patience, tick)
}

// Only operators, and pages of one origin, can have payloads decrypted for Temporal's Web UI and command line.
func TestOperatorsHavePayloadsDecrypted(t *testing.T) {
	t.Parallel()
	const origin = "https://temporal.example"
	keys := filepath.Join(t.TempDir(), "keys")
	writeFile(t, keys, "# of histories\n"+keyOne+"\n")
	d := newDeployment(t, map[string]string{
		"MILLRACE_TEMPORAL_KEYS_FILE": keys, "MILLRACE_TEMPORAL_UI_ORIGIN": origin,
		"MILLRACE_ADMIN_TOKEN": adminToken,
	})
	p := d.serve(nil)
	_, events := d.historyOf(d.client, p.paint(1))
	raw, err := protojson.Marshal(events[0].GetWorkflowExecutionStartedEventAttributes().GetInput())
	require.NoError(t, err)
	decode := func(method string, header ...string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), method, p.base+"/admin/codec/decode", bytes.NewReader(raw))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	require.Equal(t, http.StatusUnauthorized, decode("POST").StatusCode)
	require.Equal(t, http.StatusUnauthorized, decode("POST", "Authorization", "Bearer wrong").StatusCode)
	require.Equal(t, http.StatusForbidden, decode("POST", "Authorization", "Bearer "+adminToken, "Origin",
		"https://elsewhere.example").StatusCode)
	res := decode("OPTIONS", "Origin", origin)
	require.Equal(t, http.StatusNoContent, res.StatusCode)
	require.Equal(t, origin, res.Header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, http.StatusForbidden, decode("OPTIONS", "Origin", "https://elsewhere.example").StatusCode)

	res = decode("POST", "Authorization", "Bearer "+adminToken, "Origin", origin)
	require.Equal(t, http.StatusOK, res.StatusCode)
	var text bytes.Buffer
	_, err = text.ReadFrom(res.Body)
	require.NoError(t, err)
	var plain common.Payloads
	require.NoError(t, protojson.Unmarshal(text.Bytes(), &plain))
	require.Contains(t, string(plain.GetPayloads()[0].GetData()), `"local"`)
}

// A key ring that cannot be read ends a process at its start. No message contains a key.
func TestKeysThatCannotBeReadAreRefused(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, nil)
	for settings, want := range map[[2]string]string{
		{keysEnv, "one:1234"}:                            "32 bytes in hex",
		{"MILLRACE_TEMPORAL_KEYS_FILE", "/nowhere/keys"}: "MILLRACE_TEMPORAL_KEYS_FILE",
	} {
		d.env[settings[0]] = settings[1]
		_, err := d.try("serve", "--addr", "127.0.0.1:0")
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "1234")
		delete(d.env, settings[0])
	}
}
