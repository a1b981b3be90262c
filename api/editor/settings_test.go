package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api"
)

func TestSettingsOfEditors(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	require.JSONEq(t, `{}`, h.get(t, "/api/settings", "key-a").body, "none before any were kept")
	require.JSONEq(t, `null`, h.get(t, "/settings/Comfy.Locale", "key-a").body)

	require.Equal(t, http.StatusOK, h.put(t, "key-a", "/api/settings/Comfy.Locale", `"de"`).status)
	require.Equal(t, http.StatusOK, h.put(t, "key-a", "/settings", `{"Comfy.Minimap":false,"Comfy.Keys":[{"k":1}]}`).status)
	kept := h.put(t, "key-a", "/settings/Comfy.Locale", `"fr"`)
	require.Equal(t, http.StatusOK, kept.status)
	require.Empty(t, kept.body)
	require.JSONEq(t, `{"Comfy.Locale":"fr","Comfy.Minimap":false,"Comfy.Keys":[{"k":1}]}`, h.get(t, "/settings", "key-a").body)
	require.JSONEq(t, `[{"k":1}]`, h.get(t, "/settings/Comfy.Keys", "key-a").body)
	require.JSONEq(t, `{"Comfy.Locale":"fr","Comfy.Minimap":false,"Comfy.Keys":[{"k":1}]}`,
		h.get(t, "/userdata/comfy.settings.json", "key-a").body, "the file that the self-hosted runtime keeps")

	require.JSONEq(t, `{}`, h.get(t, "/settings", "key-b").body, "another's")
	require.Equal(t, http.StatusForbidden, h.put(t, "read", "/settings/x", `1`).status, "a key that reads only")
	require.Equal(t, http.StatusUnauthorized, h.get(t, "/settings", "").status)
}

func TestInvalidSettings(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	for path, body := range map[string]string{
		"/settings": `[]`, "/api/settings": `null`, "/settings/a": `{`, "/settings/b": ``,
		"/settings/" + strings.Repeat("x", 257): `1`,
	} {
		require.Equal(t, http.StatusBadRequest, h.put(t, "key-a", path, body).status, path)
	}
	require.Equal(t, http.StatusRequestEntityTooLarge, h.put(t, "key-a", "/settings/big", `"`+strings.Repeat("x", 1<<20)+`"`).status)
	half := `"` + strings.Repeat("x", 600<<10) + `"`
	require.Equal(t, http.StatusOK, h.put(t, "key-a", "/settings/one", half).status)
	require.Equal(t, http.StatusRequestEntityTooLarge, h.put(t, "key-a", "/settings/two", half).status, "all together are bounded")
	require.JSONEq(t, half, h.get(t, "/settings/one", "key-a").body, "what was kept stays")

	require.Equal(t, http.StatusOK, h.put(t, "key-b", "/userdata/comfy.settings.json", "no JSON").status)
	require.Equal(t, http.StatusBadRequest, h.get(t, "/settings", "key-b").status)
	require.Equal(t, http.StatusBadRequest, h.put(t, "key-b", "/settings/a", `1`).status, "and nothing of it is lost")
	require.Equal(t, "no JSON", h.get(t, "/userdata/comfy.settings.json", "key-b").body)
}

// An editor stores a handful of settings at once when it opens.
func TestConcurrentSettingsChangesAreAllKept(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	const many = 8
	statuses := make([]int, many)
	var all sync.WaitGroup
	for i := range many {
		req := h.request(t, http.MethodPost, fmt.Sprintf("/settings/s%d", i), "key-a", strings.NewReader(fmt.Sprint(i)))
		all.Go(func() {
			res, err := h.client.Do(req)
			if err == nil {
				statuses[i] = res.StatusCode
				_ = res.Body.Close()
			}
		})
	}
	all.Wait()
	want := []string{}
	for i := range many {
		require.Equal(t, http.StatusOK, statuses[i])
		want = append(want, fmt.Sprintf(`"s%d":%d`, i, i))
	}
	require.JSONEq(t, "{"+strings.Join(want, ",")+"}", h.get(t, "/settings", "key-a").body)
}

func TestEditorSystemRoutes(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	require.JSONEq(t, `{"storage":"server","migrated":true}`, h.get(t, "/api/users", "").body)
	require.JSONEq(t, `{}`, h.get(t, "/api/i18n", "").body)

	for i, name := range []string{"b.png", "a.png"} {
		require.Equal(t, http.StatusOK, h.post(t, "/upload/image", "key-a", part{"image", name, picture(t, 4, 4, uint8(i))}).status)
	}
	require.JSONEq(t, `["a.png","b.png"]`, h.get(t, "/internal/files/input", "key-a").body)
	require.JSONEq(t, `[]`, h.get(t, "/internal/files/output", "key-a").body)
	require.JSONEq(t, `[]`, h.get(t, "/internal/files/input", "key-b").body, "another's")
	require.Equal(t, http.StatusBadRequest, h.get(t, "/internal/files/etc", "key-a").status)
	require.Equal(t, http.StatusUnauthorized, h.get(t, "/internal/files/input", "").status)
	require.JSONEq(t, `{}`, h.get(t, "/internal/folder_paths", "key-a").body)
	require.Equal(t, http.StatusUnauthorized, h.get(t, "/internal/folder_paths", "").status)
}

func TestAStyleSheetOfAUserIsAppliedButNotShown(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	for _, name := range []string{"user.css", "page.html"} {
		require.Equal(t, http.StatusOK, h.put(t, "key-a", "/userdata/"+name, "body{color:red}").status)
	}
	applied := h.get(t, "/api/userdata/user.css", "key-a", "Sec-Fetch-Dest", "style").header
	require.Equal(t, "text/css; charset=utf-8", applied.Get("Content-Type"))
	require.Equal(t, "nosniff", applied.Get("X-Content-Type-Options"))
	for path, dest := range map[string]string{"user.css": "document", "page.html": "style"} {
		saved := h.get(t, "/api/userdata/"+path, "key-a", "Sec-Fetch-Dest", dest).header
		require.Equal(t, "application/octet-stream", saved.Get("Content-Type"))
		require.Contains(t, saved.Get("Content-Disposition"), "attachment")
	}
}
