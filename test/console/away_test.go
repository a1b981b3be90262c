package console_test

import (
	"archive/zip"
	"encoding/hex"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// withoutDatabase lists the pages that need no database once the visitor is known, with a part of their text.
var withoutDatabase = map[string]string{"/console/models": "sim/image"}

// TestPagesWithoutADatabase stops the database of a running service and starts it again. Pages report the outage in a
// sentence, open pages keep their content, sent forms are not lost, and everything continues by itself.
func TestPagesWithoutADatabase(t *testing.T) {
	t.Parallel()
	proxy := pgtest.NewProxy(t, storetest.NewDatabase(t))
	s := startWith(t, "--database-url", proxy.URL())
	p := &person{t: t, s: s, account: "away"}
	operator := &person{t: t, s: s}
	operator.signIn(adminToken)
	made := operator.post("/console/accounts", url.Values{"name": {"away"}, "tier": {"pro"}, "reason": {"the test"}})
	require.Equal(t, http.StatusSeeOther, made.status, made.body)
	at := made.header.Get("Location")
	issued := operator.post(at+"/keys", url.Values{"scope": {"read,write"}, "reason": {"the test"}})
	p.key = regexp.MustCompile(`<pre>([^<]+)</pre>`).FindStringSubmatch(issued.body)[1]
	p.signIn(p.key)
	id := p.run(picture("kept", 0x336699))

	open := p.open()
	open.visit("/console")
	open.await("the stream", `document.getElementById("main").dataset.state === "live"`)
	require.True(t, eval[bool](open, `document.getElementById("away").hidden`))
	fresh := p.open()
	fresh.size(390, 900)
	theirs := operator.open()

	proxy.Stop(true)
	open.await("a word that the database is away", `/database is not available/.test(document.getElementById("away").innerText)`)
	require.Contains(t, open.text(), id[:8], "what was shown stays")
	require.Contains(t, eval[string](open, `document.getElementById("away").innerText`), "goes on by itself")
	open.picture("away-open")
	open.clean()
	for _, page := range navigation(p.s, p.get("/console").body) {
		fresh.unavailable(page)
	}
	fresh.picture("away-account")
	for _, page := range []string{"/console/jobs/" + id, "/console/jobs/" + id + "/again", "/console/webhooks", "/console/keys"} {
		fresh.unavailable(page)
	}
	for _, page := range navigation(operator.s, operator.get("/console").body) {
		if page != "/console/doctor" {
			theirs.unavailable(page)
		}
	}
	theirs.visit("/console/doctor")
	theirs.await("what helps", `document.getElementById("main").innerText.includes("check the database's log")`)
	theirs.clean()

	lost := p.post("/console/jobs/"+id+"/retry", url.Values{"reason": {markup}, "credential": {"a secret"}})
	require.Equal(t, http.StatusServiceUnavailable, lost.status)
	require.Contains(t, lost.body, "This page keeps what you entered")
	require.NotContains(t, lost.body, "a secret")
	require.Empty(t, lost.header.Get("Refresh"), "a form is not sent again by itself")
	kept := regexp.MustCompile(`(?s)action="(/console/jobs/[^"]+/retry)">.*?<textarea ` +
		`name="reason"[^>]*>\n(.*?)</textarea>.*?name="credential" type="password"`).FindStringSubmatch(lost.body)
	require.NotNil(t, kept, lost.body)
	require.Equal(t, markup, html.UnescapeString(kept[2]))

	proxy.Stop(false)
	open.await("the page to go on", `document.getElementById("away").hidden && document.getElementById("main").dataset.state === "live"`)
	fresh.arrives("the page to come back by itself", `document.querySelector("h1") && !/Not `+
		`available/.test(document.querySelector("h1").innerText)`)
	again := p.post(kept[1], url.Values{"reason": {html.UnescapeString(kept[2])}})
	require.Equal(t, http.StatusSeeOther, again.status, again.body)
	p.await("the new job", func() bool { return strings.Count(p.page("/console"), `<tr id="job-`) == 2 })
	open.await("the new job in the open page", `document.querySelectorAll("tbody tr").length === 2`)
	open.clean()
}

var links = regexp.MustCompile(`href="(/console[^"]*)"`)

// navigation returns the paths of a page's navigation.
func navigation(_ *service, page string) []string {
	var paths []string
	for _, link := range links.FindAllStringSubmatch(regexp.MustCompile(`(?s)<nav.*?</nav>`).FindString(page), -1) {
		paths = append(paths, html.UnescapeString(link[1]))
	}
	return paths
}

// unavailable opens a page that cannot be shown during the outage, or one that does not need the missing part.
func (b *browser) unavailable(page string) {
	b.t.Helper()
	b.visit(page)
	b.fits(page)
	if status := eval[int](b, `performance.getEntriesByType("navigation")[0].responseStatus`); status == http.StatusOK {
		require.Contains(b.t, withoutDatabase, page, "what does it show without a database?")
		require.Contains(b.t, b.text(), withoutDatabase[page])
		b.clean()
		return
	} else {
		require.Equal(b.t, http.StatusServiceUnavailable, status, page)
	}
	require.Regexp(b.t, "database is not available|The key cannot be checked now", b.text(), page)
	require.Contains(b.t, b.text(), "This page tries again by itself.", page)
	require.NotEmpty(b.t, eval[string](b, `document.querySelector("nav").innerText`), "%s: the way to the other pages", page)
	b.reported()
}

// reported discards the browser's report about the status of a page, and fails the test if there are other reports.
func (b *browser) reported() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, problem := range b.problems {
		require.Contains(b.t, problem, "the server responded with a status of")
	}
	b.problems = nil
}

