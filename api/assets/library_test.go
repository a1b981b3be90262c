package assets_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
)

// A null among tags is refused, and takes none away.
func TestANullTagIsRefused(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	a := shelve(t, h, "a.png", "x", apitest.Field("tags", "pet"))
	for _, body := range []string{`{"tags":[null]}`, `{"tags":["a",null]}`} {
		library(t, h, http.StatusBadRequest, "PUT", at(a), body)
		library(t, h, http.StatusBadRequest, "POST", at(a)+"/tags", body)
	}
	require.Equal(t, []any{"input", "pet"}, library(t, h, http.StatusOK, "GET", at(a), "")["tags"])
}

// The last zero bytes of a file are a range that no file satisfies.
func TestEmptySuffixRangeIsNotSatisfiable(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	a := shelve(t, h, "a.png", "0123456789")
	for header, want := range map[string]int{
		"bytes=-0": 416, "bytes=-00": 416, "bytes=-1": 206, "bytes=0-0": 206, "bytes=20-": 416,
		"items=-0": 200,
	} {
		res := h.Get(t, at(a)+"/content", "key-a", "Range", header)
		require.Equal(t, want, res.Status, "%s: %s", header, res.Body)
	}
}

// library sends a request of the account of key-a and returns the answer, which must have that status.
func library(t *testing.T, h *apitest.FileHarness, status int, method, target, body string) map[string]any {
	t.Helper()
	return libraryAs(t, h, "key-a", status, method, target, body)
}

