package api_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/storage/secret"
	"github.com/millrace-dev/millrace/internal/web/editor"
)

// editorFiles is a tiny editor in a directory.
func editorFiles(t *testing.T) *editor.Dir {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"index.html": "<!doctype html><title>E</title>", "assets/index-B2rHQ9Sn.js": "run()",
		"api/prompt": "no", "v2/models": "no", "console/live.js": "no", "editor/x": "no", "files/a/b": "no",
	} {
		at := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o750))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	files, err := editor.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	return files
}

func testSealer(t *testing.T) edge.Sealer {
	t.Helper()
	key, err := secret.Parse(strings.Repeat("17", 32))
	require.NoError(t, err)
	sealer, err := key.Sealer()
	require.NoError(t, err)
	return sealer
}

// startEditor starts the API with an editor, for accounts with keys unless opts say otherwise.
func startEditor(t *testing.T, opts api.Options) *harness {
	t.Helper()
	if opts.Mode == "" {
		opts.Mode = account.ModeKeys
	}
	sealer := testSealer(t)
	return startWith(t, opts, func(d *api.Deps) {
		d.Editor = &api.Editor{Files: editorFiles(t), Sealer: sealer}
		d.Console = &api.Console{Sealer: sealer}
	})
}

const formType = "application/x-www-form-urlencoded"

// signIn returns the Cookie header of a browser that signed in with a key.
func (h *harness) signIn(t *testing.T, key string, headers ...string) (cookie string, set *http.Cookie) {
	t.Helper()
	got := h.do(t, "POST", "/editor/signin", url.Values{"key": {key}}.Encode(), append([]string{"Content-Type", formType, "Origin", h.url}, headers...)...)
	require.Equal(t, http.StatusSeeOther, got.status, got.body)
	set, err := http.ParseSetCookie(got.header.Get("Set-Cookie"))
	require.NoError(t, err)
	return set.Name + "=" + set.Value, set
}

