package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/api/media"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/storage/blob/mem"
)

// library sends a request of the account of key-a and returns the answer, which must have that status.
func (h *fileHarness) library(t *testing.T, status int, method, target, body string) map[string]any {
	t.Helper()
	return h.libraryAs(t, "key-a", status, method, target, body)
}

func (h *fileHarness) libraryAs(t *testing.T, key string, status int, method, target, body string) map[string]any {
	t.Helper()
	req := h.request(t, method, target, key, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	res := h.do(t, req)
	require.Equal(t, status, res.status, "%s %s: %s", method, target, res.body)
	if len(res.body) == 0 {
		return nil
	}
	return res.json(t)
}

// shelve uploads a file to the library and returns its asset.
func (h *fileHarness) shelve(t *testing.T, name, data string, parts ...part) map[string]any {
	t.Helper()
	res := h.post(t, "/api/assets", "key-a", append(parts, part{"file", name, data})...)
	require.Equal(t, http.StatusCreated, res.status, res.body)
	return res.json(t)
}

// named lists what the files of an answer are called.
func named(t *testing.T, body map[string]any) []string {
	t.Helper()
	names := []string{}
	for _, a := range body["assets"].([]any) {
		names = append(names, a.(map[string]any)["name"].(string))
	}
	return names
}

func at(a map[string]any) string { return "/api/assets/" + a["id"].(string) }

func TestALibraryFileIsMadeReadAndDeleted(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	a := h.shelve(t, "photo.png", "bytes", part{"tags", "", `["input","pet"]`}, part{"user_metadata", "", `{"rating": 5}`})
	require.Equal(t, "photo.png", a["name"])
	require.Equal(t, hashOf("bytes"), a["hash"])
	require.Equal(t, a["hash"], a["asset_hash"])
	require.Equal(t, []any{"input", "pet"}, a["tags"])
	require.Equal(t, "photo.png", a["loader_path"])
	require.Equal(t, "image/png", a["mime_type"])
	require.Equal(t, map[string]any{"rating": 5.0}, a["user_metadata"])
	require.Equal(t, true, a["created_new"])
	delete(a, "created_new")
	require.Equal(t, a, h.library(t, http.StatusOK, "GET", at(a), ""))
	require.Equal(t, a, h.library(t, http.StatusOK, "GET", "/assets/"+strings.ToUpper(a["id"].(string)), ""), "without the prefix, in upper case")

	content := h.get(t, at(a)+"/content", "key-a")
	require.Equal(t, "bytes", content.body)
	require.Contains(t, content.header.Get("Content-Disposition"), "attachment")
	require.Contains(t, h.get(t, at(a)+"/content?disposition=inline", "key-a").header.Get("Content-Disposition"), "inline")
	require.Equal(t, "bytes", h.get(t, h.url+a["preview_url"].(string), "").body, "a link that needs no credential")
	require.Equal(t, http.StatusFound, h.get(t, "/api/view?filename=photo.png&type=input", "key-a").status, "graphs find it by its name")
	require.Equal(t, http.StatusOK, h.bearer(t, "GET", "/api/v2/assets/"+a["id"].(string), "").status, "it is an asset of v2")

	require.Equal(t, http.StatusOK, h.get(t, "/api/features", "").status)
	require.Equal(t, true, h.get(t, "/api/features", "").json(t)["assets"])
	other := h.get(t, at(a), "key-b")
	require.Equal(t, http.StatusNotFound, other.status)
	require.Equal(t, "not_found", other.json(t)["code"], "in the envelope of this surface")
	h.library(t, http.StatusNoContent, "DELETE", at(a), "")
	h.library(t, http.StatusNotFound, "DELETE", at(a), "")
	h.library(t, http.StatusNotFound, "GET", at(a), "")
	require.Equal(t, http.StatusNotFound, h.get(t, h.url+a["preview_url"].(string), "").status)
}

func TestTheSameLibraryFileIsNotMadeTwice(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	a := h.shelve(t, "a.png", "x", part{"tags", "", "pet, big"})
	again := h.post(t, "/api/assets", "key-a", part{"file", "a.png", "x"}, part{"tags", "", "big"}, part{"tags", "", "pet"})
	require.Equal(t, http.StatusOK, again.status, "whatever the order of parts and tags")
	require.Equal(t, a["id"], again.json(t)["id"])
	require.Equal(t, false, again.json(t)["created_new"])
	for name, parts := range map[string][]part{
		"another name": {{"file", "b.png", "x"}, {"tags", "", "pet,big"}}, "other tags": {{"file", "a.png", "x"}, {"tags", "", "pet"}},
		"metadata":      {{"file", "a.png", "x"}, {"tags", "", "pet,big"}, {"user_metadata", "", `{"a":1}`}},
		"another title": {{"file", "a.png", "x"}, {"tags", "", "pet,big"}, {"name", "", "Title"}},
		"another type":  {{"file", "a.png", "x"}, {"tags", "", "pet,big"}, {"mime_type", "", "image/gif"}},
	} {
		res := h.post(t, "/api/assets", "key-a", parts...)
		require.Equal(t, http.StatusCreated, res.status, name)
		require.NotEqual(t, a["id"], res.json(t)["id"], name)
	}

	id := uuid.NewString()
	mine := h.shelve(t, "c.png", "y", part{"id", "", id})
	require.Equal(t, id, mine["id"])
	repeated := h.post(t, "/api/assets", "key-a", part{"file", "c.png", "y"}, part{"id", "", id})
	require.Equal(t, http.StatusOK, repeated.status)
	require.Equal(t, id, repeated.json(t)["id"])
	theirs := h.post(t, "/api/assets", "key-b", part{"file", "c.png", "y"}, part{"id", "", id})
	require.Equal(t, http.StatusCreated, theirs.status, "an id is unique within an account: %s", theirs.body)
	require.Equal(t, id, theirs.json(t)["id"])
	h.library(t, http.StatusNoContent, "DELETE", at(mine), "")
	ended := h.post(t, "/api/assets", "key-a", part{"file", "c.png", "z"}, part{"id", "", id})
	require.Equal(t, http.StatusConflict, ended.status, "an id names one file for ever")
	derived := uuid.NewSHA1(uuid.NameSpaceOID, []byte("x")).String()
	require.Equal(t, http.StatusBadRequest, h.post(t, "/api/assets", "key-a", part{"file", "d", "d"}, part{"id", "", derived}).status)
}

func TestLibraryFilesAreMadeOfHashes(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	a := h.shelve(t, "a.png", "x")
	body := fmt.Sprintf(`{"hash":%q,"name":"copy.png","tags":["input","again"],"user_metadata":{"k":"v"}}`, a["hash"])
	made := h.library(t, http.StatusCreated, "POST", "/api/assets/from-hash", body)
	require.Equal(t, "image/png", made["mime_type"])
	require.Equal(t, []any{"input", "again"}, made["tags"])
	require.Equal(t, "copy.png", made["loader_path"])
	same := h.library(t, http.StatusOK, "POST", "/assets/from-hash", body)
	require.Equal(t, made["id"], same["id"])
	onlyHash := h.post(t, "/api/assets", "key-a", part{"hash", "", a["hash"].(string)}, part{"name", "", "third.png"})
	require.Equal(t, http.StatusCreated, onlyHash.status, onlyHash.body)

	for target, want := range map[string]int{
		"/api/assets/hash/" + a["hash"].(string):                 http.StatusOK,
		"/api/assets/hash/" + url.PathEscape(a["hash"].(string)): http.StatusOK,
		"/api/assets/hash/blake3:" + strings.Repeat("1", 64):     http.StatusNotFound,
		"/api/assets/hash/sha256:" + strings.Repeat("1", 64):     http.StatusNotFound,
		"/api/assets/hash/md5:" + strings.Repeat("1", 64):        http.StatusBadRequest,
	} {
		require.Equal(t, want, h.do(t, h.request(t, http.MethodHead, target, "key-a", nil)).status, target)
	}
	require.Equal(t, http.StatusNotFound, h.do(t, h.request(t, http.MethodHead, "/api/assets/hash/"+a["hash"].(string), "key-b", nil)).status)
	for bad, status := range map[string]int{
		fmt.Sprintf(`{"hash":%q}`, a["hash"]):                            http.StatusBadRequest, // no tags
		`{"hash":"blake3:zz","tags":["a"]}`:                              http.StatusBadRequest,
		`{"hash":"sha256:` + strings.Repeat("0", 64) + `","tags":["a"]}`: http.StatusNotFound,
		`{"hash":"blake3:` + strings.Repeat("2", 64) + `","tags":["a"]}`: http.StatusNotFound,
		`[]`: http.StatusBadRequest,
	} {
		h.library(t, status, "POST", "/api/assets/from-hash", bad)
	}
}

func TestLibraryFilesAreChanged(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	a := h.shelve(t, "a.png", "x", part{"tags", "", "one,two"})
	thumb := h.shelve(t, "thumb.png", "thumb", part{"tags", "", "output"})
	require.Equal(t, []any{"output"}, thumb["tags"])
	require.Nil(t, thumb["loader_path"], "no name leads to what is uploaded as an output")

	change := fmt.Sprintf(`{"name":"Best","mime_type":"image/webp","user_metadata":{"b":2,"a":1},"preview_id":%q,"tags":["three","two"]}`, thumb["id"])
	b := h.library(t, http.StatusOK, "PUT", at(a), change)
	require.Equal(t, "Best", b["name"])
	require.Equal(t, "image/webp", b["mime_type"])
	require.Equal(t, map[string]any{"a": 1.0, "b": 2.0}, b["user_metadata"])
	require.Equal(t, []any{"input", "three", "two"}, b["tags"])
	require.Equal(t, thumb["id"], b["preview_id"])
	require.Equal(t, "thumb", h.get(t, h.url+b["preview_url"].(string), "").body)
	require.Equal(t, "a.png", b["loader_path"], "graphs find it as before")
	require.Equal(t, b, h.library(t, http.StatusOK, "GET", at(a), ""))
	require.Equal(t, b, h.library(t, http.StatusOK, "PUT", at(a), change), "twice is once")
	require.Contains(t, h.get(t, at(a)+"/content", "key-a").header.Get("Content-Disposition"), "Best")
	v2 := h.bearer(t, "GET", "/api/v2/assets?tag=three", "").json(t)["assets"].([]any)
	require.Len(t, v2, 1)
	require.Equal(t, []any{"three", "two"}, v2[0].(map[string]any)["tags"], "the owner's tags, on both surfaces")

	cleared := h.library(t, http.StatusOK, "PUT", at(a), `{"user_metadata":{},"preview_id":""}`)
	require.Equal(t, map[string]any{}, cleared["user_metadata"])
	require.Nil(t, cleared["preview_id"])
	for bad, code := range map[string]string{
		`{}`: "invalid_request", `{"name":""}`: "invalid_request", `{"name":"a\u0000"}`: "invalid_request", `{"mime_type":"x"}`: "invalid_request",
		`{"user_metadata":[]}`: "invalid_metadata", `{"user_metadata":{"a":"\u0000"}}`: "invalid_metadata",
		`{"preview_id":"x"}`: "invalid_preview", `{"preview_id":"` + uuid.NewString() + `"}`: "invalid_preview", `{"tags":["output"]}`: "protected_tag",
		`{"name":"` + strings.Repeat("x", 600) + `"}`: "invalid_request", `[1]`: "invalid_request",
	} {
		require.Equal(t, code, h.library(t, http.StatusBadRequest, "PUT", at(a), bad)["code"], bad)
	}
	res := h.do(t, h.request(t, http.MethodPut, at(a), "key-b", strings.NewReader(`{"name":"mine"}`)))
	require.Equal(t, http.StatusNotFound, res.status)
}

func TestLibraryTags(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	a := h.shelve(t, "a.png", "x", part{"tags", "", "one"})
	h.shelve(t, "b.png", "y", part{"tags", "", "one,two"})
	require.Equal(t, map[string]any{"added": []any{"new"}, "already_present": []any{"one", "input"}, "total_tags": []any{"input", "new", "one"}},
		h.library(t, http.StatusOK, "POST", at(a)+"/tags", `{"tags":["one"," new ","input"]}`))
	require.Equal(t, map[string]any{"removed": []any{"one"}, "not_present": []any{"none"}, "protected": []any{"input"}, "total_tags": []any{"input", "new"}},
		h.library(t, http.StatusOK, "DELETE", at(a)+"/tags", `{"tags":["one","none","input"]}`))
	require.Equal(t, "protected_tag", h.library(t, http.StatusBadRequest, "POST", at(a)+"/tags", `{"tags":["temp"]}`)["code"])
	for _, bad := range []string{`{}`, `{"tags":[]}`, `{"tags":[" "]}`, `{"tags":"x"}`, `{"tags":["` + strings.Repeat("x", 300) + `"]}`} {
		h.library(t, http.StatusBadRequest, "POST", at(a)+"/tags", bad)
		h.library(t, http.StatusBadRequest, "DELETE", at(a)+"/tags", bad)
	}
	require.JSONEq(t, `{"tags":[{"name":"input","count":2},{"name":"new","count":1},{"name":"one","count":1},{"name":"two","count":1}],"total":4,"has_more":false}`,
		h.get(t, "/api/tags", "key-a").body)
	require.JSONEq(t, `{"tags":[{"name":"one","count":1}],"total":4,"has_more":true}`, h.get(t, "/tags?order=name_asc&limit=1&offset=2&include_zero=true", "key-a").body)
	require.JSONEq(t, `{"tags":[{"name":"two","count":1}],"total":1,"has_more":false}`, h.get(t, "/tags?prefix=t", "key-a").body)
	require.JSONEq(t, `{"tag_counts":{"input":1,"one":1,"two":1}}`, h.get(t, "/api/assets/tags/refine?include_tags=two", "key-a").body)
	require.JSONEq(t, `{"tag_counts":{}}`, h.get(t, "/api/assets/tags/refine", "key-b").body)
	for _, bad := range []string{"/tags?limit=0", "/tags?limit=1001", "/tags?offset=-1", "/tags?order=x", "/tags?prefix=%ff", "/api/assets/tags/refine?limit=9999"} {
		h.library(t, http.StatusBadRequest, "GET", bad, "")
	}
}

func TestTheLibraryIsListedAsEditorsAsk(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	h.shelve(t, "cat.png", "1", part{"tags", "", "input,pet"}, part{"user_metadata", "", `{"rating":5,"who":["ann","bob"]}`})
	h.shelve(t, "dog.png", "333", part{"tags", "", "pet"})
	h.shelve(t, "shown.png", "22", part{"tags", "", "output"})
	model := h.shelve(t, "y.safetensors", "4444", part{"tags", "", `["models","loras","sdxl"]`})
	require.Equal(t, []any{"models", "loras", "sdxl"}, model["tags"])
	require.Equal(t, model["updated_at"], model["last_access_time"], "reads are not recorded")
	require.Equal(t, "y.safetensors", model["loader_path"])
	require.JSONEq(t, `["y.safetensors"]`, h.get(t, "/models/loras", "key-a").body, "nodes of the category load it")
	for query, want := range map[string][]string{
		"include_public=false&limit=100&sort=created_at&tags_any=input&tags_none=missing":         {"dog.png", "cat.png"},
		"include_public=false&limit=100&sort=created_at&tags_any=output%2Ctemp&tags_none=missing": {"shown.png"},
		"include_tags=models,loras&limit=500&exclude_tags=missing":                                {"y.safetensors"},
		"include_tags=models&include_tags=checkpoints":                                            {},
		"include_tags=pet&exclude_tags=input":                                                     {},
		"name_contains=SHOWN":                                                                     {"shown.png"},
		"limit=1&hash=" + hashOf("22"):                                                            {"shown.png"},
		"hash=cat.png":                                                                            {},
		"metadata_filter=" + url.QueryEscape(`{"rating":5}`):                                      {"cat.png"},
		"metadata_filter=" + url.QueryEscape(`{"who":["bob","eve"]}`):                             {"cat.png"},
		"metadata_filter=" + url.QueryEscape(`{"rating":null}`) + "&include_tags=pet":             {"dog.png"},
		"sort=name&order=asc":                                                                     {"cat.png", "dog.png", "shown.png", "y.safetensors"},
		"sort=size":                                                                               {"y.safetensors", "dog.png", "shown.png", "cat.png"},
		"sort=last_access_time&limit=1":                                                           {"y.safetensors"},
		"offset=3":                                                                                {"cat.png"},
	} {
		body := h.library(t, http.StatusOK, "GET", "/api/assets?"+query, "")
		require.Equal(t, want, named(t, body), query)
		if !strings.Contains(query, "limit=1") {
			require.Equal(t, false, body["has_more"], query)
		}
	}
	whole := h.library(t, http.StatusOK, "GET", "/assets", "")
	require.EqualValues(t, 4, whole["total"])
	require.Empty(t, named(t, h.get(t, "/assets", "key-b").json(t)))
	for _, way := range []string{"sort=created_at", "sort=name&order=asc", "sort=size&order=asc", "sort=updated_at"} {
		var walked []string
		after := ""
		for {
			page := h.library(t, http.StatusOK, "GET", "/assets?limit=3&"+way+after, "")
			require.EqualValues(t, 4, page["total"])
			walked = append(walked, named(t, page)...)
			next, more := page["next_cursor"].(string)
			require.Equal(t, more, page["has_more"])
			if after = "&after=" + url.QueryEscape(next); !more {
				break
			}
		}
		require.Equal(t, named(t, h.library(t, http.StatusOK, "GET", "/assets?"+way, "")), walked, way)
	}
}

func TestLibraryListingsRefuse(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	h.shelve(t, "a", "1")
	h.shelve(t, "b", "2")
	cursor := h.library(t, http.StatusOK, "GET", "/assets?limit=1&sort=name", "")["next_cursor"].(string)
	for _, query := range []string{
		"limit=0", "limit=501", "limit=x", "offset=-1", "offset=99999999999", "sort=color", "order=up", "after=x", "after=" + cursor,
		"after=" + cursor + "&sort=name&order=asc", "metadata_filter=x", "metadata_filter=[]", "metadata_filter=" + url.QueryEscape(`{"a":{}}`),
		"metadata_filter=" + url.QueryEscape(`{"a":[]}`), "metadata_filter=" + url.QueryEscape(`{"a":1}x`), "name_contains=%00",
		"metadata_filter=" + url.QueryEscape(`{"a":1e-20000}`), "metadata_filter=" + url.QueryEscape(`{"a":[0e-20000]}`),
		"metadata_filter=" + url.QueryEscape(`{"a":"\u0000"}`), "include_tags=" + strings.Repeat("x", 300), "include_tags=%00", "tags_any=%ff",
		"include_tags=" + strings.Repeat("x,", 150) + "x",
	} {
		body := h.library(t, http.StatusBadRequest, "GET", "/api/assets?"+query, "")
		require.NotEmpty(t, body["code"], query)
		require.NotEmpty(t, body["message"], query)
	}
	h.library(t, http.StatusOK, "GET", "/assets?sort=name&after="+cursor, "")
}

func TestLibraryUploadsRefuse(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{MaxUpload: 100})
	file := part{"file", "a.png", "x"}
	for name, c := range map[string]struct {
		status int
		parts  []part
	}{
		"nothing":               {http.StatusBadRequest, []part{{"name", "", "x"}}},
		"a category is missing": {http.StatusBadRequest, []part{file, {"tags", "", "models"}}},
		"a category with path":  {http.StatusBadRequest, []part{file, {"tags", "", "models,../x"}}},
		"two places":            {http.StatusBadRequest, []part{file, {"tags", "", "input,output"}}},
		"bad tags":              {http.StatusBadRequest, []part{file, {"tags", "", "[1]"}}},
		"bad metadata":          {http.StatusBadRequest, []part{file, {"user_metadata", "", "x"}}},
		"bad type":              {http.StatusBadRequest, []part{file, {"mime_type", "", "x"}}},
		"bad id":                {http.StatusBadRequest, []part{file, {"id", "", "x"}}},
		"bad preview":           {http.StatusBadRequest, []part{file, {"preview_id", "", uuid.NewString()}}},
		"bad hash":              {http.StatusBadRequest, []part{file, {"hash", "", "x"}}},
		"a hash not computed":   {http.StatusBadRequest, []part{file, {"hash", "", "sha256:" + strings.Repeat("1", 64)}}},
		"other bytes":           {http.StatusConflict, []part{file, {"hash", "", hashOf("y")}}},
		"bytes nobody has":      {http.StatusNotFound, []part{{"hash", "", hashOf("z")}, {"name", "", "z"}}},
		"too large":             {http.StatusRequestEntityTooLarge, []part{{"file", "a", strings.Repeat("x", 101)}}},
	} {
		res := h.post(t, "/api/assets", "key-a", c.parts...)
		require.Equal(t, c.status, res.status, "%s: %s", name, res.body)
		require.NotEmpty(t, res.json(t)["code"], name)
	}
	text := h.request(t, http.MethodPost, "/api/assets", "key-a", strings.NewReader("x"))
	text.Header.Set("Content-Type", "text/plain")
	require.Equal(t, http.StatusUnsupportedMediaType, h.do(t, text).status)
	require.EqualValues(t, 0, h.library(t, http.StatusOK, "GET", "/assets", "")["total"], "what was refused left nothing")
	read := h.post(t, "/api/assets", "key-r", file)
	require.Contains(t, []int{http.StatusForbidden, http.StatusUnauthorized}, read.status)
}

