package console_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/account"
)

// signIn returns the Cookie header of a browser that signed in with a key.
func signIn(t *testing.T, h *apitest.Harness, key string, headers ...string) (cookie string, set *http.Cookie) {
	t.Helper()
	got := h.Do(t, "POST", "/editor/signin", url.Values{"key": {key}}.Encode(), append([]string{
		"Content-Type", apitest.FormType, "Origin", h.URL,
	}, headers...)...)
	require.Equal(t, http.StatusSeeOther, got.Status, got.Body)
	set, err := http.ParseSetCookie(got.Header.Get("Set-Cookie"))
	require.NoError(t, err)
	return set.Name + "=" + set.Value, set
}

func TestABrowserSignsInToOpenTheEditor(t *testing.T) {
	t.Parallel()
	h := apitest.StartEditor(t, apitest.Options{})
	sent := h.Do(t, "GET", "/", "")
	require.Equal(t, http.StatusSeeOther, sent.Status)
	require.Equal(t, "/editor", sent.Header.Get("Location"))
	form := h.Do(t, "GET", "/editor", "")
	require.Equal(t, http.StatusOK, form.Status)
	require.Contains(t, form.Body, `action="/editor/signin"`)
	wrong := h.Do(t, "POST", "/editor/signin", "key=nonsense", "Content-Type", apitest.FormType, "Origin", h.URL)
	require.Equal(t, http.StatusUnauthorized, wrong.Status)
	require.Empty(t, wrong.Header.Get("Set-Cookie"))

	cookie, set := signIn(t, h, "key-a")
	require.True(t, set.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, set.SameSite)
	require.Equal(t, "/", set.Path)
	require.False(t, set.Secure, "there is no TLS here")
	require.NotContains(t, cookie, "key-a")
	opened := h.Do(t, "GET", "/", "", "Cookie", cookie)
	require.Equal(t, http.StatusOK, opened.Status)
	require.Equal(t, "<!doctype html><title>E</title>", opened.Body)
	require.Equal(t, "no-cache", opened.Header.Get("Cache-Control"))
	require.Contains(t, opened.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
	require.Contains(t, h.Do(t, "GET", "/editor", "", "Cookie", cookie).Body, "<code>a</code>")

	out := h.Do(t, "POST", "/editor/signout", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin", "Origin", h.URL)
	require.Equal(t, http.StatusSeeOther, out.Status)
	require.Contains(t, out.Header.Get("Set-Cookie"), "Max-Age=0")
}

func TestTheCookieHidesBehindTLS(t *testing.T) {
	t.Parallel()
	h := apitest.StartEditor(t, apitest.Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	cookie, set := signIn(t, h, "key-a", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "jobs.example", "Origin",
		"https://jobs.example", "Sec-Fetch-Site", "same-origin")
	require.True(t, set.Secure)
	require.Equal(t, "__Host-millrace_editor", set.Name, "no other host can set it")
	read := func(headers ...string) int {
		return h.Do(t, "GET", "/api/queue", "", append(headers, "Cookie", cookie)...).Status
	}
	require.Equal(t, http.StatusOK, read("X-Forwarded-Proto", "https", "X-Forwarded-Host", "jobs.example", "Origin", "https://jobs.example"))
	require.Equal(t, http.StatusForbidden,
		read("X-Forwarded-Proto", "https", "X-Forwarded-Host", "jobs.example", "Origin",
			"http://jobs.example"), "a page that anybody on the way could have written")

	below := apitest.StartEditor(t, apitest.Options{PublicURL: "https://example.org/mr"})
	_, set = signIn(t, below, "key-a", "Origin", "https://example.org")
	require.Equal(t, "/mr/", set.Path)
	require.True(t, set.Secure)
	require.Equal(t, "millrace_editor", set.Name)
	require.Equal(t, "/mr/editor", below.Do(t, "GET", "/mr/", "").Header.Get("Location"))
	require.Equal(t, "/mr/", below.Do(t, "GET", "/mr", "").Header.Get("Location"), "the editor's links are relative")
}

// The requests are those that a browser sends, and those that pages of others could make it send.
func TestCookieIsAcceptedFromSameOriginOnly(t *testing.T) {
	t.Parallel()
	h := apitest.StartEditor(t, apitest.Options{})
	cookie, _ := signIn(t, h, "key-a")
	own := h.URL
	const prompt = `{"prompt":{"1":{"class_type":"A","inputs":{}}}}`
	for name, c := range map[string]struct {
		method, path string
		headers      []string
		want         int
	}{
		"a fetch of the page":    {"GET", "/api/queue", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		"without a prefix":       {"GET", "/queue", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		"a typed address":        {"GET", "/api/queue", []string{"Sec-Fetch-Site", "none"}, 200},
		"over plain HTTP":        {"GET", "/api/queue", nil, 200},
		"another site's link":    {"GET", "/api/queue", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"a sibling host's":       {"GET", "/api/queue", []string{"Sec-Fetch-Site", "same-site"}, 403},
		"another origin's":       {"GET", "/api/queue", []string{"Origin", "https://evil.example"}, 403},
		"a sandboxed frame's":    {"GET", "/api/queue", []string{"Origin", "null"}, 403},
		"another port's":         {"GET", "/api/queue", []string{"Origin", "http://127.0.0.1:1"}, 403},
		"a submission":           {"POST", "/api/prompt", []string{"Sec-Fetch-Site", "same-origin", "Origin", own}, 200},
		"a submission over HTTP": {"POST", "/prompt", []string{"Origin", own}, 200},
		"a submission of another site": {"POST", "/api/prompt", []string{
			"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example",
		}, 403},
		"a submission of a sibling":        {"POST", "/api/prompt", []string{"Sec-Fetch-Site", "same-site", "Origin", own}, 403},
		"a submission without any sign":    {"POST", "/api/prompt", nil, 403},
		"a submission that lies by Origin": {"POST", "/api/prompt", []string{"Origin", "https://evil.example"}, 403},
		"a typed address that submits":     {"POST", "/api/prompt", []string{"Sec-Fetch-Site", "none"}, 403},
		"another surface":                  {"GET", "/api/v2/jobs", []string{"Sec-Fetch-Site", "same-origin"}, 401},
		"a page of the console":            {"GET", "/console", []string{"Sec-Fetch-Site", "same-origin"}, 401},
	} {
		got := h.Do(t, c.method, c.path, prompt, append(c.headers, "Cookie", cookie, "Content-Type", "application/json")...)
		require.Equal(t, c.want, got.Status, "%s: %s", name, got.Body)
	}
	require.Len(t, h.Jobs.Submitted, 2, "nothing that was refused was done")
	require.Equal(t, "a", h.Jobs.Last().Account)
}

func TestCookieHasTheRightsOfItsKey(t *testing.T) {
	t.Parallel()
	h := apitest.StartEditor(t, apitest.Options{})
	reads, _ := signIn(t, h, "read")
	same := []string{"Sec-Fetch-Site", "same-origin", "Origin", h.URL}
	require.Equal(t, http.StatusForbidden, h.Do(t, "POST", "/api/prompt", `{}`, append(same, "Cookie", reads)...).Status,
		"a key that reads only")
	other, _ := signIn(t, h, "key-b")
	mine, _ := signIn(t, h, "key-a")
	sent := h.Do(t, "POST", "/api/prompt", `{"prompt":{"1":{"class_type":"A","inputs":{}}}}`, append(same, "Cookie", mine)...)
	id, _ := sent.JSON(t)["prompt_id"].(string)
	require.NotEmpty(t, id)
	status := func(cookie string, headers ...string) int {
		return h.Do(t, "GET", "/api/job/"+id+"/status", "", append(headers, "Cookie", cookie)...).Status
	}
	require.Equal(t, http.StatusOK, status(mine))
	require.NotEqual(t, http.StatusOK, status(other), "another account's")
	require.NotEqual(t, http.StatusOK, status(mine, "X-API-Key", "key-b"), "a key that is shown decides")

	name, value, _ := strings.Cut(mine, "=")
	console := h.Do(t, "POST", "/console/signin", "key=key-a", "Content-Type", apitest.FormType).Header.Get("Set-Cookie")
	_, sealed, _ := strings.Cut(strings.Split(console, ";")[0], "=")
	for what, bad := range map[string]string{
		"changed": name + "=" + changed(value), "the key itself": name + "=key-a", "empty": name + "=", "of the console": name + "=" + sealed,
		"under the console's name": "millrace_console=" + value,
	} {
		require.Equal(t, http.StatusUnauthorized, status(bad), what)
		require.Equal(t, http.StatusSeeOther, h.Do(t, "GET", "/", "", "Cookie", bad).Status, what)
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
	h := apitest.StartEditor(t, apitest.Options{})
	cookie, _ := signIn(t, h, "key-a")
	for name, c := range map[string]struct {
		headers []string
		want    int
	}{
		"the editor's":       {[]string{"Origin", h.URL}, 101},
		"newer browsers":     {[]string{"Origin", h.URL, "Sec-Fetch-Site", "same-origin"}, 101},
		"another site's":     {[]string{"Origin", "https://evil.example"}, 403},
		"a sibling's":        {[]string{"Origin", h.URL, "Sec-Fetch-Site", "same-site"}, 403},
		"nobody's":           {nil, 403},
		"without an Origin":  {[]string{"Sec-Fetch-Site", "same-origin"}, 403},
		"a sandboxed page's": {[]string{"Origin", "null"}, 403},
	} {
		header := http.Header{"Cookie": {cookie}}
		for i := 0; i+1 < len(c.headers); i += 2 {
			header.Set(c.headers[i], c.headers[i+1])
		}
		conn, res, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(h.URL, "http")+"/ws?clientId=x", header)
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
	cookie, _ := signIn(t, apitest.StartEditor(t, apitest.Options{}), "key-a")
	h := apitest.StartWith(t, apitest.Options{Mode: account.ModeKeys}, func(d *apitest.Deps) { d.Console = apitest.NewSealer(t) })
	require.Equal(t, http.StatusUnauthorized, h.Do(t, "GET", "/api/queue", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin").Status)
	require.Contains(t, h.Do(t, "GET", "/", "", "Cookie", cookie).Body, "alive")
	for _, path := range []string{"/editor", "/index.html", "/assets/index-B2rHQ9Sn.js"} {
		require.Equal(t, http.StatusNotFound, h.Do(t, "GET", path, "", "Cookie", cookie).Status, path)
	}
}

func TestFormsOfOtherSitesCannotSignIn(t *testing.T) {
	t.Parallel()
	h := apitest.StartEditor(t, apitest.Options{})
	for _, path := range []string{"/editor/signin", "/editor/signout"} {
		for name, headers := range map[string][]string{
			"another site's":      {"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"},
			"over plain HTTP":     {"Origin", "http://evil.example"},
			"a sibling host's":    {"Sec-Fetch-Site", "same-site", "Origin", h.URL},
			"a sandboxed page's":  {"Origin", "null"},
			"that says nothing":   nil,
			"that hides where":    {"Sec-Fetch-Site", "same-origin"},
			"of a trusted Origin": {"Sec-Fetch-Site", "cross-site", "Origin", h.URL},
		} {
			got := h.Do(t, "POST", path, "key=key-a", append(headers, "Content-Type", apitest.FormType)...)
			require.Equal(t, http.StatusForbidden, got.Status, name)
			require.Empty(t, got.Header.Get("Set-Cookie"), name)
		}
	}
	require.Equal(t, "same-origin", h.Do(t, "GET", "/editor", "").Header.Get("Referrer-Policy"), "else the form would say Origin: null")
}

func TestEditorFilesNeverHideAPIRoutes(t *testing.T) {
	t.Parallel()
	h := apitest.StartEditor(t, apitest.Options{})
	file := h.Do(t, "GET", "/assets/index-B2rHQ9Sn.js", "")
	require.Equal(t, http.StatusOK, file.Status)
	require.Equal(t, "run()", file.Body)
	require.Equal(t, "text/javascript; charset=utf-8", file.Header.Get("Content-Type"))
	require.Contains(t, file.Header.Get("Cache-Control"), "immutable")
	head := h.Do(t, "HEAD", "/assets/index-B2rHQ9Sn.js", "")
	require.Equal(t, http.StatusOK, head.Status)
	require.Equal(t, "5", head.Header.Get("Content-Length"))
	require.Equal(t, http.StatusNotFound, h.Do(t, "POST", "/assets/index-B2rHQ9Sn.js", "").Status)
	require.Equal(t, http.StatusNotFound, h.Do(t, "GET", "/assets/none.js", "").Status)
	for path, want := range map[string]int{
		"/api/prompt": 401, "/v2/models": 401, "/console/live.js": 200, "/editor/x": 404, "/files/a/b": 404, "/index.html": 404, "/assets": 404,
	} {
		got := h.Do(t, "GET", path, "")
		require.Equal(t, want, got.Status, path)
		require.NotEqual(t, "no", got.Body, path)
	}
}

func TestEditorWithoutAccountsNeedsNoSignIn(t *testing.T) {
	t.Parallel()
	h := apitest.StartEditor(t, apitest.Options{Mode: account.ModeNone})
	require.Equal(t, "<!doctype html><title>E</title>", h.Do(t, "GET", "/", "").Body)
	require.Equal(t, http.StatusForbidden, h.Do(t, "GET", "/", "", "Host", "evil.example").Status, "a rebound name")
	require.Equal(t, http.StatusForbidden, h.Do(t, "POST", "/api/prompt", "{}", "Origin", "https://evil.example").Status)
}

// A cookie stands behind every page of this origin, so nothing that an account stored may run in one.
func TestStoredContentNeverRunsInTheEditorsOrigin(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	evil := `<script>fetch("/api/queue",{method:"POST"})</script>`
	for name, kind := range map[string]string{
		"a.html": "text/html", "b.svg": "image/svg+xml", "c.xhtml": "application/xhtml+xml", "d.js": "text/javascript",
		"e.xml": "text/xml", "f.txt": "text/plain",
	} {
		stored := h.Post(t, "/api/v2/assets", "key-a",
			apitest.Upload(evil+name, apitest.Field("content_type", kind), apitest.Field("file_path", name))...)
		require.Equal(t, http.StatusCreated, stored.Status, "%s: %s", name, stored.Body)
		link, _ := stored.JSON(t)["url"].(string)
		got := h.Get(t, link, "")
		require.Equal(t, http.StatusOK, got.Status, name)
		requireInert(t, name, got.Header)
	}
	require.Equal(t, http.StatusOK, h.Put(t, "key-a", "/userdata/"+url.PathEscape("workflows/x.html"), evil).Status)
	for _, dest := range []string{"document", "script", "style", "iframe"} {
		got := h.Get(t, "/userdata/"+url.PathEscape("workflows/x.html"), "key-a", "Sec-Fetch-Dest", dest)
		require.Equal(t, "application/octet-stream", got.Header.Get("Content-Type"))
		require.Contains(t, got.Header.Get("Content-Disposition"), "attachment")
		require.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"))
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
