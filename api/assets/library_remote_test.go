package assets_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
)

func TestLibraryFilesAreFetched(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{MaxUpload: 100})
	from := h.Source(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/dir/cat.png":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write([]byte("meow"))
		case "/moved":
			http.Redirect(w, r, "/dir/cat.png", http.StatusFound)
		case "/named":
			w.Header().Set("Content-Disposition", `attachment; filename="other.bin"`)
		case "/get-only":
			if r.Method == http.MethodHead {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			w.Header().Set("Content-Range", "bytes 0-0/77")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write([]byte("x"))
		case "/large":
			_, _ = w.Write(make([]byte, 101))
		case "/inside":
			http.Redirect(w, r, "http://127.0.0.1:1/secret", http.StatusFound)
		case "/secret":
			w.WriteHeader(http.StatusUnauthorized)
		case "/private":
			w.WriteHeader(http.StatusForbidden)
		case "/broken":
			w.WriteHeader(http.StatusBadGateway)
		case "/untouched\x00":
			t.Error("a file was fetched although its name cannot be kept")
		default:
			http.NotFound(w, r)
		}
	})
	a := library(t, h, http.StatusCreated, "POST", "/api/assets",
		`{"url":"`+from+`/moved","name":"cat.png","tags":["input","pet"],"user_metadata":{"a":1}}`)
	require.Equal(t, apitest.HashOf("meow"), a["hash"])
	require.Equal(t, "image/png", a["mime_type"])
	require.Equal(t, []any{"input", "pet"}, a["tags"])
	require.Equal(t, "cat.png", a["loader_path"])
	require.Equal(t, a["id"], library(t, h, http.StatusOK, "POST", "/assets",
		`{"source_url":"`+from+`/dir/cat.png","tags":["pet"],"user_metadata":{"a":1}}`)["id"])

	about := library(t, h, http.StatusOK, "GET", "/api/assets/remote-metadata?url="+url.QueryEscape(from+"/moved"), "")
	require.EqualValues(t, 4, about["content_length"])
	require.Equal(t, from+"/dir/cat.png", about["final_url"])
	require.Equal(t, "cat.png", about["filename"])
	require.Equal(t, "image/png", about["content_type"])
	require.Equal(t, "other.bin", library(t, h, http.StatusOK, "GET", "/assets/remote-metadata?url="+url.QueryEscape(from+"/named"),
		"")["filename"])
	require.EqualValues(t, 77, library(t, h, http.StatusOK, "GET", "/assets/remote-metadata?url="+url.QueryEscape(from+"/get-only"),
		"")["content_length"])
	large := library(t, h, http.StatusOK, "GET", "/assets/remote-metadata?url="+url.QueryEscape(from+"/large"), "")
	require.Equal(t, false, large["validation"].(map[string]any)["is_valid"])

	for address, code := range map[string]string{
		"": "INVALID_URL", "x": "INVALID_URL_FORMAT", "file:///etc/passwd": "INVALID_URL_FORMAT",
		"https://a:b@example.com/x": "INVALID_URL_FORMAT",
		"https://127.0.0.1:1/x":     "UNSUPPORTED_SOURCE", "http://example.com/x": "UNSUPPORTED_SOURCE", from + "/inside": "UNSUPPORTED_SOURCE",
		from + "/none": "RESOURCE_NOT_FOUND", from + "/secret": "UNAUTHORIZED_SOURCE", from + "/private": "ACCESS_FORBIDDEN",
		from + "/broken": "SOURCE_SERVER_ERROR",
	} {
		body, err := json.Marshal(map[string]string{"url": address})
		require.NoError(t, err)
		require.Equal(t, code, library(t, h, http.StatusBadRequest, "POST", "/api/assets", string(body))["code"], address)
		require.Equal(t, code, library(t, h, http.StatusBadRequest, "GET", "/api/assets/remote-metadata?url="+url.QueryEscape(address),
			"")["code"], address)
	}
	library(t, h, http.StatusRequestEntityTooLarge, "POST", "/api/assets", `{"url":"`+from+`/large"}`)
	library(t, h, http.StatusBadRequest, "POST", "/api/assets", `{"url":"`+from+`/untouched%00"}`)
	require.Equal(t, []string{"cat.png"}, named(t, library(t, h, http.StatusOK, "GET", "/assets", "")), "what failed left nothing")
}
