package generated_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/internal/cli"
	"github.com/millrace-dev/millrace/internal/localstack/temporal"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/test/ports"
	"github.com/millrace-dev/millrace/test/served"
)

// patience is how long anything may take; far more than it does.
const patience = 10 * time.Minute

// service is a whole service in this process, which asks for no credential.
type service struct {
	t    *testing.T
	base string
}

func start(t *testing.T) service {
	t.Helper()
	require.NoError(t, os.Setenv(temporal.BinaryEnv, temporaltest.Binary(t)))
	dir, err := scratch.New("mr-generated")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dir.Remove()) })
	addr, err := ports.Address()
	require.NoError(t, err)
	data := filepath.Join(dir.Path, "data")
	require.NoError(t, ports.ForServers(data))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		defer close(ended)
		cmd := cli.Command(io.Discard, os.Stderr, os.LookupEnv)
		cmd.SetArgs([]string{"dev", "--data", data, "--addr", addr, "--log", "error"})
		ended <- cmd.ExecuteContext(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	s := service{t, "http://" + addr}
	require.NoError(t, served.AwaitReady(s.base, patience, ended))
	return s
}

// made sends a request that succeeds, and returns a member of its answer.
func (s service) made(path, contentType, body, member string) string {
	s.t.Helper()
	res, err := http.Post(s.base+path, contentType, strings.NewReader(body))
	require.NoError(s.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	require.Less(s.t, res.StatusCode, 300, "%s: %s", path, raw)
	return text(s.t, raw, member)
}

// text returns a member of a JSON object, "" when it has none.
func text(t *testing.T, raw []byte, member string) string {
	t.Helper()
	var object map[string]any
	require.NoError(t, json.Unmarshal(raw, &object), string(raw))
	found, _ := object[member].(string)
	return found
}

// await asks until the member of an answer has the value, and returns the answer.
func (s service) await(path, member, value string) []byte {
	s.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for {
		res, err := http.Get(s.base + path)
		require.NoError(s.t, err)
		raw, err := io.ReadAll(res.Body)
		require.NoError(s.t, err)
		res.Body.Close() // read to its end
		if text(s.t, raw, member) == value {
			return raw
		}
		select {
		case <-tick.C:
		case <-late:
			s.t.Fatalf("%s of %s is not %s: %s", member, path, value, raw)
		}
	}
}

// known are values of parameters, or of members of the body, that lead to something, for the paths that begin so.
func (s service) known() [][2]any {
	s.t.Helper()
	const kind = "application/json"
	job := s.made("/api/prompt", kind, `{"prompt":{"1":{"class_type":"EmptyImage","inputs":{"width":64,"height":64,"batch_size":1,"color":1}},
		"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"generated"}}}}`, "prompt_id")
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for name, value := range map[string]string{"content_type": "text/plain", "file_path": "known.txt"} {
		require.NoError(s.t, w.WriteField(name, value))
	}
	part, err := w.CreateFormFile("file", "known.txt")
	require.NoError(s.t, err)
	_, err = io.WriteString(part, "known")
	require.NoError(s.t, err)
	require.NoError(s.t, w.Close())
	asset := s.made("/api/v2/assets", w.FormDataContentType(), form.String(), "id")
	task := s.made("/api/assets/export", kind, `{"asset_ids":["`+asset+`"]}`, "task_id")
	hook := s.made("/api/v2/webhooks", kind, `{"url":"https://known.invalid/hook"}`, "id")
	call := s.made("/v2/models/sim/open/requests", kind, `{}`, "request_id")
	s.await("/api/v2/jobs/"+job, "status", "succeeded")
	s.await("/v2/models/sim/open/requests/"+call+"/status", "status", "COMPLETED")
	var done struct {
		Result struct {
			Name string `json:"export_name"`
		}
	}
	require.NoError(s.t, json.Unmarshal(s.await("/api/tasks/"+task, "status", "completed"), &done))
	id := func(value string) map[string]string { return map[string]string{"id": value} }
	return [][2]any{
		{"/assets/export", map[string][]string{"asset_ids": {asset}, "job_ids": {job}}},
		{"/assets/exports/{name}", map[string]string{"name": done.Result.Name}},
		{"/api/v2/jobs/{id}", id(job)},
		{"/job/{id}", id(job)},
		{"/jobs/{id}", id(job)},
		{"/history/{id}", id(job)},
		{"/history_v2/{id}", id(job)},
		{"/api/v2/assets/{id}", id(asset)},
		{"/assets/{id}", id(asset)},
		{"/tasks/{id}", id(task)},
		{"/api/v2/webhooks/{id}", id(hook)},
		{"/object_info/{class}", map[string]string{"class": "SaveImage"}},
		{"/v2/models/{provider}", map[string]string{"provider": "sim", "model": "open", "id": call}},
		{"/v1/models/{provider}", map[string]string{"provider": "sim", "model": "open"}},
	}
}