// TestPagesWithoutABlob removes the stored bytes of a picture. Every page that shows the picture has a substitute
// that says so.
func TestPagesWithoutABlob(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	id := p.run(picture("taken", 0x123456+int(p.t.Name()[0])))
	p.await("the asset", func() bool { return strings.Contains(p.page("/console/assets"), "taken_") })
	asset := regexp.MustCompile(`/console/assets/([0-9a-f-]{36})"`).FindStringSubmatch(p.page("/console/assets"))[1]
	hash, _ := p.api(http.MethodGet, "/api/v2/assets/"+asset, "")["hash"].(string)
	ref, err := blob.ParseRef(hash)
	require.NoError(t, err, hash)
	removed := 0
	require.NoError(t, filepath.WalkDir(filepath.Join(p.s.data), func(path string, e os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ref.Hex()) || err == nil && strings.HasSuffix(path, hex.EncodeToString(ref[:])) {
			removed++
			return os.Remove(path)
		}
		return nil
	}))
	require.Positive(t, removed)
	b := p.open()
	for _, page := range []string{
		"/console", "/console/gallery", "/console/assets", "/console/assets/" + asset, "/console/jobs/" + id,
		"/console/jobs/" + id + "/outputs/" + asset,
	} {
		b.visit(page)
		b.await("the pictures of "+page, `document.images.length > 0 && Array.from(document.images).every(function (i) { i.loading = "eager"; `+
			`return i.complete && i.naturalWidth === 240 })`)
		b.picture("gone-" + strings.ReplaceAll(strings.Trim(page, "/"), "/", "-"))
		b.clean()
	}
	shown := p.get("/console/jobs/" + id + "/files/" + asset)
	require.Equal(t, http.StatusNotFound, shown.status, "a link to the file leads to a page that says so")
	require.Contains(t, shown.body, "The content of this file is not available.")
	archive := p.get("/console/jobs/files.zip?id=" + id)
	require.Equal(t, http.StatusOK, archive.status, archive.body)
	inside, err := zip.NewReader(strings.NewReader(archive.body), int64(len(archive.body)))
	require.NoError(t, err)
	require.Len(t, inside.File, 1)
	require.Equal(t, "MISSING.txt", inside.File[0].Name)
}

// TestPagesWithoutAServer stops the only ComfyUI server.
func TestPagesWithoutAServer(t *testing.T) {
	t.Parallel()
	m, err := comfyui.Start("127.0.0.1:0", comfyui.Options{})
	require.NoError(t, err)
	s := startWith(t, "--comfyui", m.URL())
	p := s.newPerson(t)
	operator := &person{t: t, s: s}
	operator.signIn(adminToken)
	p.await("the server", func() bool { return strings.Contains(operator.page("/console/servers"), `class="state healthy"`) })
	b := operator.open()
	b.visit("/console/servers")
	m.Close()
	b.await("the server to be away", `/away/.test(document.querySelector("section.server h2").innerText)`)
	require.NotEmpty(t, eval[string](b, `document.querySelector("section.server .notice").innerText`), "why")
	b.picture("away-server")
	b.clean()
	b.visit("/console/doctor")
	b.await("the finding", `/`+regexp.QuoteMeta(strings.TrimPrefix(m.URL(), "http://"))+`/.test(document.getElementById("main").innerText)`)
	b.clean()
}

// TestPagesWithoutAProvider calls a model whose provider does not answer.
func TestPagesWithoutAProvider(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	at := p.called("sim/image", map[string]string{"prompt": "[sim:down] a red square"})
	b := p.open()
	b.visit(at)
	b.await("the end", `document.querySelector(".failure")`)
	require.Contains(t, eval[string](b, `document.querySelector(".failure").innerText`), "provider")
	require.Contains(t, b.text(), "Change and run again", "what to do")
	b.picture("away-provider")
	b.clean()
}
