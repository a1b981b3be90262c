package durability_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// asked requests an export and returns its task.
func (s *service) asked(request string) string {
	s.t.Helper()
	status, body := s.call("POST", "/api/assets/export", request)
	require.Equal(s.t, http.StatusAccepted, status, body)
	var task struct {
		ID string `json:"task_id"`
	}
	require.NoError(s.t, json.Unmarshal([]byte(body), &task))
	return task.ID
}

// packed waits for the end of an export, which must succeed, and returns the name of the archive.
func (s *service) packed(task string) string {
	s.t.Helper()
	var at struct {
		Status string
		Error  string `json:"error_message"`
		Result struct {
			Name string `json:"export_name"`
		}
	}
	s.until("export "+task+" is over", func() bool {
		status, body := s.call("GET", "/api/tasks/"+task, "")
		if status != http.StatusOK {
			require.NotEqual(s.t, http.StatusNotFound, status, "export %s was accepted and is unknown", task)
			return false
		}
		require.NoError(s.t, json.Unmarshal([]byte(body), &at))
		return at.Status == "completed" || at.Status == "failed"
	})
	require.Equal(s.t, "completed", at.Status, at.Error)
	return at.Result.Name
}

// noise uploads the given number of incompressible bytes and returns the asset.
func (s *service) noise(name string, size int) (id string, data []byte) {
	s.t.Helper()
	data = make([]byte, size)
	_, err := rand.NewChaCha8([32]byte([]byte(fmt.Sprintf("%-32s", name)))).Read(data)
	require.NoError(s.t, err)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	require.NoError(s.t, form.WriteField("content_type", "application/octet-stream"))
	require.NoError(s.t, form.WriteField("file_path", name))
	part, err := form.CreateFormFile("file", name)
	require.NoError(s.t, err)
	_, err = part.Write(data)
	require.NoError(s.t, err)
	require.NoError(s.t, form.Close())
	resp, err := http.Post(s.base+"/api/v2/assets", form.FormDataContentType(), &body)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	require.Equal(s.t, http.StatusCreated, resp.StatusCode)
	var a struct{ ID string }
	require.NoError(s.t, json.NewDecoder(resp.Body).Decode(&a))
	return a.ID, data
}

// An accepted export is completed, wherever its workers are killed, and makes one archive.
func TestAnExportOutlivesItsWorkers(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	holds, ids := map[string][]byte{}, []string{}
	for i := range 3 {
		name := fmt.Sprintf("noise-%d.bin", i)
		id, data := c.noise(name, 8<<20)
		holds[name] = data
		ids = append(ids, `"`+id+`"`)
	}
	for round := range 3 {
		task := c.asked(`{"asset_ids":[` + strings.Join(ids, ",") + `],"naming_strategy":"preserve"}`)
		if round > 0 { // before that, the export may not have begun
			c.until("a worker has begun", func() bool {
				_, body := c.call("GET", "/api/tasks/"+task, "")
				return !strings.Contains(body, `"status":"created"`)
			})
		}
		for _, w := range c.workers {
			w.kill()
		}
		for _, w := range c.workers {
			w.start()
		}
		name := c.packed(task)
		status, body := c.call("GET", "/api/assets/exports/"+name, "")
		require.Equal(t, http.StatusOK, status, body)
		var link struct{ URL string }
		require.NoError(t, json.Unmarshal([]byte(body), &link))
		status, raw := c.call("GET", strings.TrimPrefix(link.URL, c.base), "")
		require.Equal(t, http.StatusOK, status)
		archive, err := zip.NewReader(strings.NewReader(raw), int64(len(raw)))
		require.NoError(t, err)
		require.Len(t, archive.File, len(holds))
		for _, f := range archive.File {
			content, err := f.Open()
			require.NoError(t, err)
			data, err := io.ReadAll(content)
			require.NoError(t, err)
			require.True(t, bytes.Equal(holds[f.Name], data), f.Name)
		}
		_, list := c.call("GET", "/api/assets?include_tags=export", "")
		require.Equal(t, round+1, strings.Count(list, `"mime_type":"application/zip"`), "one archive of each export: %s", list)
	}
}
