package editor_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
)

func TestSettingsOfEditors(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	require.JSONEq(t, `{}`, h.Get(t, "/api/settings", "key-a").Body, "none before any were kept")
	require.JSONEq(t, `null`, h.Get(t, "/settings/Comfy.Locale", "key-a").Body)

	require.Equal(t, http.StatusOK, h.Put(t, "key-a", "/api/settings/Comfy.Locale", `"de"`).Status)
	require.Equal(t, http.StatusOK, h.Put(t, "key-a", "/settings", `{"Comfy.Minimap":false,"Comfy.Keys":[{"k":1}]}`).Status)
	kept := h.Put(t, "key-a", "/settings/Comfy.Locale", `"fr"`)
	require.Equal(t, http.StatusOK, kept.Status)
	require.Empty(t, kept.Body)
	require.JSONEq(t, `{"Comfy.Locale":"fr","Comfy.Minimap":false,"Comfy.Keys":[{"k":1}]}`, h.Get(t, "/settings", "key-a").Body)
	require.JSONEq(t, `[{"k":1}]`, h.Get(t, "/settings/Comfy.Keys", "key-a").Body)
	require.JSONEq(t, `{"Comfy.Locale":"fr","Comfy.Minimap":false,"Comfy.Keys":[{"k":1}]}`,
		h.Get(t, "/userdata/comfy.settings.json", "key-a").Body, "the file that the self-hosted runtime keeps")

	require.JSONEq(t, `{}`, h.Get(t, "/settings", "key-b").Body, "another's")
	require.Equal(t, http.StatusForbidden, h.Put(t, "read", "/settings/x", `1`).Status, "a key that reads only")
	require.Equal(t, http.StatusUnauthorized, h.Get(t, "/settings", "").Status)
}

func TestInvalidSettings(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	for path, body := range map[string]string{
		"/settings": `[]`, "/api/settings": `null`, "/settings/a": `{`, "/settings/b": ``,
		"/settings/" + strings.Repeat("x", 257): `1`,
	} {
		require.Equal(t, http.StatusBadRequest, h.Put(t, "key-a", path, body).Status, path)
	}
	require.Equal(t, http.StatusRequestEntityTooLarge, h.Put(t, "key-a", "/settings/big", `"`+strings.Repeat("x", 1<<20)+`"`).Status)
	half := `"` + strings.Repeat("x", 600<<10) + `"`
	require.Equal(t, http.StatusOK, h.Put(t, "key-a", "/settings/one", half).Status)
	require.Equal(t, http.StatusRequestEntityTooLarge, h.Put(t, "key-a", "/settings/two", half).Status, "all together are bounded")
	require.JSONEq(t, half, h.Get(t, "/settings/one", "key-a").Body, "what was kept stays")

	require.Equal(t, http.StatusOK, h.Put(t, "key-b", "/userdata/comfy.settings.json", "no JSON").Status)
	require.Equal(t, http.StatusBadRequest, h.Get(t, "/settings", "key-b").Status)
	require.Equal(t, http.StatusBadRequest, h.Put(t, "key-b", "/settings/a", `1`).Status, "and nothing of it is lost")
	require.Equal(t, "no JSON", h.Get(t, "/userdata/comfy.settings.json", "key-b").Body)
}

// An editor stores a handful of settings at once when it opens.
func TestConcurrentSettingsChangesAreAllKept(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	const many = 8
	statuses := make([]int, many)
	var all sync.WaitGroup
	for i := range many {
		req := h.Request(t, http.MethodPost, fmt.Sprintf("/settings/s%d", i), "key-a", strings.NewReader(fmt.Sprint(i)))
		all.Go(func() {
			res, err := h.Client.Do(req)
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
	require.JSONEq(t, "{"+strings.Join(want, ",")+"}", h.Get(t, "/settings", "key-a").Body)
}

func TestEditorSystemRoutes(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	require.JSONEq(t, `{"storage":"server","migrated":true}`, h.Get(t, "/api/users", "").Body)
	require.JSONEq(t, `{}`, h.Get(t, "/api/i18n", "").Body)

	for i, name := range []string{"b.png", "a.png"} {
		require.Equal(t, http.StatusOK, h.Post(t, "/upload/image", "key-a",
			apitest.File("image", name, apitest.Picture(t, 4, 4, uint8(i)))).Status)
	}
	require.JSONEq(t, `["a.png","b.png"]`, h.Get(t, "/internal/files/input", "key-a").Body)
	require.JSONEq(t, `[]`, h.Get(t, "/internal/files/output", "key-a").Body)
	require.JSONEq(t, `[]`, h.Get(t, "/internal/files/input", "key-b").Body, "another's")
	require.Equal(t, http.StatusBadRequest, h.Get(t, "/internal/files/etc", "key-a").Status)
	require.Equal(t, http.StatusUnauthorized, h.Get(t, "/internal/files/input", "").Status)
	require.JSONEq(t, `{}`, h.Get(t, "/internal/folder_paths", "key-a").Body)
	require.Equal(t, http.StatusUnauthorized, h.Get(t, "/internal/folder_paths", "").Status)
}

func TestAStyleSheetOfAUserIsAppliedButNotShown(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	for _, name := range []string{"user.css", "page.html"} {
		require.Equal(t, http.StatusOK, h.Put(t, "key-a", "/userdata/"+name, "body{color:red}").Status)
	}
	applied := h.Get(t, "/api/userdata/user.css", "key-a", "Sec-Fetch-Dest", "style").Header
	require.Equal(t, "text/css; charset=utf-8", applied.Get("Content-Type"))
	require.Equal(t, "nosniff", applied.Get("X-Content-Type-Options"))
	for path, dest := range map[string]string{"user.css": "document", "page.html": "style"} {
		saved := h.Get(t, "/api/userdata/"+path, "key-a", "Sec-Fetch-Dest", dest).Header
		require.Equal(t, "application/octet-stream", saved.Get("Content-Type"))
		require.Contains(t, saved.Get("Content-Disposition"), "attachment")
	}
}