func libraryAs(t *testing.T, h *apitest.FileHarness, key string, status int, method, target, body string) map[string]any {
	t.Helper()
	req := h.Request(t, method, target, key, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	res := h.Do(t, req)
	require.Equal(t, status, res.Status, "%s %s: %s", method, target, res.Body)
	if len(res.Body) == 0 {
		return nil
	}
	return res.JSON(t)
}

// shelve uploads a file to the library and returns its asset.
func shelve(t *testing.T, h *apitest.FileHarness, name, data string, parts ...apitest.Part) map[string]any {
	t.Helper()
	res := h.Post(t, "/api/assets", "key-a", append(parts, apitest.File("file", name, data))...)
	require.Equal(t, http.StatusCreated, res.Status, res.Body)
	return res.JSON(t)
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
	h := apitest.StartFiles(t, apitest.Options{})
	a := shelve(t, h, "photo.png", "bytes", apitest.Field("tags", `["input","pet"]`), apitest.Field("user_metadata", `{"rating": 5}`))
	require.Equal(t, "photo.png", a["name"])
	require.Equal(t, apitest.HashOf("bytes"), a["hash"])
	require.Equal(t, a["hash"], a["asset_hash"])
	require.Equal(t, []any{"input", "pet"}, a["tags"])
	require.Equal(t, "photo.png", a["loader_path"])
	require.Equal(t, "image/png", a["mime_type"])
	require.Equal(t, map[string]any{"rating": 5.0}, a["user_metadata"])
	require.Equal(t, true, a["created_new"])
	delete(a, "created_new")
	require.Equal(t, a, library(t, h, http.StatusOK, "GET", at(a), ""))
	require.Equal(t, a, library(t, h, http.StatusOK, "GET", "/assets/"+strings.ToUpper(a["id"].(string)), ""),
		"without the prefix, in upper case")

	content := h.Get(t, at(a)+"/content", "key-a")
	require.Equal(t, "bytes", content.Body)
	require.Contains(t, content.Header.Get("Content-Disposition"), "attachment")
	require.Contains(t, h.Get(t, at(a)+"/content?disposition=inline", "key-a").Header.Get("Content-Disposition"), "inline")
	require.Equal(t, "bytes", h.Get(t, h.URL+a["preview_url"].(string), "").Body, "a link that needs no credential")
	require.Equal(t, http.StatusFound, h.Get(t, "/api/view?filename=photo.png&type=input", "key-a").Status, "graphs find it by its name")
	require.Equal(t, http.StatusOK, h.Bearer(t, "GET", "/api/v2/assets/"+a["id"].(string), "").Status, "it is an asset of v2")

	require.Equal(t, http.StatusOK, h.Get(t, "/api/features", "").Status)
	require.Equal(t, true, h.Get(t, "/api/features", "").JSON(t)["assets"])
	other := h.Get(t, at(a), "key-b")
	require.Equal(t, http.StatusNotFound, other.Status)
	require.Equal(t, "not_found", other.JSON(t)["code"], "in the envelope of this surface")
	library(t, h, http.StatusNoContent, "DELETE", at(a), "")
	library(t, h, http.StatusNotFound, "DELETE", at(a), "")
	library(t, h, http.StatusNotFound, "GET", at(a), "")
	require.Equal(t, http.StatusNotFound, h.Get(t, h.URL+a["preview_url"].(string), "").Status)
}

func TestTheSameLibraryFileIsNotMadeTwice(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	a := shelve(t, h, "a.png", "x", apitest.Field("tags", "pet, big"))
	again := h.Post(t, "/api/assets", "key-a", apitest.File("file", "a.png", "x"), apitest.Field("tags", "big"), apitest.Field("tags", "pet"))
	require.Equal(t, http.StatusOK, again.Status, "whatever the order of parts and tags")
	require.Equal(t, a["id"], again.JSON(t)["id"])
	require.Equal(t, false, again.JSON(t)["created_new"])
	for name, parts := range map[string][]apitest.Part{
		"another name":  {apitest.File("file", "b.png", "x"), apitest.Field("tags", "pet,big")},
		"other tags":    {apitest.File("file", "a.png", "x"), apitest.Field("tags", "pet")},
		"metadata":      {apitest.File("file", "a.png", "x"), apitest.Field("tags", "pet,big"), apitest.Field("user_metadata", `{"a":1}`)},
		"another title": {apitest.File("file", "a.png", "x"), apitest.Field("tags", "pet,big"), apitest.Field("name", "Title")},
		"another type":  {apitest.File("file", "a.png", "x"), apitest.Field("tags", "pet,big"), apitest.Field("mime_type", "image/gif")},
	} {
		res := h.Post(t, "/api/assets", "key-a", parts...)
		require.Equal(t, http.StatusCreated, res.Status, name)
		require.NotEqual(t, a["id"], res.JSON(t)["id"], name)
	}

	id := uuid.NewString()
	mine := shelve(t, h, "c.png", "y", apitest.Field("id", id))
	require.Equal(t, id, mine["id"])
	repeated := h.Post(t, "/api/assets", "key-a", apitest.File("file", "c.png", "y"), apitest.Field("id", id))
	require.Equal(t, http.StatusOK, repeated.Status)
	require.Equal(t, id, repeated.JSON(t)["id"])
	theirs := h.Post(t, "/api/assets", "key-b", apitest.File("file", "c.png", "y"), apitest.Field("id", id))
	require.Equal(t, http.StatusCreated, theirs.Status, "an id is unique within an account: %s", theirs.Body)
	require.Equal(t, id, theirs.JSON(t)["id"])
	library(t, h, http.StatusNoContent, "DELETE", at(mine), "")
	ended := h.Post(t, "/api/assets", "key-a", apitest.File("file", "c.png", "z"), apitest.Field("id", id))
	require.Equal(t, http.StatusConflict, ended.Status, "an id names one file for ever")
	derived := uuid.NewSHA1(uuid.NameSpaceOID, []byte("x")).String()
	require.Equal(t, http.StatusBadRequest, h.Post(t, "/api/assets", "key-a", apitest.File("file", "d", "d"),
		apitest.Field("id", derived)).Status)
}

func TestLibraryFilesAreMadeOfHashes(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	a := shelve(t, h, "a.png", "x")
	body := fmt.Sprintf(`{"hash":%q,"name":"copy.png","tags":["input","again"],"user_metadata":{"k":"v"}}`, a["hash"])
	made := library(t, h, http.StatusCreated, "POST", "/api/assets/from-hash", body)
	require.Equal(t, "image/png", made["mime_type"])
	require.Equal(t, []any{"input", "again"}, made["tags"])
	require.Equal(t, "copy.png", made["loader_path"])
	same := library(t, h, http.StatusOK, "POST", "/assets/from-hash", body)
	require.Equal(t, made["id"], same["id"])
	onlyHash := h.Post(t, "/api/assets", "key-a", apitest.Field("hash", a["hash"].(string)), apitest.Field("name", "third.png"))
	require.Equal(t, http.StatusCreated, onlyHash.Status, onlyHash.Body)

	for target, want := range map[string]int{
		"/api/assets/hash/" + a["hash"].(string):                 http.StatusOK,
		"/api/assets/hash/" + url.PathEscape(a["hash"].(string)): http.StatusOK,
		"/api/assets/hash/blake3:" + strings.Repeat("1", 64):     http.StatusNotFound,
		"/api/assets/hash/sha256:" + strings.Repeat("1", 64):     http.StatusNotFound,
		"/api/assets/hash/md5:" + strings.Repeat("1", 64):        http.StatusBadRequest,
	} {
		require.Equal(t, want, h.Do(t, h.Request(t, http.MethodHead, target, "key-a", nil)).Status, target)
	}
	require.Equal(t, http.StatusNotFound, h.Do(t, h.Request(t, http.MethodHead, "/api/assets/hash/"+a["hash"].(string), "key-b", nil)).Status)
	for bad, status := range map[string]int{
		fmt.Sprintf(`{"hash":%q}`, a["hash"]):                            http.StatusBadRequest, // no tags
		`{"hash":"blake3:zz","tags":["a"]}`:                              http.StatusBadRequest,
		`{"hash":"sha256:` + strings.Repeat("0", 64) + `","tags":["a"]}`: http.StatusNotFound,
		`{"hash":"blake3:` + strings.Repeat("2", 64) + `","tags":["a"]}`: http.StatusNotFound,
		`[]`: http.StatusBadRequest,
	} {
		library(t, h, status, "POST", "/api/assets/from-hash", bad)
	}
}

func TestLibraryFilesAreChanged(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	a := shelve(t, h, "a.png", "x", apitest.Field("tags", "one,two"))
	thumb := shelve(t, h, "thumb.png", "thumb", apitest.Field("tags", "output"))
	require.Equal(t, []any{"output"}, thumb["tags"])
	require.Nil(t, thumb["loader_path"], "no name leads to what is uploaded as an output")

	change := fmt.Sprintf(`{"name":"Best","mime_type":"image/webp","user_metadata":{"b":2,"a":1},"preview_id":%q,"tags":["three","two"]}`,
		thumb["id"])
	b := library(t, h, http.StatusOK, "PUT", at(a), change)
	require.Equal(t, "Best", b["name"])
	require.Equal(t, "image/webp", b["mime_type"])
	require.Equal(t, map[string]any{"a": 1.0, "b": 2.0}, b["user_metadata"])
	require.Equal(t, []any{"input", "three", "two"}, b["tags"])
	require.Equal(t, thumb["id"], b["preview_id"])
	require.Equal(t, "thumb", h.Get(t, h.URL+b["preview_url"].(string), "").Body)
	require.Equal(t, "a.png", b["loader_path"], "graphs find it as before")
	require.Equal(t, b, library(t, h, http.StatusOK, "GET", at(a), ""))
	require.Equal(t, b, library(t, h, http.StatusOK, "PUT", at(a), change), "twice is once")
	require.Contains(t, h.Get(t, at(a)+"/content", "key-a").Header.Get("Content-Disposition"), "Best")
	v2 := h.Bearer(t, "GET", "/api/v2/assets?tag=three", "").JSON(t)["assets"].([]any)
	require.Len(t, v2, 1)
	require.Equal(t, []any{"three", "two"}, v2[0].(map[string]any)["tags"], "the owner's tags, on both surfaces")

	cleared := library(t, h, http.StatusOK, "PUT", at(a), `{"user_metadata":{},"preview_id":""}`)
	require.Equal(t, map[string]any{}, cleared["user_metadata"])
	require.Nil(t, cleared["preview_id"])
	for bad, code := range map[string]string{
		`{}`: "invalid_request", `{"name":""}`: "invalid_request", `{"name":"a\u0000"}`: "invalid_request",
		`{"mime_type":"x"}`:    "invalid_request",
		`{"user_metadata":[]}`: "invalid_metadata", `{"user_metadata":{"a":"\u0000"}}`: "invalid_metadata",
		`{"preview_id":"x"}`: "invalid_preview", `{"preview_id":"` + uuid.NewString() + `"}`: "invalid_preview",
		`{"tags":["output"]}`:                         "protected_tag",
		`{"name":"` + strings.Repeat("x", 600) + `"}`: "invalid_request", `[1]`: "invalid_request",
	} {
		require.Equal(t, code, library(t, h, http.StatusBadRequest, "PUT", at(a), bad)["code"], bad)
	}
	res := h.Do(t, h.Request(t, http.MethodPut, at(a), "key-b", strings.NewReader(`{"name":"mine"}`)))
	require.Equal(t, http.StatusNotFound, res.Status)
}

func TestLibraryTags(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	a := shelve(t, h, "a.png", "x", apitest.Field("tags", "one"))
	shelve(t, h, "b.png", "y", apitest.Field("tags", "one,two"))
	require.Equal(t, map[string]any{
		"added": []any{"new"}, "already_present": []any{"one", "input"},
		"total_tags": []any{"input", "new", "one"},
	},
		library(t, h, http.StatusOK, "POST", at(a)+"/tags", `{"tags":["one"," new ","input"]}`))
	require.Equal(t, map[string]any{
		"removed": []any{"one"}, "not_present": []any{"none"}, "protected": []any{"input"},
		"total_tags": []any{"input", "new"},
	},
		library(t, h, http.StatusOK, "DELETE", at(a)+"/tags", `{"tags":["one","none","input"]}`))
	require.Equal(t, "protected_tag", library(t, h, http.StatusBadRequest, "POST", at(a)+"/tags", `{"tags":["temp"]}`)["code"])
	for _, bad := range []string{`{}`, `{"tags":[]}`, `{"tags":[" "]}`, `{"tags":"x"}`, `{"tags":["` + strings.Repeat("x", 300) + `"]}`} {
		library(t, h, http.StatusBadRequest, "POST", at(a)+"/tags", bad)
		library(t, h, http.StatusBadRequest, "DELETE", at(a)+"/tags", bad)
	}
	require.JSONEq(t, `{"tags":[{"name":"input","count":2},{"name":"new","count":1},{"name":"one","count":1},{"name":"two","count":1}],`+
		`"total":4,"has_more":false}`,
		h.Get(t, "/api/tags", "key-a").Body)
	require.JSONEq(t, `{"tags":[{"name":"one","count":1}],"total":4,"has_more":true}`,
		h.Get(t, "/tags?order=name_asc&limit=1&offset=2&include_zero=true", "key-a").Body)
	require.JSONEq(t, `{"tags":[{"name":"two","count":1}],"total":1,"has_more":false}`, h.Get(t, "/tags?prefix=t", "key-a").Body)
	require.JSONEq(t, `{"tag_counts":{"input":1,"one":1,"two":1}}`, h.Get(t, "/api/assets/tags/refine?include_tags=two", "key-a").Body)
	require.JSONEq(t, `{"tag_counts":{}}`, h.Get(t, "/api/assets/tags/refine", "key-b").Body)
	for _, bad := range []string{
		"/tags?limit=0", "/tags?limit=1001", "/tags?offset=-1", "/tags?order=x", "/tags?prefix=%ff",
		"/api/assets/tags/refine?limit=9999",
	} {
		library(t, h, http.StatusBadRequest, "GET", bad, "")
	}
}

func TestTheLibraryIsListedAsEditorsAsk(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	shelve(t, h, "cat.png", "1", apitest.Field("tags", "input,pet"), apitest.Field("user_metadata", `{"rating":5,"who":["ann","bob"]}`))
	shelve(t, h, "dog.png", "333", apitest.Field("tags", "pet"))
	shelve(t, h, "shown.png", "22", apitest.Field("tags", "output"))
	model := shelve(t, h, "y.safetensors", "4444", apitest.Field("tags", `["models","loras","sdxl"]`))
	require.Equal(t, []any{"models", "loras", "sdxl"}, model["tags"])
	require.Equal(t, model["updated_at"], model["last_access_time"], "reads are not recorded")
	require.Equal(t, "y.safetensors", model["loader_path"])
	require.JSONEq(t, `["y.safetensors"]`, h.Get(t, "/models/loras", "key-a").Body, "nodes of the category load it")
	for query, want := range map[string][]string{
		"include_public=false&limit=100&sort=created_at&tags_any=input&tags_none=missing":         {"dog.png", "cat.png"},
		"include_public=false&limit=100&sort=created_at&tags_any=output%2Ctemp&tags_none=missing": {"shown.png"},
		"include_tags=models,loras&limit=500&exclude_tags=missing":                                {"y.safetensors"},
		"include_tags=models&include_tags=checkpoints":                                            {},
		"include_tags=pet&exclude_tags=input":                                                     {},
		"name_contains=SHOWN":                                                                     {"shown.png"},
		"limit=1&hash=" + apitest.HashOf("22"):                                                    {"shown.png"},
		"hash=cat.png":                                                                            {},
		"metadata_filter=" + url.QueryEscape(`{"rating":5}`):                                      {"cat.png"},
		"metadata_filter=" + url.QueryEscape(`{"who":["bob","eve"]}`):                             {"cat.png"},
		"metadata_filter=" + url.QueryEscape(`{"rating":null}`) + "&include_tags=pet":             {"dog.png"},
		"sort=name&order=asc": {
			"cat.png", "dog.png", "shown.png",
			"y.safetensors",
		},
		"sort=size": {
			"y.safetensors", "dog.png", "shown.png",
			"cat.png",
		},
		"sort=last_access_time&limit=1": {"y.safetensors"},
		"offset=3":                      {"cat.png"},
	} {
		body := library(t, h, http.StatusOK, "GET", "/api/assets?"+query, "")
		require.Equal(t, want, named(t, body), query)
		if !strings.Contains(query, "limit=1") {
			require.Equal(t, false, body["has_more"], query)
		}
	}
	whole := library(t, h, http.StatusOK, "GET", "/assets", "")
	require.EqualValues(t, 4, whole["total"])
	require.Empty(t, named(t, h.Get(t, "/assets", "key-b").JSON(t)))
	for _, way := range []string{"sort=created_at", "sort=name&order=asc", "sort=size&order=asc", "sort=updated_at"} {
		var walked []string
		after := ""
		for {
			page := library(t, h, http.StatusOK, "GET", "/assets?limit=3&"+way+after, "")
			require.EqualValues(t, 4, page["total"])
			walked = append(walked, named(t, page)...)
			next, more := page["next_cursor"].(string)
			require.Equal(t, more, page["has_more"])
			if after = "&after=" + url.QueryEscape(next); !more {
				break
			}
		}
		require.Equal(t, named(t, library(t, h, http.StatusOK, "GET", "/assets?"+way, "")), walked, way)
	}
}

func TestLibraryListingsRefuse(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	shelve(t, h, "a", "1")
	shelve(t, h, "b", "2")
	cursor := library(t, h, http.StatusOK, "GET", "/assets?limit=1&sort=name", "")["next_cursor"].(string)
	for _, query := range []string{
		"limit=0", "limit=501", "limit=x", "offset=-1", "offset=99999999999", "sort=color", "order=up", "after=x", "after=" + cursor,
		"after=" + cursor + "&sort=name&order=asc", "metadata_filter=x", "metadata_filter=[]", "metadata_filter=" + url.QueryEscape(`{"a":{}}`),
		"metadata_filter=" + url.QueryEscape(`{"a":[]}`), "metadata_filter=" + url.QueryEscape(`{"a":1}x`), "name_contains=%00",
		"metadata_filter=" + url.QueryEscape(`{"a":1e-20000}`), "metadata_filter=" + url.QueryEscape(`{"a":[0e-20000]}`),
		"metadata_filter=" + url.QueryEscape(`{"a":"\u0000"}`), "include_tags=" + strings.Repeat("x", 300), "include_tags=%00", "tags_any=%ff",
		"include_tags=" + strings.Repeat("x,", 150) + "x",
	} {
		body := library(t, h, http.StatusBadRequest, "GET", "/api/assets?"+query, "")
		require.NotEmpty(t, body["code"], query)
		require.NotEmpty(t, body["message"], query)
	}
	library(t, h, http.StatusOK, "GET", "/assets?sort=name&after="+cursor, "")
}

func TestLibraryUploadsRefuse(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{MaxUpload: 100})
	file := apitest.File("file", "a.png", "x")
	for name, c := range map[string]struct {
		status int
		parts  []apitest.Part
	}{
		"nothing":               {http.StatusBadRequest, []apitest.Part{apitest.Field("name", "x")}},
		"a category is missing": {http.StatusBadRequest, []apitest.Part{file, apitest.Field("tags", "models")}},
		"a category with path":  {http.StatusBadRequest, []apitest.Part{file, apitest.Field("tags", "models,../x")}},
		"two places":            {http.StatusBadRequest, []apitest.Part{file, apitest.Field("tags", "input,output")}},
		"bad tags":              {http.StatusBadRequest, []apitest.Part{file, apitest.Field("tags", "[1]")}},
		"bad metadata":          {http.StatusBadRequest, []apitest.Part{file, apitest.Field("user_metadata", "x")}},
		"bad type":              {http.StatusBadRequest, []apitest.Part{file, apitest.Field("mime_type", "x")}},
		"bad id":                {http.StatusBadRequest, []apitest.Part{file, apitest.Field("id", "x")}},
		"bad preview":           {http.StatusBadRequest, []apitest.Part{file, apitest.Field("preview_id", uuid.NewString())}},
		"bad hash":              {http.StatusBadRequest, []apitest.Part{file, apitest.Field("hash", "x")}},
		"a hash not computed":   {http.StatusBadRequest, []apitest.Part{file, apitest.Field("hash", "sha256:"+strings.Repeat("1", 64))}},
		"other bytes":           {http.StatusConflict, []apitest.Part{file, apitest.Field("hash", apitest.HashOf("y"))}},
		"bytes nobody has":      {http.StatusNotFound, []apitest.Part{apitest.Field("hash", apitest.HashOf("z")), apitest.Field("name", "z")}},
		"too large":             {http.StatusRequestEntityTooLarge, []apitest.Part{apitest.File("file", "a", strings.Repeat("x", 101))}},
	} {
		res := h.Post(t, "/api/assets", "key-a", c.parts...)
		require.Equal(t, c.status, res.Status, "%s: %s", name, res.Body)
		require.NotEmpty(t, res.JSON(t)["code"], name)
	}
	text := h.Request(t, http.MethodPost, "/api/assets", "key-a", strings.NewReader("x"))
	text.Header.Set("Content-Type", "text/plain")
	require.Equal(t, http.StatusUnsupportedMediaType, h.Do(t, text).Status)
	require.EqualValues(t, 0, library(t, h, http.StatusOK, "GET", "/assets", "")["total"], "what was refused left nothing")
	read := h.Post(t, "/api/assets", "key-r", file)
	require.Contains(t, []int{http.StatusForbidden, http.StatusUnauthorized}, read.Status)
}

