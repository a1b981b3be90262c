package generated_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/test/served"
)

// patience bounds every wait, far above the usual time.
const patience = 10 * time.Minute

// service is a complete service in this process, without authentication.
type service struct {
	*served.Service
	t *testing.T
}

func start(t *testing.T) service {
	t.Helper()
	return service{served.Start(t, served.Options{Name: "mr-generated", Args: []string{"--log", "error"}, Patience: patience}), t}
}

// made sends a request, which must succeed, and returns a member of its answer, or the status for no member.
func (s service) made(path, contentType, body, member string) string {
	s.t.Helper()
	res, err := http.Post(s.Base+path, contentType, strings.NewReader(body))
	require.NoError(s.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	require.Less(s.t, res.StatusCode, 300, "%s: %s", path, raw)
	if member == "" {
		return ""
	}
	return text(s.t, raw, member)
}

// upload sends a form with a file, and returns a member of the answer.
func (s service) upload(path string, fields map[string]string, part, filename string, content []byte, member string) string {
	s.t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for name, value := range fields {
		require.NoError(s.t, w.WriteField(name, value))
	}
	file, err := w.CreateFormFile(part, filename)
	require.NoError(s.t, err)
	_, err = file.Write(content)
	require.NoError(s.t, err)
	require.NoError(s.t, w.Close())
	return s.made(path, w.FormDataContentType(), form.String(), member)
}

// text returns a member of a JSON object, or "".
func text(t *testing.T, raw []byte, member string) string {
	t.Helper()
	var object map[string]any
	require.NoError(t, json.Unmarshal(raw, &object), string(raw))
	found, _ := object[member].(string)
	return found
}

// await polls until the member of an answer has the value, and returns the answer.
func (s service) await(path, member, value string) []byte {
	s.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for {
		res, err := http.Get(s.Base + path)
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

// get reads a path, which must exist.
func (s service) get(path string) []byte {
	s.t.Helper()
	res, err := http.Get(s.Base + path)
	require.NoError(s.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, res.StatusCode, "%s: %s", path, raw)
	return raw
}

// known lists the things that exist.
type known struct {
	// Values are values of parameters, or of members of the body, that refer to existing things, for paths with the
	// given prefixes.
	Values [][2]any `json:"values"`
	// Requests are requests that succeed, by operation, for operations whose generated requests would succeed only by
	// chance.
	Requests map[string]request `json:"requests"`
	// Kept are ids and names that no request may delete.
	Kept []string `json:"kept"`
}

// request holds the parts of a request besides its operation: members of an object.
type request map[string]any

// graph makes a picture and saves it.
const graph = `{"1":{"class_type":"EmptyImage","inputs":{"width":64,"height":64,"batch_size":1,"color":1}},
	"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"generated"}}}`

// known makes one thing of each kind.
func (s service) known() known {
	s.t.Helper()
	const kind = "application/json"
	job := s.made("/api/prompt", kind, `{"prompt":`+graph+`}`, "prompt_id")
	s.await("/api/v2/jobs/"+job, "status", "succeeded")
	picture := s.get("/view?filename=generated_00001_.png")
	s.upload("/api/upload/image", nil, "image", "known.png", picture, "name")
	asset := s.upload("/api/v2/assets", map[string]string{"content_type": "text/plain", "file_path": "known.txt"}, "file", "known.txt",
		[]byte("known"), "id")
	task := s.made("/api/assets/export", kind, `{"asset_ids":["`+asset+`"]}`, "task_id")
	hook := s.made("/api/v2/webhooks", kind, `{"url":"https://known.invalid/hook"}`, "id")
	delivery := s.made("/api/v2/webhooks/"+hook+"/test", kind, ``, "id")
	call := s.made("/v2/models/sim/open/requests", kind, `{}`, "request_id")
	long := s.made("/v2/models/sim/image/requests", kind, `{"prompt":"x [sim:delay=10m]"}`, "request_id")
	s.made("/api/userdata/known.json", kind, `{}`, "")
	s.made("/api/userdata/moved.json", kind, `{}`, "")
	s.made("/api/userdata/deleted.json", kind, `{}`, "")
	s.await("/v2/models/sim/open/requests/"+call+"/status", "status", "COMPLETED")
	var done struct {
		Result struct {
			Name string `json:"export_name"`
		}
	}
	require.NoError(s.t, json.Unmarshal(s.await("/api/tasks/"+task, "status", "completed"), &done))
	var link struct{ URL string }
	require.NoError(s.t, json.Unmarshal(s.get("/api/assets/exports/"+done.Result.Name), &link))
	archive, err := url.Parse(link.URL)
	require.NoError(s.t, err)
	hash := text(s.t, s.get("/api/v2/assets/"+asset), "hash")
	id := func(value string) map[string]string { return map[string]string{"id": value} }
	requests := s.successful(archive, picture, hash, long)
	requests["POST /assets/import"] = request{"json": map[string]any{"published_asset_ids": []string{asset}}}
	requests["DELETE /api/v2/webhooks/{id}"] = request{"path": id(s.made("/api/v2/webhooks", kind, `{"url":"https://known.invalid/deleted"}`,
		"id"))}
	for n, path := range []string{"/assets/{id}", "/api/v2/assets/{id}"} {
		name := fmt.Sprintf("deleted%d.txt", n)
		fields := map[string]string{"content_type": "text/plain", "file_path": name}
		requests["DELETE "+path] = request{"path": id(s.upload("/api/v2/assets", fields, "file", name, []byte(name), "id"))}
	}
	return known{Requests: requests, Kept: append(s.assets(), job, hook, done.Result.Name, "known.json", "moved.json"), Values: [][2]any{
		{"/assets/export", map[string][]string{"asset_ids": {asset}, "job_ids": {job}}},
		{"/assets/exports/{name}", map[string]string{"name": done.Result.Name}},
		{"/history", map[string]bool{"clear": false}}, // hidden jobs are not found
		{"/api/v2/jobs/{id}", id(job)},
		{"/job/{id}", id(job)},
		{"/jobs/{id}", id(job)},
		{"/history/{id}", id(job)},
		{"/history_v2/{id}", id(job)},
		{"/api/v2/assets/{id}", id(asset)},
		{"/assets/{id}", id(asset)},
		{"/tasks/{id}", id(task)},
		{"/api/v2/webhooks/{id}", map[string]string{"id": hook, "delivery": delivery}},
		{"/object_info/{class}", map[string]string{"class": "SaveImage"}},
		{"/v2/models/{provider}", map[string]string{"provider": "sim", "model": "open", "id": call}},
		{"/v1/models/{provider}", map[string]string{"provider": "sim", "model": "open"}},
		{"/userdata/{file}/move", map[string]string{}},
		{"/userdata/{file}", map[string]string{"file": "known.json"}},
	}}
}

// assets returns the ids of uploaded and generated assets that must not be deleted.
func (s service) assets() []string {
	s.t.Helper()
	var all struct {
		Assets []struct{ ID, Name string }
	}
	require.NoError(s.t, json.Unmarshal(s.get("/api/assets"), &all))
	var ids []string
	for _, a := range all.Assets {
		if !strings.HasPrefix(a.Name, "deleted") {
			ids = append(ids, a.ID)
		}
	}
	require.NotEmpty(s.t, ids)
	return ids
}

// successful returns requests that succeed, given the address of an archive, a picture, the hash of a file and a call
// that takes long.
func (s service) successful(archive *url.URL, picture []byte, hash, long string) map[string]request {
	s.t.Helper()
	signed := map[string]string{}
	for name := range archive.Query() {
		signed[name] = archive.Query().Get(name)
	}
	at := strings.Split(strings.TrimPrefix(archive.Path, "/api/files/"), "/")
	require.Len(s.t, at, 2, archive.Path)
	file := request{"path": map[string]string{"asset": at[0], "filename": at[1]}, "query": signed}
	output := request{"query": map[string]string{"filename": "generated_00001_.png"}}
	ofHash := request{"path": map[string]string{"hash": hash}}
	return map[string]request{
		"GET /files/{asset}/{filename}": file, "HEAD /files/{asset}/{filename}": file,
		"GET /view": output, "HEAD /view": output, "GET /files/mask-layers": {"query": map[string]string{"filename": "known.png"}},
		"HEAD /assets/hash/{hash}": ofHash, "HEAD /api/v2/assets/by-hash/{hash}": ofHash,
		"POST /assets/from-hash":        {"json": map[string]any{"hash": hash, "tags": []string{"input"}}},
		"POST /api/v2/assets/from-hash": {"json": map[string]any{"hash": hash}},
		"POST /prompt":                  {"json": map[string]any{"prompt": json.RawMessage(graph)}},
		"POST /api/v2/jobs":             {"json": map[string]any{"workflow": json.RawMessage(graph)}},
		"POST /upload/image":            {"form": map[string]string{}, "files": map[string][]byte{"image": picture}},
		"POST /upload/mask": {
			"form":  map[string]string{"original_ref": `{"filename":"generated_00001_.png","type":"output"}`},
			"files": map[string][]byte{"image": picture},
		},
		"PUT /v2/models/{provider}/{model}/requests/{id}/cancel": {"path": map[string]string{"model": "image", "id": long}},
		"POST /userdata/{file}/move/{dest}":                      {"path": map[string]string{"file": "moved.json", "dest": "there.json"}},
		"DELETE /userdata/{file}":                                {"path": map[string]string{"file": "deleted.json"}},
	}
}
