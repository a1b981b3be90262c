package e2e_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// browser keeps the cookie that a server sets.
type browser struct {
	*client
	cookie string
}

// signedIn opens the console with the client's key.
func (c *client) signedIn() *browser {
	c.t.Helper()
	b := &browser{client: c}
	r := b.post("/console/signin", url.Values{"key": {c.key}})
	require.Equal(c.t, http.StatusSeeOther, r.status, r.body)
	set := r.header.Get("Set-Cookie")
	require.Contains(c.t, set, "HttpOnly")
	require.Contains(c.t, set, "SameSite=Strict")
	require.Contains(c.t, set, "Path=/console")
	require.NotContains(c.t, set, c.key, "the key itself is not in the cookie")
	b.cookie, _, _ = strings.Cut(set, ";")
	return b
}

func (b *browser) visit(method, path, form string, headers ...string) reply {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url(path), strings.NewReader(form))
	require.NoError(b.t, err)
	if b.cookie != "" {
		req.Header.Set("Cookie", b.cookie)
	}
	if form != "" || method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return b.send(req)
}

func (b *browser) get(path string) reply { return b.visit(http.MethodGet, path, "") }

func (b *browser) post(path string, form url.Values) reply {
	return b.visit(http.MethodPost, path, form.Encode(), "Sec-Fetch-Site", "same-origin")
}

func TestTheConsoleShowsAnAccountItsJobs(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	b := c.signedIn()
	require.Contains(t, b.get("/console").body, "No jobs yet")
	c.upload("in.png", tinyPNG(t))
	id := c.submit(`{"1":{"class_type":"LoadImage","inputs":{"image":"in.png"},"_meta":{"title":"The photograph"}},
		"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"seen"}}}`)
	c.await(id, "completed")

	list := b.get("/console")
	require.Equal(t, http.StatusOK, list.status)
	require.Contains(t, list.body, `/console/jobs/`+id)
	require.Contains(t, b.get("/console?status=succeeded").body, id)
	require.Contains(t, b.get("/console?status=failed").body, "No job is failed")
	require.Equal(t, http.StatusBadRequest, b.get("/console?status=odd").status)

	page := b.get("/console/jobs/" + id)
	require.Equal(t, http.StatusOK, page.status)
	require.Equal(t, "no-store", page.header.Get("Cache-Control"))
	require.Contains(t, page.header.Get("Content-Security-Policy"), "default-src 'none'")
	for _, want := range []string{"The photograph", "<svg", "SaveImage", "seen_00001_.png", "job.succeeded", "Where the time went"} {
		require.Contains(t, page.body, want)
	}
	shown := regexp.MustCompile(`<img src="([^"]+)"`).FindStringSubmatch(page.body)
	require.Len(t, shown, 2)
	link := b.get(shown[1])
	require.Equal(t, http.StatusFound, link.status, "the address of a picture stays, the link to its bytes ends")
	require.Equal(t, "image/png", b.get(link.header.Get("Location")).header.Get("Content-Type"))
	require.Equal(t, http.StatusNotFound, newClient(t, "pro").signedIn().get(shown[1]).status, "another account's")

	again := b.post("/console/jobs/"+id+"/retry", url.Values{"reason": {"to see it twice"}, "from": {"2"}})
	require.Equal(t, http.StatusSeeOther, again.status, again.body)
	next := strings.TrimSuffix(strings.TrimPrefix(again.header.Get("Location"), "/console/jobs/"), "?notice=again")
	require.NotEqual(t, id, next)
	c.await(next, "completed")
	made := b.get("/console/jobs/" + next)
	require.Contains(t, made.body, "to see it twice")
	require.Contains(t, made.body, "/console/jobs/"+id)
	require.Contains(t, made.body, "seen_00002_.png")
	require.Equal(t, http.StatusBadRequest, b.post("/console/jobs/"+id+"/retry", url.Values{"from": {"99"}}).status)
}

