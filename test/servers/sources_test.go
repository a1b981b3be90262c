package servers_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// drawing returns the extra_data of a graph whose drawing names a checkpoint.
func drawing(name, address, sha256 string) map[string]any {
	model := map[string]any{"name": name, "url": address, "directory": "checkpoints"}
	if sha256 != "" {
		model["hash"], model["hash_type"] = sha256, "SHA256"
	}
	return map[string]any{"extra_pnginfo": map[string]any{"workflow": map[string]any{"nodes": []any{
		map[string]any{"properties": map[string]any{"models": []any{model}}},
	}}}}
}

// A weight that no server has is fetched once from where the workflows of its jobs say that it is, if the operator allows the address.
func TestWeightsThatAWorkflowNamesAreFetched(t *testing.T) {
	t.Parallel()
	const content = "the bytes of a model"
	sum := sha256.Sum256([]byte(content))
	hash := strings.ToUpper(hex.EncodeToString(sum[:]))
	var fetched atomic.Int32
	open, requested := make(chan struct{}), make(chan struct{}, 100)
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fetched.Add(1)
		requested <- struct{}{}
		if strings.HasSuffix(r.URL.Path, "/none.safetensors") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = w.Write([]byte(content[:len(content)/4]))
		w.(http.Flusher).Flush()
		select {
		case <-open:
		case <-r.Context().Done():
		}
		_, _ = w.Write([]byte(content[len(content)/4:]))
	}))
	t.Cleanup(source.Close)
	dir := t.TempDir()
	m := simulate(t, comfyui.Options{Models: dir})
	s := serve(t, settings{"MILLRACE_WEIGHT_SOURCES": "https://models.invalid/a/ " + source.URL + "/models"}, nil,
		"--comfyui", m.URL()+",label=server-0,models="+dir)
	at := func(name string) string { return source.URL + "/models/" + name }

	for what, extra := range map[string]map[string]any{
		"another path":      drawing("one.safetensors", source.URL+"/one.safetensors", ""),
		"a way out":         drawing("one.safetensors", source.URL+"/models/../one.safetensors", ""),
		"an encoded way":    drawing("one.safetensors", source.URL+"/models/%2e%2e/one.safetensors", ""),
		"a longer name":     drawing("one.safetensors", source.URL+"/models-of-others/one.safetensors", ""),
		"another scheme":    drawing("one.safetensors", strings.Replace(at("one.safetensors"), "http:", "https:", 1), ""),
		"credentials":       drawing("one.safetensors", strings.Replace(at("one.safetensors"), "http://", "http://me:pass@", 1), ""),
		"another name":      drawing("one.safetensors", at("two.safetensors"), ""),
		"a file of no need": drawing("two.safetensors", at("two.safetensors"), ""),
		"no drawing":        nil,
	} {
		status, body := s.do(http.MethodPost, "/api/prompt", map[string]any{"prompt": loading("one.safetensors"), "extra_data": extra})
		require.Equal(t, http.StatusBadRequest, status, what+": "+body)
		require.Contains(t, body, "value_not_in_list", what)
		require.Equal(t, what != "no drawing" && what != "credentials" && what != "a file of no need",
			strings.Contains(body, "MILLRACE_WEIGHT_SOURCES"), what+": "+body)
	}
	require.Zero(t, fetched.Load())

	var jobs []string
	for range 3 {
		jobs = append(jobs, s.submitWith(loading("one.safetensors"), drawing("one.safetensors", at("one.safetensors"), hash)))
	}
	for _, id := range jobs {
		s.waits(id, "the model file one.safetensors is being fetched from "+strings.TrimPrefix(source.URL, "http://")+": 25% of 20 B")
	}
	require.Contains(t, s.command("jobs", "show", jobs[0]), ": 25% of 20 B")
	<-requested
	left := s.submitWith(loading("left.safetensors"), drawing("left.safetensors", at("left.safetensors"), ""))
	<-requested
	status, body := s.do(http.MethodPost, "/api/jobs/"+left+"/cancel", nil)
	require.Less(t, status, 300, body)
	require.Equal(t, "cancelled", s.ended(left), "a job that waits for a download can be canceled")
	close(open)
	for _, id := range jobs {
		require.Equal(t, "completed", s.ended(id))
	}
	requests := s.command("events", "list", "--type", "download.requested", "--json")
	require.Equal(t, 2, strings.Count(requests, `"source_url"`), "the jobs share one download: %s", requests)
	raw, err := os.ReadFile(filepath.Join(dir, "checkpoints", "one.safetensors"))
	require.NoError(t, err)
	require.Equal(t, content, string(raw))
	require.Contains(t, s.command("weights", "list"), at("one.safetensors"))
	require.Equal(t, "completed", s.ended(s.submit(loading("one.safetensors"))), "without a drawing: it is a weight like any other")

	for name, why := range map[string]string{
		"none.safetensors": "status 404", "wrong.safetensors": "the file has the SHA-256 " + hex.EncodeToString(sum[:]),
	} {
		failed := s.hasFailed(s.submitWith(loading(name), drawing(name, at(name), strings.Repeat("0", 64))))
		require.Contains(t, failed, "ModelDownloadError", name)
		require.Contains(t, failed, "the model file "+name+" could not be fetched from 127.0.0.1", name)
		require.Contains(t, failed, why, name)
	}
	require.NotContains(t, s.command("weights", "list"), "wrong.safetensors")
}