// A name that a newer file took over leads to that one, which the older file must not claim.
func TestALoaderPathLeadsToItsFile(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	old := h.shelve(t, "same.png", "old")
	fresh := h.shelve(t, "same.png", "new")
	require.Equal(t, "same.png", fresh["loader_path"])
	require.Nil(t, h.library(t, http.StatusOK, "GET", at(old), "")["loader_path"])
	require.Equal(t, "old", h.get(t, at(old)+"/content", "key-a").body)
}

// An editor's page loads its scripts from /assets; this API then stands under /api only, where editors call it.
func TestLibraryRoutesDoNotHideEditorFiles(t *testing.T) {
	t.Parallel()
	h := startWith(t, api.Options{Mode: account.ModeKeys}, func(d *api.Deps) {
		d.Editor = &api.Editor{Files: editorFiles(t), Sealer: testSealer(t)}
		blobs := mem.New()
		d.Files, d.Assets = files.New(nil, blobs, files.Options{}), asset.NewService(recordsOnly{}, blobs, asset.Options{})
		d.AssetView, d.Keys, d.Grants = recordsOnly{}, recordsOnly{}, struct{ media.Grants }{}
	})
	for target, want := range map[string]int{"/assets/index-B2rHQ9Sn.js": 200, "/assets": 404, "/assets/none.js": 404, "/api/assets": 401, "/tags": 401} {
		require.Equal(t, want, h.do(t, "GET", target, "").status, target)
	}
	require.Equal(t, http.StatusOK, h.do(t, "HEAD", "/assets/index-B2rHQ9Sn.js", "").status)
	require.Equal(t, http.StatusNotFound, h.do(t, "POST", "/assets/index-B2rHQ9Sn.js", "").status)
	require.Equal(t, http.StatusUnauthorized, h.do(t, "GET", "/api/assets/"+uuid.NewString(), "").status)
}
