package console_test

import (
	"bytes"
	"fmt"
	"html"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// asSaved is a graph as ComfyUI's editor saves it.
const asSaved = `{"last_node_id":2,"nodes":[
	{"id":1,"type":"EmptyImage","mode":0,"inputs":[],"outputs":[{"name":"IMAGE","type":"IMAGE","links":[1]}],"widgets_values":[64,48,1,%d]},
	{"id":2,"type":"SaveImage","title":"Keep \"<b>it</b>\"","mode":0,"inputs":[{"name":"images","type":"IMAGE","link":1}],"widgets_values":["from-the-editor"]}],
	"links":[[1,1,0,2,0,"IMAGE"]],"version":0.4}`

// dropped sends a file to the page.
func (p *person) dropped(name string, data []byte) reply {
	p.t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", name)
	require.NoError(p.t, err)
	_, err = part.Write(data)
	require.NoError(p.t, err)
	require.NoError(p.t, w.Close())
	return p.send(http.MethodPost, "/console/run", form.String(), "Content-Type", w.FormDataContentType())
}

func TestAWorkflowRunsFromTheConsole(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	require.Contains(t, p.page("/console/run"), `type="file"`)
	form := p.dropped("mill.json", fmt.Appendf(nil, asSaved, 0x3366cc))
	require.Equal(t, http.StatusOK, form.status, form.body)
	require.Contains(t, form.body, `name="input:1.width" value="64"`)
	require.NotContains(t, form.body, "<b>it</b>")
	prompt := regexp.MustCompile(`(?s)<textarea name="prompt"[^>]*>(.*?)</textarea>`).FindStringSubmatch(form.body)
	require.Len(t, prompt, 2)
	queued := p.post("/console/run/queue", url.Values{"prompt": {html.UnescapeString(prompt[1])}, "input:1.width": {"96"}, "input:1.height": {"48"}})
	require.Equal(t, http.StatusSeeOther, queued.status, queued.body)
	page := queued.header.Get("Location")
	p.await("the picture", func() bool { return strings.Contains(p.page(page), "from-the-editor_00001_.png") })
	file := p.get(regexp.MustCompile(page + `/files/[0-9a-f-]+`).FindString(p.page(page)))
	bytes := p.get(strings.TrimPrefix(file.header.Get("Location"), p.s.base)).body
	require.Equal(t, "\x00\x00\x00\x60", bytes[16:20], "96 pixels wide, as the form says")

	again := p.dropped("picture.png", []byte(bytes))
	require.Equal(t, http.StatusOK, again.status, again.body)
	require.Contains(t, again.body, `name="input:1.width" value="96"`, "the picture carries its graph")

	for name, text := range map[string]string{
		"nothing": "", "no workflow": "GIF89a", "a graph without outputs": `{"1":{"class_type":"EmptyImage","inputs":{}}}`,
		"too deep": strings.Repeat("[", 200) + strings.Repeat("]", 200), "too many members": "[" + strings.Repeat("1,", 1_000_000) + "1]",
		"an unknown class": `{"nodes":[{"id":1,"type":"Odd<b>","mode":0}],"links":[]}`,
	} {
		r := p.post("/console/run", url.Values{"text": {text}})
		if r.status == http.StatusOK { // what is wrong with a graph is said when it is queued
			r = p.post("/console/run/queue", url.Values{"prompt": {text}})
		}
		require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, r.status, "%s: %s", name, r.body)
		require.NotContains(t, r.body, "Odd<b>")
	}
	odd := url.Values{"prompt": {html.UnescapeString(prompt[1])}, "reason": {"a\x00b"}}
	require.Equal(t, http.StatusBadRequest, p.post("/console/run/queue", odd).status, "an event cannot hold this reason")
	require.Equal(t, http.StatusBadRequest, p.post(page+"/retry", odd).status)
	require.Equal(t, http.StatusBadRequest, p.post("/console/jobs/bulk", url.Values{"id": {strings.TrimPrefix(page, "/console/jobs/")}, "action": {"retry"}, "reason": odd["reason"]}).status)
	reader := &person{t: t, s: p.s}
	reader.key = p.s.command(t, "keys", "create", "--account", p.account, "--scope", "read")
	reader.signIn(reader.key)
	require.Equal(t, http.StatusForbidden, reader.get("/console/run").status)
	require.Equal(t, http.StatusForbidden, reader.post("/console/run/queue", url.Values{"prompt": {"{}"}}).status)

	b := p.open()
	b.looks("run", "/console/run")
	b.clean()
}
