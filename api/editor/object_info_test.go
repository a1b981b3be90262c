package api_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// inputs are the input files of accounts.
type inputs struct {
	mu    sync.Mutex
	names map[string][]string
}

func (i *inputs) add(owner, name string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.names[owner] = append(i.names[owner], name)
}

func (i *inputs) ForAccount(owner string) node.Files { return inputsOf{i, owner} }

type inputsOf struct {
	*inputs
	owner string
}

func (i inputsOf) List(context.Context, node.Folder, int) ([]string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string{}, i.names[i.owner]...), nil
}

func (inputsOf) Open(context.Context, string) (node.Content, error) { panic("not asked") }
func (inputsOf) Stat(context.Context, string) (node.Info, error)    { panic("not asked") }
func (inputsOf) Save(context.Context, node.Save, func(io.Writer) error) (node.File, error) {
	panic("not asked")
}

func run(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil }

func startClasses(t *testing.T) (*harness, *inputs) {
	classes, err := node.NewRegistry(
		&node.Class{Name: "Zoom", Run: run, Inputs: []node.Input{{Name: "factor", Type: node.Int}}, Outputs: []node.Output{{Type: node.Int}}},
		&node.Class{Name: "LoadImage", Run: run, Inputs: []node.Input{{Name: "image", Type: node.Combo, Folder: node.FolderInput}}},
	)
	require.NoError(t, err)
	files := &inputs{names: map[string][]string{}}
	return startWith(t, api.Options{Mode: account.ModeKeys}, func(d *api.Deps) { d.Classes, d.NodeFiles = classes, files }), files
}

func TestObjectInfoOffersTheCallersFiles(t *testing.T) {
	t.Parallel()
	h, files := startClasses(t)
	files.add("a", "mine.png")
	for _, path := range []string{"/object_info", "/api/object_info"} {
		got := h.do(t, "GET", path, "", "X-API-Key", "key-a")
		require.Equal(t, http.StatusOK, got.status)
		require.True(t, strings.HasPrefix(got.body, `{"Zoom":`), "in the registry's order")
		require.Contains(t, got.body, `"required":{"image":[["mine.png"],{}]}`)
	}
	require.NotContains(t, h.do(t, "GET", "/object_info", "", "X-API-Key", "key-b").body, "mine.png")
	files.add("a", "second.png")
	require.Contains(t, h.do(t, "GET", "/object_info", "", "X-API-Key", "key-a").body, `["mine.png","second.png"]`)
}

func TestObjectInfoOfOneClass(t *testing.T) {
	t.Parallel()
	h, files := startClasses(t)
	files.add("a", "mine.png")
	one := h.do(t, "GET", "/api/object_info/LoadImage", "", "X-API-Key", "key-a").json(t)
	require.Len(t, one, 1)
	require.Contains(t, one, "LoadImage")
	require.JSONEq(t, `{}`, h.do(t, "GET", "/object_info/Nothing", "", "X-API-Key", "key-a").body)
	require.Equal(t, http.StatusUnauthorized, h.do(t, "GET", "/object_info", "").status)
}

func TestObjectInfoIsCompressedAndRevalidated(t *testing.T) {
	t.Parallel()
	h, files := startClasses(t)
	plain := h.do(t, "GET", "/object_info", "", "X-API-Key", "key-a", "Accept-Encoding", "identity")
	require.Empty(t, plain.header.Get("Content-Encoding"))
	zipped := h.do(t, "GET", "/object_info", "", "X-API-Key", "key-a", "Accept-Encoding", "br, gzip;q=0.8")
	require.Equal(t, "gzip", zipped.header.Get("Content-Encoding"))
	r, err := gzip.NewReader(strings.NewReader(zipped.body))
	require.NoError(t, err)
	raw, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, plain.body, string(raw))
	require.True(t, json.Valid(raw))

	etag := plain.header.Get("ETag")
	require.NotEmpty(t, etag)
	again := h.do(t, "GET", "/object_info", "", "X-API-Key", "key-a", "If-None-Match", `"other", W/`+etag)
	require.Equal(t, http.StatusNotModified, again.status)
	require.Empty(t, again.body)
	files.add("a", "new.png")
	require.Equal(t, http.StatusOK, h.do(t, "GET", "/object_info", "", "X-API-Key", "key-a", "If-None-Match", etag).status)
}

// noFiles holds no file under any name.
type noFiles struct{ inputsOf }

func (noFiles) Stat(context.Context, string) (node.Info, error) { return node.Info{}, absent() }

func (noFiles) Open(context.Context, string) (node.Content, error) { return nil, absent() }

func absent() error { return fault.New(fault.NotFound, fault.CodeNotFound, "there is no such file") }
