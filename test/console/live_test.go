package console_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheListIsLiveWhenNothingRuns(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	b := p.open()
	b.visit("/console")
	require.Contains(t, b.text(), "No jobs yet")
	b.await("the stream", `document.getElementById("main").dataset.state === "live"`)
	id := p.run(picture("live", 0x3366cc))
	b.await("the job in the list", `document.querySelector('a[href="/console/jobs/`+id+`"]') && `+
		`/succeeded/.test(document.getElementById("main").innerText)`)
	require.Equal(t, 1, eval[int](b, `performance.getEntriesByType("navigation").length`), "the page was not loaded again")
	require.Zero(t, eval[int](b, `performance.getEntriesByType("resource").filter(function (r) { return r.initiatorType === "fetch" `+
		`}).length`), "nothing is fetched to look for news")
	require.Contains(t, eval[string](b, `document.querySelector("main time").textContent`), "ago", "times are the reader's own")
	require.Equal(t, "image/svg+xml", p.get(eval[string](b,
		`document.querySelector("link[rel=icon]").getAttribute("href")`)).header.Get("Content-Type"))
	b.clean()
}

// TestHostileTextCannotForgeEvents sends the text of a page in an event. A carriage return in a name would end the
// line, and the rest could be another field.
func TestHostileTextCannotForgeEvents(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.submit(`{"prompt":` + picture("forged", 1) + `,"extra_data":{"metadata":{}}}`)
	id := p.run(`{"1":{"class_type":"PrimitiveString","inputs":{"value":"x"},"_meta":{"title":"a\revent: forged\rdata: yes\r\r"}},` +
		`"2":{"class_type":"PreviewAny","inputs":{"source":["1",0]}}}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.s.base+"/console/jobs/"+id, nil)
	require.NoError(t, err)
	req.AddCookie(p.cookie)
	req.Header.Set("Accept", "text/event-stream")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, "text/event-stream; charset=utf-8", res.Header.Get("Content-Type"))
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	whole := ""
	for lines.Scan() && (whole == "" || lines.Text() != "" || !strings.Contains(whole, "event: content")) {
		whole += lines.Text() + "\n"
	}
	require.Contains(t, whole, "data: ")
	require.NotContains(t, whole, "\r")
	require.Contains(t, whole, "&#13;event: forged")
	res.Body.Close()

	stranger := &person{t: t, s: p.s, withoutRedirect: p.withoutRedirect}
	require.Equal(t, http.StatusUnauthorized, stranger.send(http.MethodGet, "/console", "", "Accept", "text/event-stream").status)
	require.Equal(t, http.StatusNotFound, newPerson(t).send(http.MethodGet, "/console/jobs/"+id, "", "Accept", "text/event-stream").status,
		"another account's")
}
