package assets_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/stream"
)

// silentBus takes frames that nobody watches.
type silentBus struct{}

func (silentBus) Publish(_ context.Context, f stream.Frame) error { return f.Validate() }

// fetchTask runs the activity of a download once, as the first attempt.
func fetchTask(t *testing.T, h *apitest.FileHarness, id string) error {
	t.Helper()
	return fetchTaskOver(t, h, id, h.Downloads)
}

func fetchTaskOver(t *testing.T, h *apitest.FileHarness, id string, records upkeep.DownloadRecords) error {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(time.Minute) // three seconds otherwise
	x := &upkeep.Downloads{
		Records: records, Assets: h.Assets, Find: h.Find, Bus: silentBus{}, Log: slog.New(slog.DiscardHandler),
		Fetch: h.Sources.Sources(outbound.Bounds{Bytes: 100}, h.Sources.Allow...),
		Fits:  func(context.Context, string, int64) error { return nil },
	}
	env.RegisterActivity(x.FetchDownload)
	_, err := env.ExecuteActivity(x.FetchDownload, task.Ref{Task: task.ID(id), Account: "a"})
	return err
}

func TestLibraryDownloadBecomesAnAsset(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{MaxUpload: 100})
	var served atomic.Int64
	from := h.Source(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		if r.Method == http.MethodGet && r.URL.Query().Get("token") == "1" {
			served.Add(1)
			_, _ = w.Write([]byte("meow"))
		}
	})
	body := `{"source_url":"` + from + `/dir/cat.png?token=1","tags":["input","pet"],"user_metadata":{"a":1}}`
	task := library(t, h, http.StatusAccepted, "POST", "/api/assets/download", body)
	require.Equal(t, "created", task["status"])
	id, _ := task["task_id"].(string)
	require.Equal(t, id, library(t, h, http.StatusAccepted, "POST", "/api/assets/download", body)["task_id"], "an equal request joins it")
	seen := library(t, h, http.StatusOK, "GET", "/api/tasks/"+id, "")
	require.Equal(t, "task:download", seen["task_name"])
	require.NotContains(t, fmt.Sprint(task, seen), "token", "the query of an address may be a credential")
	require.Zero(t, served.Load(), "nothing is fetched before the task runs")

	require.NoError(t, fetchTask(t, h, id))
	done := library(t, h, http.StatusOK, "GET", "/tasks/"+strings.ToUpper(id), "")
	require.Equal(t, "completed", done["status"])
	result, _ := done["result"].(map[string]any)
	require.EqualValues(t, 4, result["bytes_downloaded"])
	made, _ := result["asset_id"].(string)
	a := library(t, h, http.StatusOK, "GET", "/api/assets/"+made, "")
	require.Equal(t, apitest.HashOf("meow"), a["hash"])
	require.Equal(t, "image/png", a["mime_type"])
	require.Equal(t, "cat.png", a["name"])
	require.Equal(t, []any{"input", "pet"}, a["tags"])
	require.Equal(t, map[string]any{"a": 1.0}, a["user_metadata"])

	require.NoError(t, fetchTask(t, h, id), "an attempt after the end changes nothing")
	require.EqualValues(t, 1, served.Load())
	libraryAs(t, h, "key-b", http.StatusNotFound, "GET", "/api/tasks/"+id, "")
}

// lostEnd are records whose connection breaks when the download ends.
type lostEnd struct{ upkeep.DownloadRecords }

func (lostEnd) Complete(context.Context, task.Ref, download.CompletedV1) error {
	return context.DeadlineExceeded
}

func TestRepeatedAttemptOfADownloadMakesOneAsset(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{MaxUpload: 100})
	from := h.Source(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("once")) })
	task := library(t, h, http.StatusAccepted, "POST", "/api/assets/download", `{"source_url":"`+from+`/a.bin"}`)
	id, _ := task["task_id"].(string)
	require.Error(t, fetchTaskOver(t, h, id, lostEnd{h.Downloads}))
	require.Equal(t, "running", library(t, h, http.StatusOK, "GET", "/api/tasks/"+id, "")["status"])
	require.NoError(t, fetchTask(t, h, id))
	require.Equal(t, "completed", library(t, h, http.StatusOK, "GET", "/api/tasks/"+id, "")["status"])
	require.Equal(t, []string{"a.bin"}, named(t, library(t, h, http.StatusOK, "GET", "/assets", "")))
}