func TestABrowserSignsInToOpenTheEditor(t *testing.T) {
	t.Parallel()
	h := startEditor(t, api.Options{})
	sent := h.do(t, "GET", "/", "")
	require.Equal(t, http.StatusSeeOther, sent.status)
	require.Equal(t, "/editor", sent.header.Get("Location"))
	form := h.do(t, "GET", "/editor", "")
	require.Equal(t, http.StatusOK, form.status)
	require.Contains(t, form.body, `action="/editor/signin"`)
	wrong := h.do(t, "POST", "/editor/signin", "key=nonsense", "Content-Type", formType, "Origin", h.url)
	require.Equal(t, http.StatusUnauthorized, wrong.status)
	require.Empty(t, wrong.header.Get("Set-Cookie"))

	cookie, set := h.signIn(t, "key-a")
	require.True(t, set.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, set.SameSite)
	require.Equal(t, "/", set.Path)
	require.False(t, set.Secure, "there is no TLS here")
	require.NotContains(t, cookie, "key-a")
	opened := h.do(t, "GET", "/", "", "Cookie", cookie)
	require.Equal(t, http.StatusOK, opened.status)
	require.Equal(t, "<!doctype html><title>E</title>", opened.body)
	require.Equal(t, "no-cache", opened.header.Get("Cache-Control"))
	require.Contains(t, opened.header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
	require.Contains(t, h.do(t, "GET", "/editor", "", "Cookie", cookie).body, "<code>a</code>")

	out := h.do(t, "POST", "/editor/signout", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin", "Origin", h.url)
	require.Equal(t, http.StatusSeeOther, out.status)
	require.Contains(t, out.header.Get("Set-Cookie"), "Max-Age=0")
}

func TestTheCookieHidesBehindTLS(t *testing.T) {
	t.Parallel()
	h := startEditor(t, api.Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	cookie, set := h.signIn(t, "key-a", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "jobs.example", "Origin", "https://jobs.example", "Sec-Fetch-Site", "same-origin")
	require.True(t, set.Secure)
	require.Equal(t, "__Host-millrace_editor", set.Name, "no other host can set it")
	read := func(headers ...string) int {
		return h.do(t, "GET", "/api/queue", "", append(headers, "Cookie", cookie)...).status
	}
	require.Equal(t, http.StatusOK, read("X-Forwarded-Proto", "https", "X-Forwarded-Host", "jobs.example", "Origin", "https://jobs.example"))
	require.Equal(t, http.StatusForbidden, read("X-Forwarded-Proto", "https", "X-Forwarded-Host", "jobs.example", "Origin", "http://jobs.example"), "a page that anybody on the way could have written")

	below := startEditor(t, api.Options{PublicURL: "https://example.org/mr"})
	_, set = below.signIn(t, "key-a", "Origin", "https://example.org")
	require.Equal(t, "/mr/", set.Path)
	require.True(t, set.Secure)
	require.Equal(t, "millrace_editor", set.Name)
	require.Equal(t, "/mr/editor", below.do(t, "GET", "/mr/", "").header.Get("Location"))
	require.Equal(t, "/mr/", below.do(t, "GET", "/mr", "").header.Get("Location"), "the editor's links are relative")
}

// The requests are those that a browser sends, and those that pages of others could make it send.
func TestCookieIsAcceptedFromSameOriginOnly(t *testing.T) {
	t.Parallel()
	h := startEditor(t, api.Options{})
	cookie, _ := h.signIn(t, "key-a")
	own := h.url
	const prompt = `{"prompt":{"1":{"class_type":"A","inputs":{}}}}`
	for name, c := range map[string]struct {
		method, path string
		headers      []string
		want         int
	}{
		"a fetch of the page":              {"GET", "/api/queue", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		"without a prefix":                 {"GET", "/queue", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		"a typed address":                  {"GET", "/api/queue", []string{"Sec-Fetch-Site", "none"}, 200},
		"over plain HTTP":                  {"GET", "/api/queue", nil, 200},
		"another site's link":              {"GET", "/api/queue", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"a sibling host's":                 {"GET", "/api/queue", []string{"Sec-Fetch-Site", "same-site"}, 403},
		"another origin's":                 {"GET", "/api/queue", []string{"Origin", "https://evil.example"}, 403},
		"a sandboxed frame's":              {"GET", "/api/queue", []string{"Origin", "null"}, 403},
		"another port's":                   {"GET", "/api/queue", []string{"Origin", "http://127.0.0.1:1"}, 403},
		"a submission":                     {"POST", "/api/prompt", []string{"Sec-Fetch-Site", "same-origin", "Origin", own}, 200},
		"a submission over HTTP":           {"POST", "/prompt", []string{"Origin", own}, 200},
		"a submission of another site":     {"POST", "/api/prompt", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403},
		"a submission of a sibling":        {"POST", "/api/prompt", []string{"Sec-Fetch-Site", "same-site", "Origin", own}, 403},
		"a submission without any sign":    {"POST", "/api/prompt", nil, 403},
		"a submission that lies by Origin": {"POST", "/api/prompt", []string{"Origin", "https://evil.example"}, 403},
		"a typed address that submits":     {"POST", "/api/prompt", []string{"Sec-Fetch-Site", "none"}, 403},
		"another surface":                  {"GET", "/api/v2/jobs", []string{"Sec-Fetch-Site", "same-origin"}, 401},
		"a page of the console":            {"GET", "/console", []string{"Sec-Fetch-Site", "same-origin"}, 401},
	} {
		got := h.do(t, c.method, c.path, prompt, append(c.headers, "Cookie", cookie, "Content-Type", "application/json")...)
		require.Equal(t, c.want, got.status, "%s: %s", name, got.body)
	}
	require.Len(t, h.jobs.submitted, 2, "nothing that was refused was done")
	require.Equal(t, "a", h.jobs.last().Account)
}

// What is wrapped with a credential is wrapped with the check of where a cookie comes from, so no route that
// changes something may go without; the forms of pages check for themselves.
func TestAdminChangesNeedACredential(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"POST /console/assets/:id/delete", "POST /console/jobs/:id/cancel", "POST /console/jobs/:id/retry", "POST /console/jobs/bulk", "POST /console/run", "POST /console/run/queue", "POST /console/signin", "POST /console/signout", "POST /console/webhooks", "POST /console/webhooks/:id/:change",
		"POST /editor/signin", "POST /editor/signout",
	}, api.OpenChanges(t))
}

func TestCookieHasTheRightsOfItsKey(t *testing.T) {
	t.Parallel()
	h := startEditor(t, api.Options{})
	reads, _ := h.signIn(t, "read")
	same := []string{"Sec-Fetch-Site", "same-origin", "Origin", h.url}
	require.Equal(t, http.StatusForbidden, h.do(t, "POST", "/api/prompt", `{}`, append(same, "Cookie", reads)...).status, "a key that reads only")
	other, _ := h.signIn(t, "key-b")
	mine, _ := h.signIn(t, "key-a")
	sent := h.do(t, "POST", "/api/prompt", `{"prompt":{"1":{"class_type":"A","inputs":{}}}}`, append(same, "Cookie", mine)...)
	id, _ := sent.json(t)["prompt_id"].(string)
	require.NotEmpty(t, id)
	status := func(cookie string, headers ...string) int {
		return h.do(t, "GET", "/api/job/"+id+"/status", "", append(headers, "Cookie", cookie)...).status
	}
	require.Equal(t, http.StatusOK, status(mine))
	require.NotEqual(t, http.StatusOK, status(other), "another account's")
	require.NotEqual(t, http.StatusOK, status(mine, "X-API-Key", "key-b"), "a key that is shown decides")

	name, value, _ := strings.Cut(mine, "=")
	console := h.do(t, "POST", "/console/signin", "key=key-a", "Content-Type", formType).header.Get("Set-Cookie")
	_, sealed, _ := strings.Cut(strings.Split(console, ";")[0], "=")
	for what, bad := range map[string]string{
		"changed": name + "=" + changed(value), "the key itself": name + "=key-a", "empty": name + "=", "of the console": name + "=" + sealed,
		"under the console's name": "millrace_console=" + value,
	} {
		require.Equal(t, http.StatusUnauthorized, status(bad), what)
		require.Equal(t, http.StatusSeeOther, h.do(t, "GET", "/", "", "Cookie", bad).status, what)
	}
}

// changed returns a text that differs from the one given in its first character.
func changed(text string) string {
	if text[0] == 'A' {
		return "B" + text[1:]
	}
	return "A" + text[1:]
}

func TestASocketOpensWithACookieFromOurOwnPagesOnly(t *testing.T) {
	t.Parallel()
	h := startEditor(t, api.Options{})
	cookie, _ := h.signIn(t, "key-a")
	for name, c := range map[string]struct {
		headers []string
		want    int
	}{
		"the editor's":       {[]string{"Origin", h.url}, 101},
		"newer browsers":     {[]string{"Origin", h.url, "Sec-Fetch-Site", "same-origin"}, 101},
		"another site's":     {[]string{"Origin", "https://evil.example"}, 403},
		"a sibling's":        {[]string{"Origin", h.url, "Sec-Fetch-Site", "same-site"}, 403},
		"nobody's":           {nil, 403},
		"without an Origin":  {[]string{"Sec-Fetch-Site", "same-origin"}, 403},
		"a sandboxed page's": {[]string{"Origin", "null"}, 403},
	} {
		header := http.Header{"Cookie": {cookie}}
		for i := 0; i+1 < len(c.headers); i += 2 {
			header.Set(c.headers[i], c.headers[i+1])
		}
		conn, res, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(h.url, "http")+"/ws?clientId=x", header)
		require.NotNil(t, res, "%s: %v", name, err)
		require.Equal(t, c.want, res.StatusCode, name)
		require.NoError(t, res.Body.Close())
		if err == nil {
			_, first, err := conn.ReadMessage()
			require.NoError(t, err)
			require.Contains(t, string(first), `"status"`)
			require.NoError(t, conn.Close())
		}
	}
}

func TestCookieIsIgnoredWithoutAnEditor(t *testing.T) {
	t.Parallel()
	cookie, _ := startEditor(t, api.Options{}).signIn(t, "key-a")
	h := startWith(t, api.Options{Mode: account.ModeKeys}, func(d *api.Deps) { d.Console = &api.Console{Sealer: testSealer(t)} })
	require.Equal(t, http.StatusUnauthorized, h.do(t, "GET", "/api/queue", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin").status)
	for _, path := range []string{"/", "/editor", "/index.html", "/assets/index-B2rHQ9Sn.js"} {
		require.Equal(t, http.StatusNotFound, h.do(t, "GET", path, "", "Cookie", cookie).status, path)
	}
}

func TestFormsOfOtherSitesSignNobodyIn(t *testing.T) {
	t.Parallel()
	h := startEditor(t, api.Options{})
	for _, path := range []string{"/editor/signin", "/editor/signout"} {
		for name, headers := range map[string][]string{
			"another site's":      {"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"},
			"over plain HTTP":     {"Origin", "http://evil.example"},
			"a sibling host's":    {"Sec-Fetch-Site", "same-site", "Origin", h.url},
			"a sandboxed page's":  {"Origin", "null"},
			"that says nothing":   nil,
			"that hides where":    {"Sec-Fetch-Site", "same-origin"},
			"of a trusted Origin": {"Sec-Fetch-Site", "cross-site", "Origin", h.url},
		} {
			got := h.do(t, "POST", path, "key=key-a", append(headers, "Content-Type", formType)...)
			require.Equal(t, http.StatusForbidden, got.status, name)
			require.Empty(t, got.header.Get("Set-Cookie"), name)
		}
	}
	require.Equal(t, "same-origin", h.do(t, "GET", "/editor", "").header.Get("Referrer-Policy"), "else the form would say Origin: null")
}

func TestEditorFilesNeverHideAPIRoutes(t *testing.T) {
	t.Parallel()
	h := startEditor(t, api.Options{})
	file := h.do(t, "GET", "/assets/index-B2rHQ9Sn.js", "")
	require.Equal(t, http.StatusOK, file.status)
	require.Equal(t, "run()", file.body)
	require.Equal(t, "text/javascript; charset=utf-8", file.header.Get("Content-Type"))
	require.Contains(t, file.header.Get("Cache-Control"), "immutable")
	head := h.do(t, "HEAD", "/assets/index-B2rHQ9Sn.js", "")
	require.Equal(t, http.StatusOK, head.status)
	require.Equal(t, "5", head.header.Get("Content-Length"))
	require.Equal(t, http.StatusNotFound, h.do(t, "POST", "/assets/index-B2rHQ9Sn.js", "").status)
	require.Equal(t, http.StatusNotFound, h.do(t, "GET", "/assets/none.js", "").status)
	for path, want := range map[string]int{
		"/api/prompt": 401, "/v2/models": 401, "/console/live.js": 200, "/editor/x": 404, "/files/a/b": 404, "/index.html": 404, "/assets": 404,
	} {
		got := h.do(t, "GET", path, "")
		require.Equal(t, want, got.status, path)
		require.NotEqual(t, "no", got.body, path)
	}
}

func TestEditorWithoutAccountsNeedsNoSignIn(t *testing.T) {
	t.Parallel()
	h := startEditor(t, api.Options{Mode: account.ModeNone})
	require.Equal(t, "<!doctype html><title>E</title>", h.do(t, "GET", "/", "").body)
	require.Equal(t, http.StatusForbidden, h.do(t, "GET", "/", "", "Host", "evil.example").status, "a rebound name")
	require.Equal(t, http.StatusForbidden, h.do(t, "POST", "/api/prompt", "{}", "Origin", "https://evil.example").status)
}

// A cookie stands behind every page of this origin, so nothing that an account stored may run in one.
func TestNothingStoredRunsInAPageOfTheEditorsOrigin(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	evil := `<script>fetch("/api/queue",{method:"POST"})</script>`
	for name, kind := range map[string]string{
		"a.html": "text/html", "b.svg": "image/svg+xml", "c.xhtml": "application/xhtml+xml", "d.js": "text/javascript", "e.xml": "text/xml", "f.txt": "text/plain",
	} {
		stored := h.post(t, "/api/v2/assets", "key-a", upload(evil+name, part{"content_type", "", kind}, part{"file_path", "", name})...)
		require.Equal(t, http.StatusCreated, stored.status, "%s: %s", name, stored.body)
		link, _ := stored.json(t)["url"].(string)
		got := h.get(t, link, "")
		require.Equal(t, http.StatusOK, got.status, name)
		requireInert(t, name, got.header)
	}
	require.Equal(t, http.StatusOK, h.put(t, "key-a", "/userdata/"+url.PathEscape("workflows/x.html"), evil).status)
	for _, dest := range []string{"document", "script", "style", "iframe"} {
		got := h.get(t, "/userdata/"+url.PathEscape("workflows/x.html"), "key-a", "Sec-Fetch-Dest", dest)
		require.Equal(t, "application/octet-stream", got.header.Get("Content-Type"))
		require.Contains(t, got.header.Get("Content-Disposition"), "attachment")
		require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
	}
}

func requireInert(t *testing.T, name string, header http.Header) {
	t.Helper()
	require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"), name)
	require.Contains(t, header.Get("Content-Security-Policy"), "sandbox; default-src 'none'", name)
	require.NotContains(t, header.Get("Content-Security-Policy"), "allow-scripts", name)
	if kind := header.Get("Content-Type"); !strings.HasPrefix(kind, "text/plain") {
		require.Equal(t, "application/octet-stream", kind, name)
		require.Contains(t, header.Get("Content-Disposition"), "attachment", name)
	}
}