// A name that a newer file took over leads to that one, which the older file must not claim.
func TestALoaderPathLeadsToItsFile(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	old := shelve(t, h, "same.png", "old")
	fresh := shelve(t, h, "same.png", "new")
	require.Equal(t, "same.png", fresh["loader_path"])
	require.Nil(t, library(t, h, http.StatusOK, "GET", at(old), "")["loader_path"])
	require.Equal(t, "old", h.Get(t, at(old)+"/content", "key-a").Body)
}

// An editor's page loads its scripts from /assets; this API then stands under /api only, where editors call it.
func TestLibraryRoutesDoNotHideEditorFiles(t *testing.T) {
	t.Parallel()
	h := apitest.StartWith(t, apitest.Options{Mode: account.ModeKeys}, func(d *apitest.Deps) {
		d.Editor = &apitest.Editor{Files: apitest.EditorFiles(t), Sealer: apitest.NewSealer(t)}
		blobs := mem.New()
		d.Files, d.Assets = files.New(nil, blobs, files.Options{}), asset.NewService(recordsOnly{}, blobs, asset.Options{})
		d.AssetView, d.Keys, d.Grants = recordsOnly{}, recordsOnly{}, &signedurl.Signer{}
	})
	for target, want := range map[string]int{
		"/assets/index-B2rHQ9Sn.js": 200, "/assets": 404, "/assets/none.js": 404, "/api/assets": 401,
		"/tags": 401,
	} {
		require.Equal(t, want, h.Do(t, "GET", target, "").Status, target)
	}
	require.Equal(t, http.StatusOK, h.Do(t, "HEAD", "/assets/index-B2rHQ9Sn.js", "").Status)
	require.Equal(t, http.StatusNotFound, h.Do(t, "POST", "/assets/index-B2rHQ9Sn.js", "").Status)
	require.Equal(t, http.StatusUnauthorized, h.Do(t, "GET", "/api/assets/"+uuid.NewString(), "").Status)
}