func TestLibraryDownloadRefusesWhatIsKnownToFail(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{MaxUpload: 100})
	var gone atomic.Bool
	from := h.Source(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/large":
			w.Header().Set("Content-Length", "101")
			if r.Method == http.MethodGet {
				_, _ = w.Write(make([]byte, 101))
			}
		case r.URL.Path == "/none", gone.Load():
			http.NotFound(w, r)
		case r.URL.Path == "/broken":
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	for address, code := range map[string]string{
		"": "INVALID_URL", "x": "INVALID_URL_FORMAT", "https://a:b@example.com/x": "INVALID_URL_FORMAT",
		"https://127.0.0.1:1/x": "UNSUPPORTED_SOURCE", from + "/none": "RESOURCE_NOT_FOUND",
	} {
		require.Equal(t, code, library(t, h, http.StatusBadRequest, "POST", "/api/assets/download", `{"source_url":"`+address+`"}`)["code"],
			address)
	}
	library(t, h, http.StatusRequestEntityTooLarge, "POST", "/api/assets/download", `{"source_url":"`+from+`/large"}`)

	// A source that fails for the moment is asked again by the task; one that is gone by then ends it.
	broken, _ := library(t, h, http.StatusAccepted, "POST", "/api/assets/download", `{"source_url":"`+from+`/broken"}`)["task_id"].(string)
	require.Error(t, fetchTask(t, h, broken), "a later attempt may succeed")
	waits := library(t, h, http.StatusOK, "GET", "/api/tasks/"+broken, "")
	require.Equal(t, "running", waits["status"])
	require.Equal(t, map[string]any{
		"bytes_total": 0.0, "bytes_downloaded": 0.0, "progress": 0.0, "error": "the source answered with status 502",
	}, waits["progress"])
	gone.Store(true)
	require.NoError(t, fetchTask(t, h, broken))
	failed := library(t, h, http.StatusOK, "GET", "/api/tasks/"+broken, "")
	require.Equal(t, "failed", failed["status"])
	require.Equal(t, "RESOURCE_NOT_FOUND", failed["result"].(map[string]any)["error_code"])
	require.Empty(t, named(t, library(t, h, http.StatusOK, "GET", "/assets", "")), "what failed left nothing")
}

func TestLibraryImportKnowsFilesOfTheAccount(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	mine, _ := shelve(t, h, "a.png", "a")["id"].(string)
	got := library(t, h, http.StatusOK, "POST", "/api/assets/import", `{"published_asset_ids":["`+mine+`"]}`)["assets"].([]any)
	require.Len(t, got, 1)
	require.Equal(t, mine, got[0].(map[string]any)["id"])
	require.Equal(t, true, got[0].(map[string]any)["in_library"])
	libraryAs(t, h, "key-b", http.StatusNotFound, "POST", "/api/assets/import", `{"published_asset_ids":["`+mine+`"]}`)
	library(t, h, http.StatusBadRequest, "POST", "/api/assets/import", `{"published_asset_ids":[]}`)
}

func TestRemoteMetadataShowsASmallPicture(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{MaxUpload: 100})
	from := h.Source(t, func(w http.ResponseWriter, r *http.Request) {
		kinds := map[string]string{"/cat.png": "image/png; q=1", "/text": "text/plain", "/odd": "image/png\" onerror=\"x"}
		w.Header().Set("Content-Type", kinds[r.URL.Path])
		w.Header().Set("Content-Length", "4")
		if r.Method == http.MethodGet {
			_, _ = w.Write([]byte("meow"))
		}
	})
	require.Equal(t, "data:image/png;base64,bWVvdw==",
		library(t, h, http.StatusOK, "GET", "/api/assets/remote-metadata?url="+from+"/cat.png", "")["preview_image"])
	for _, path := range []string{"/text", "/odd"} {
		require.NotContains(t, library(t, h, http.StatusOK, "GET", "/api/assets/remote-metadata?url="+from+path, ""), "preview_image", path)
	}
}
