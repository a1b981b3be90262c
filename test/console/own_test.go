package console_test

import (
	"bytes"
	"html"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// upload stores a file of the account through the API, with tags, and returns its id.
func (p *person) upload(name, content string, tags ...string) string {
	p.t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", name)
	require.NoError(p.t, err)
	_, err = part.Write([]byte(content))
	require.NoError(p.t, err)
	for _, tag := range append([]string{"input"}, tags...) {
		require.NoError(p.t, w.WriteField("tags", tag))
	}
	require.NoError(p.t, w.Close())
	r := p.send(http.MethodPost, "/api/assets", form.String(), "Content-Type", w.FormDataContentType(), "X-API-Key", p.key)
	require.Less(p.t, r.status, 300, r.body)
	id := regexp.MustCompile(`"id":"([0-9a-f-]{36})"`).FindStringSubmatch(r.body)
	require.NotNil(p.t, id, r.body)
	return id[1]
}

func TestAnAccountFindsShowsAndDeletesItsAssets(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	require.Contains(t, p.page("/console/assets"), "No assets yet.")
	p.run(picture("kept", 0x3366cc))
	list := p.page("/console/assets")
	require.Contains(t, list, "kept_00001_.png")
	id := regexp.MustCompile(`id="asset-([0-9a-f-]+)"`).FindStringSubmatch(list)[1]
	text := p.upload(`<b>notes<b>.txt`, "words\n", "drafts", "to <i>keep</i>")
	at := "/console/assets/" + id
	for query, found := range map[string][2]bool{ // results for the picture and for the text
		"": {true, true}, "?q=KEPT": {true, false}, "?q=notes": {false, true}, "?tag=drafts": {false, true}, "?tag=output": {true, false},
		"?q=kept&tag=drafts": {false, false},
	} {
		shown := p.page("/console/assets" + query)
		require.Equal(t, found, [2]bool{strings.Contains(shown, "asset-"+id), strings.Contains(shown, "asset-"+text)}, query)
		require.NotContains(t, shown, "<b>notes")
		require.NotContains(t, shown, "<i>keep")
	}
	require.Contains(t, p.page("/console/assets?q=nothing"), "No asset matches.")
	require.Equal(t, http.StatusBadRequest, p.get("/console/assets?before=x").status)
	shown := p.page(at)
	for _, part := range []string{"the job that made it", "320 × 200", "kept_00001_.png [output]", "Delete…"} {
		require.Contains(t, shown, part)
	}
	require.Equal(t, "image/jpeg", p.get(at+"/thumb").header.Get("Content-Type"))
	require.Equal(t, "image/png", p.get(at+"/file").header.Get("Content-Type"))
	require.Contains(t, p.get(at+"/file?save=1").header.Get("Content-Disposition"), "attachment")
	require.Equal(t, http.StatusNotFound, p.get("/console/assets/"+text+"/thumb").status)

	stranger := newPerson(t)
	for _, path := range []string{at, at + "/file", at + "/thumb"} {
		require.Equal(t, http.StatusNotFound, stranger.get(path).status, path)
	}
	require.Equal(t, http.StatusNotFound, stranger.post(at+"/delete", url.Values{"sure": {"yes"}}).status)
	require.NotContains(t, stranger.page("/console/assets"), id)
	require.Equal(t, http.StatusBadRequest, p.post(at+"/delete", nil).status, "it asks whether one is sure")
	require.Equal(t, http.StatusForbidden, newOperator(t).post(at+"/delete?account="+p.account, url.Values{"sure": {"yes"}}).status)
	reader := &person{t: t, s: p.s}
	reader.signIn(p.s.command(t, "keys", "create", "--account", p.account, "--scope", "read"))
	require.NotContains(t, reader.page(at), "Delete…")
	require.Equal(t, http.StatusForbidden, reader.post(at+"/delete", url.Values{"sure": {"yes"}}).status)

	b := p.open()
	b.looks("assets", "/console/assets")
	b.looks("asset", at)
	b.visit(at)
	b.do(chromedp.Click(`.act summary`, chromedp.ByQuery), chromedp.Click(`.act button`, chromedp.ByQuery))
	b.arrives("the list without it", `location.pathname === "/console/assets" && !document.getElementById("asset-`+id+`")`)
	b.clean()
	require.Equal(t, http.StatusNotFound, p.get(at+"/file").status)
}

func TestAnAccountSeesWhatBecameOfItsMessages(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	require.Contains(t, p.page("/console/webhooks"), "No webhooks yet")
	for _, address := range []string{"", "ftp://a.example", "http://10.0.0.1/x"} {
		require.Equal(t, http.StatusBadRequest, p.post("/console/webhooks", url.Values{"url": {address}}).status, address)
	}
	made := p.post("/console/webhooks", url.Values{"url": {theReceiver().server.URL + "/200"}, "description": {hostile}, "event": {"job.*"}})
	if made.status == http.StatusBadRequest { // patterns stand for kinds, which the form has as choices
		made = p.post("/console/webhooks", url.Values{"url": {theReceiver().server.URL + "/200"}, "description": {hostile}})
	}
	require.Equal(t, http.StatusOK, made.status, made.body)
	secret := regexp.MustCompile(`<pre tabindex="0">(whsec_[^<]+)</pre>`).FindStringSubmatch(made.body)
	require.NotNil(t, secret, "it is shown once")
	at := regexp.MustCompile(`/console/webhooks/[0-9a-z_-]+`).FindString(made.body)
	require.NotContains(t, p.page("/console/webhooks")+p.page(at), html.EscapeString(secret[1]))
	require.NotContains(t, p.page("/console/webhooks"), "<script>alert")
	moved := func(to string, r reply) {
		t.Helper()
		require.Equal(t, http.StatusSeeOther, r.status, r.body)
		require.Equal(t, to, r.header.Get("Location"))
	}
	moved(at, p.post(at+"/test", nil))
	p.await("the delivery", func() bool { return strings.Contains(p.page(at+"?status=delivered"), "webhook.test") })
	delivery := regexp.MustCompile(`name="delivery" value="([^"]+)"`).FindStringSubmatch(p.page(at))[1]
	moved(at+"?replayed=1", p.post(at+"/replay", url.Values{"delivery": {delivery}}))
	require.Contains(t, p.page(at+"?replayed=1"), "1 deliveries are attempted again.")
	require.NotContains(t, p.page(at+"?replayed=<b>"), "<b>")
	require.Equal(t, http.StatusNotFound, p.post(at+"/replay", url.Values{"delivery": {"x"}}).status)
	require.Equal(t, http.StatusBadRequest, p.get(at+"?status=odd").status)
	require.Equal(t, http.StatusNotFound, p.post(at+"/paint", nil).status)

	stranger := newPerson(t)
	require.Equal(t, http.StatusNotFound, stranger.get(at).status)
	for _, change := range []string{"/test", "/disable", "/remove", "/replay"} {
		require.Equal(t, http.StatusNotFound, stranger.post(at+change, nil).status, change)
		require.Equal(t, http.StatusForbidden, newOperator(t).post(at+change+"?account="+p.account, nil).status, change)
	}
	b := p.open()
	b.looks("webhooks", "/console/webhooks")
	b.looks("webhook", at)
	b.clean()
	moved(at, p.post(at+"/disable", nil))
	require.Contains(t, p.page(at), `<span class="state failed">disabled</span></h1>`)
	moved(at, p.post(at+"/enable", nil))
	moved("/console/webhooks", p.post(at+"/remove", nil))
	require.Equal(t, http.StatusNotFound, p.get(at).status)
}

func TestAnAccountKeepsItsOwnKeys(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	made := p.post("/console/keys", url.Values{"scope": {"read"}})
	require.Equal(t, http.StatusOK, made.status, made.body)
	secret := html.UnescapeString(regexp.MustCompile(`<pre tabindex="0">([^<]+)</pre>`).FindStringSubmatch(made.body)[1])
	require.NotContains(t, p.page("/console/keys"), secret)
	reader := &person{t: t, s: p.s}
	reader.signIn(secret)
	list := reader.page("/console/keys")
	require.Equal(t, 2, strings.Count(list, ">good</span>"))
	require.NotContains(t, list, "Revoke")
	for _, scope := range []string{"read,write", "read"} {
		require.Equal(t, http.StatusForbidden, reader.post("/console/keys", url.Values{"scope": {scope}}).status,
			"who may only read makes no key")
	}
	require.Equal(t, http.StatusBadRequest, p.post("/console/keys", url.Values{"scope": {"everything"}}).status)
	require.Equal(t, http.StatusForbidden, newOperator(t).post("/console/keys?account="+p.account, url.Values{"scope": {"read"}}).status)
	other := newPerson(t)
	key := regexp.MustCompile(`(?s)>read</td>.*?name="key" value="([^"]+)"`).FindStringSubmatch(p.page("/console/keys"))[1]
	require.GreaterOrEqual(t, other.post("/console/keys/revoke", url.Values{"key": {key}}).status, 400, "another account's key")
	require.Equal(t, http.StatusOK, reader.get("/console/keys").status)
	b := p.open()
	b.looks("keys", "/console/keys")
	b.clean()
	require.Equal(t, http.StatusSeeOther, p.post("/console/keys/revoke", url.Values{"key": {key}}).status)
	require.Equal(t, http.StatusUnauthorized, reader.get("/console/keys").status)
	require.Contains(t, p.page("/console/keys"), ">revoked</span>")
}

func TestAnAccountSeesWhatItUsed(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	require.Contains(t, p.page("/console/usage"), "not metered")
	require.Contains(t, p.page("/console/usage"), "No model was called in these days.")
	p.api(http.MethodPost, "/v2/models/sim/echo", `{"prompt":"hello"}`)
	p.await("the call in the view", func() bool { return strings.Contains(p.page("/console/usage"), "sim/echo") })
	o := newOperator(t)
	accountID := regexp.MustCompile(`/console/accounts/([^"]+)">` + p.account).FindStringSubmatch(o.page("/console/accounts"))[1]
	require.Equal(t, http.StatusSeeOther, o.post("/console/accounts/"+accountID+"/credit",
		url.Values{"usd": {"25"}, "reason": {"a test"}}).status)
	require.Contains(t, p.page("/console/usage"), "<dt>Credit left</dt><dd>$25.00</dd>")
	require.NotContains(t, newPerson(t).page("/console/usage"), "sim/echo")
	o.await("the call in the view", func() bool { // another test makes the view of this service anew
		return strings.Contains(o.page("/console/usage?account="+accountID), "sim/echo")
	})
	b := p.open()
	b.looks("usage", "/console/usage")
	b.clean()
}
