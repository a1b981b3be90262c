package editor_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

func run(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil }

func startClasses(t *testing.T) (*apitest.Harness, *apitest.Inputs) {
	classes, err := node.NewRegistry(
		&node.Class{Name: "Zoom", Run: run, Inputs: []node.Input{{Name: "factor", Type: node.Int}}, Outputs: []node.Output{{Type: node.Int}}},
		&node.Class{Name: "LoadImage", Run: run, Inputs: []node.Input{{Name: "image", Type: node.Combo, Folder: node.FolderInput}}},
	)
	require.NoError(t, err)
	files := &apitest.Inputs{Names: map[string][]string{}}
	return apitest.StartWith(t, apitest.Options{Mode: account.ModeKeys}, func(d *apitest.Deps) { d.Classes, d.NodeFiles = classes, files }),
		files
}

func TestObjectInfoOffersTheCallersFiles(t *testing.T) {
	t.Parallel()
	h, files := startClasses(t)
	files.Add("a", "mine.png")
	for _, path := range []string{"/object_info", "/api/object_info"} {
		got := h.Do(t, "GET", path, "", "X-API-Key", "key-a")
		require.Equal(t, http.StatusOK, got.Status)
		require.True(t, strings.HasPrefix(got.Body, `{"Zoom":`), "in the registry's order")
		require.Contains(t, got.Body, `"required":{"image":[["mine.png"],{}]}`)
	}
	require.NotContains(t, h.Do(t, "GET", "/object_info", "", "X-API-Key", "key-b").Body, "mine.png")
	files.Add("a", "second.png")
	require.Contains(t, h.Do(t, "GET", "/object_info", "", "X-API-Key", "key-a").Body, `["mine.png","second.png"]`)
}

func TestObjectInfoOfOneClass(t *testing.T) {
	t.Parallel()
	h, files := startClasses(t)
	files.Add("a", "mine.png")
	one := h.Do(t, "GET", "/api/object_info/LoadImage", "", "X-API-Key", "key-a").JSON(t)
	require.Len(t, one, 1)
	require.Contains(t, one, "LoadImage")
	require.JSONEq(t, `{}`, h.Do(t, "GET", "/object_info/Nothing", "", "X-API-Key", "key-a").Body)
	require.Equal(t, http.StatusUnauthorized, h.Do(t, "GET", "/object_info", "").Status)
}

func TestObjectInfoIsCompressedAndRevalidated(t *testing.T) {
	t.Parallel()
	h, files := startClasses(t)
	plain := h.Do(t, "GET", "/object_info", "", "X-API-Key", "key-a", "Accept-Encoding", "identity")
	require.Empty(t, plain.Header.Get("Content-Encoding"))
	zipped := h.Do(t, "GET", "/object_info", "", "X-API-Key", "key-a", "Accept-Encoding", "br, gzip;q=0.8")
	require.Equal(t, "gzip", zipped.Header.Get("Content-Encoding"))
	r, err := gzip.NewReader(strings.NewReader(zipped.Body))
	require.NoError(t, err)
	raw, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, plain.Body, string(raw))
	require.True(t, json.Valid(raw))

	etag := plain.Header.Get("ETag")
	require.NotEmpty(t, etag)
	again := h.Do(t, "GET", "/object_info", "", "X-API-Key", "key-a", "If-None-Match", `"other", W/`+etag)
	require.Equal(t, http.StatusNotModified, again.Status)
	require.Empty(t, again.Body)
	files.Add("a", "new.png")
	require.Equal(t, http.StatusOK, h.Do(t, "GET", "/object_info", "", "X-API-Key", "key-a", "If-None-Match", etag).Status)
}
