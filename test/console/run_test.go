package console_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"image/color"
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
	{"id":1,"type":"EmptyImage","mode":0,"inputs":[],"outputs":[{"name":"IMAGE","type":"IMAGE","links":[1]}],"widgets_values":[64,` +
	`48,1,%d]},
	{"id":2,"type":"SaveImage","title":"Keep \"<b>it</b>\"","mode":0,"inputs":[{"name":"images","type":"IMAGE","link":1}],` +
	`"widgets_values":["from-the-editor"]}],
	"links":[[1,1,0,2,0,"IMAGE"]],"version":0.4}`

// dropped sends a file to the page, together with fields and their values.
func (p *person) dropped(name string, data []byte, fields ...string) reply {
	p.t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for i := 0; i+1 < len(fields); i += 2 {
		require.NoError(p.t, w.WriteField(fields[i], fields[i+1]))
	}
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
	queued := p.post("/console/run/queue", url.Values{
		"prompt": {html.UnescapeString(prompt[1])}, "input:1.width": {"96"},
		"input:1.height": {"48"},
	})
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
		if r.status == http.StatusOK { // errors of a graph are reported when it is queued
			r = p.post("/console/run/queue", url.Values{"prompt": {text}})
		}
		require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, r.status, "%s: %s", name, r.body)
		require.NotContains(t, r.body, "Odd<b>")
	}
	odd := url.Values{"prompt": {html.UnescapeString(prompt[1])}, "reason": {"a\x00b"}}
	require.Equal(t, http.StatusBadRequest, p.post("/console/run/queue", odd).status, "an event cannot hold this reason")
	require.Equal(t, http.StatusBadRequest, p.post(page+"/retry", odd).status)
	require.Equal(t, http.StatusBadRequest, p.post("/console/jobs/bulk",
		url.Values{"id": {strings.TrimPrefix(page, "/console/jobs/")}, "action": {"retry"}, "reason": odd["reason"]}).status)
	reader := &person{t: t, s: p.s}
	reader.key = p.s.command(t, "keys", "create", "--account", p.account, "--scope", "read")
	reader.signIn(reader.key)
	require.Equal(t, http.StatusForbidden, reader.get("/console/run").status)
	require.Equal(t, http.StatusForbidden, reader.post("/console/run/queue", url.Values{"prompt": {"{}"}}).status)

	b := p.open()
	b.looks("run", "/console/run")
	b.clean()
}

// heldPrompt returns the graph in the form of the page.
func heldPrompt(t *testing.T, page string) string {
	t.Helper()
	prompt := regexp.MustCompile(`(?s)<textarea name="prompt"[^>]*>(.*?)</textarea>`).FindStringSubmatch(page)
	require.Len(t, prompt, 2, page)
	return html.UnescapeString(prompt[1])
}

func TestAPlainPictureThatIsDroppedIsLoaded(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	red := photo(t, 40, color.RGBA{R: 200, A: 255})
	form := p.dropped("a \"<b>\" photo.jpg", red)
	require.Equal(t, http.StatusOK, form.status, form.body)
	require.NotContains(t, form.body, "<b>")
	require.Contains(t, form.body, `name="input:2.width" value="40"`, "its own size")
	require.Contains(t, html.UnescapeString(form.body), `name="input:1.image" value="a "<b>" photo.jpg"`)
	require.Contains(t, html.UnescapeString(p.page("/console/assets")), `a "<b>" photo.jpg`, "it is an asset of the account")
	queued := p.post("/console/run/queue", url.Values{"prompt": {heldPrompt(t, form.body)}, "input:2.width": {"16"}, "input:2.height": {"8"}})
	require.Equal(t, http.StatusSeeOther, queued.status, queued.body)
	page := queued.header.Get("Location")
	p.await("the picture", func() bool { return strings.Contains(p.page(page), "scaled_00001_.png") })
	file := p.get(regexp.MustCompile(page + `/files/[0-9a-f-]+`).FindString(p.page(page)))
	made := p.get(strings.TrimPrefix(file.header.Get("Location"), p.s.base)).body
	require.Equal(t, "\x00\x00\x00\x10\x00\x00\x00\x08", made[16:24], "as the form said")

	const inverting = `{"5":{"class_type":"LoadImage","inputs":{"image":"gone.png"}},"6":{"class_type":"ImageInvert",` +
		`"inputs":{"image":["5",0]}},"7":{"class_type":"SaveImage","inputs":{"images":["6",0],"filename_prefix":"inverted"}}}`
	held := p.dropped("blue.jpg", photo(t, 24, color.RGBA{B: 200, A: 255}), "prompt", inverting, "input:7.filename_prefix", "typed")
	require.Equal(t, http.StatusOK, held.status, held.body)
	require.Contains(t, held.body, `name="input:5.image" value="blue.jpg"`, "the graph of the page loads it")
	require.Contains(t, held.body, `name="input:7.filename_prefix" value="typed"`, "what was typed stays")

	require.Equal(t, http.StatusBadRequest, p.dropped("broken.jpg", red[:100]).status)
	require.Equal(t, http.StatusBadRequest, p.dropped("broken.png", []byte("\x89PNG\r\n\x1a\nbroken")).status)
	require.NotContains(t, p.page("/console/assets"), "broken", "nothing of a refused file is kept")
	reader := &person{t: t, s: p.s}
	reader.key = p.s.command(t, "keys", "create", "--account", p.account, "--scope", "read")
	reader.signIn(reader.key)
	require.Equal(t, http.StatusForbidden, reader.dropped("red.jpg", red).status)

	b := p.open()
	b.visit("/console/run")
	drop := `(function () {
		var binary = atob("` + base64.StdEncoding.EncodeToString(red) +
		`"), bytes = Uint8Array.from(binary, function (c) { return c.charCodeAt(0); }), data = new DataTransfer();
		data.items.add(new File([bytes], "%s", {type: "image/jpeg"}));
		document.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
		return true;
	})()`
	eval[bool](b, fmt.Sprintf(drop, "first.jpg"))
	b.arrives("the form", `(document.querySelector("[name='input:1.image']") || {}).value === "first.jpg"`)
	eval[bool](b, `document.querySelector("[name='input:2.width']").value = "77", true`)
	eval[bool](b, fmt.Sprintf(drop, "second.jpg"))
	b.arrives("the next form", `(document.querySelector("[name='input:1.image']") || {}).value === "second.jpg"`)
	require.Equal(t, "77", eval[string](b, `document.querySelector("[name='input:2.width']").value`))
	b.picture("run-picture")
	b.size(390, 900)
	b.fits("the form of a picture")
	b.clean()
}

func TestAPictureIsNotKeptBeyondTheQuota(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	small := photo(t, 40, color.Black)
	of := regexp.MustCompile(`/console/accounts/([^"]+)">` + p.account).FindStringSubmatch(newOperator(t).page("/console/accounts"))[1]
	limit := func(bytes int) {
		r := p.send(http.MethodPut, "/admin/accounts/"+of+"/storage", fmt.Sprintf(`{"actor":"kim","reason":"share","limit_bytes":%d}`, bytes),
			"Authorization", "Bearer "+adminToken, "Content-Type", "application/json")
		require.Equal(t, http.StatusOK, r.status, r.body)
	}
	limit(len(small) - 1) // some storage is left, but not enough for this file
	refused := p.dropped("small.jpg", small)
	require.Equal(t, http.StatusForbidden, refused.status, refused.body)
	require.NotContains(t, p.page("/console/assets"), "small.jpg")
	limit(len(small) + 1)
	require.Equal(t, http.StatusOK, p.dropped("small.jpg", small).status)
}