func TestConsoleEscapesGraphContent(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	id := c.submit(`{"<script>alert(1)</script>":{"class_type":"PrimitiveString",
			"inputs":{"value":"</pre><script>alert(2)</script><img src=x onerror=alert(3)>"},"_meta":{"title":"\"><svg onload=alert(4)>"}},
		"2":{"class_type":"PreviewAny","inputs":{"source":["<script>alert(1)</script>",0]}}}`)
	c.await(id, "completed")
	page := c.signedIn().get("/console/jobs/" + id)
	require.Equal(t, http.StatusOK, page.status)
	require.Contains(t, page.body, "&lt;script&gt;alert(1)&lt;/script&gt;")
	require.Contains(t, page.body, "&lt;img src=x onerror=alert(3)&gt;")
	for _, hostile := range []string{"<script>", "<img src=x", "<svg onload"} {
		require.NotContains(t, page.body, hostile)
	}
	require.NotContains(t, page.header.Get("Content-Security-Policy"), "unsafe-inline")
}

func TestConsoleShowsOwnJobsOnly(t *testing.T) {
	t.Parallel()
	c, other := newNamed(t, "pro"), newClient(t, "pro")
	id := c.submit(slow) // it runs until it is canceled
	stranger := &browser{client: c.client}
	for _, path := range []string{"/console", "/console/jobs/" + id} {
		r := stranger.get(path)
		require.Equal(t, http.StatusUnauthorized, r.status)
		require.Contains(t, r.body, `name="key"`)
		require.NotContains(t, r.body, id)
	}
	require.Equal(t, http.StatusUnauthorized, stranger.post("/console/signin", url.Values{"key": {"wrong"}}).status)
	stranger.cookie = "millrace_console=AAAA"
	require.Equal(t, http.StatusUnauthorized, stranger.get("/console").status)

	neighbour := other.signedIn()
	for _, r := range []reply{
		neighbour.get("/console/jobs/" + id), neighbour.get("/console/jobs/nonsense"),
		neighbour.post("/console/jobs/"+id+"/cancel", nil), neighbour.post("/console/jobs/"+id+"/retry", nil),
	} {
		require.Equal(t, http.StatusNotFound, r.status, r.body)
	}

	b := c.signedIn()
	live := b.get("/console/jobs/" + id)
	require.Regexp(t, `<script nonce="\w+" src="/console/live.js" defer></script>`, live.body)
	require.Equal(t, strings.Count(live.body, `<script nonce="`), strings.Count(live.body, "<script"), "every script has the nonce")
	require.NotRegexp(t, `<script[^>]*>[^<]`, live.body, "no script is written into the page")
	require.Contains(t, b.get("/console/live.js").header.Get("Content-Type"), "text/javascript")
	foreign := b.visit(http.MethodPost, "/console/jobs/"+id+"/cancel", "x=1", "Origin", "https://elsewhere.example", "Sec-Fetch-Site",
		"cross-site")
	require.Equal(t, http.StatusForbidden, foreign.status, "another site's form")
	reader := &client{t: t, base: c.base, key: start(t).Run(t, "keys", "create", "--account", c.name, "--scope", "read")}
	require.Equal(t, http.StatusForbidden, reader.signedIn().post("/console/jobs/"+id+"/cancel", nil).status)

	require.Equal(t, http.StatusConflict, b.post("/console/jobs/"+id+"/retry", nil).status, "it still runs")
	require.Equal(t, http.StatusBadRequest, b.post("/console/jobs/"+id+"/cancel", url.Values{"reason": {strings.Repeat("x", 1001)}}).status)
	canceled := b.post("/console/jobs/"+id+"/cancel", url.Values{"reason": {"the wrong picture"}})
	require.Equal(t, http.StatusSeeOther, canceled.status, canceled.body)
	c.await(id, "cancelled")
	require.Contains(t, b.get(canceled.header.Get("Location")).body, "asked to stop")
	require.Contains(t, b.get("/console/jobs/"+id).body,
		`because the wrong picture</span></td><td data-label="By" class="tight">the account, in the console</td>`, "who asked, and why")
	require.Equal(t, http.StatusSeeOther, b.post("/console/signout", nil).status)
}
