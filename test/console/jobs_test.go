package console_test

import (
	"archive/zip"
	"bytes"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// failing is a graph that fails when it runs. %d makes its message different each time.
const failing = `{"1":{"class_type":"RegexReplace","inputs":{"string":"a","regex_pattern":"(%d","replace":"","case_insensitive":false,` +
	`"multiline":false,"dotall":false,"count":0}},
	"5":{"class_type":"PreviewAny","inputs":{"source":["1",0]}}}`

const titled = `{"prompt":{"1":{"class_type":"EmptyImage","inputs":{"width":64,"height":64,"batch_size":1,"color":255}},
	"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"fox"}},
	"3":{"class_type":"PrimitiveString","inputs":{"value":"red fox in deep snow"}},"4":{"class_type":"PreviewAny","inputs":{"source":["3",0]}},
	"5":{"class_type":"PrimitiveString","inputs":{"value":"sd15.safetensors"}},"6":{"class_type":"PreviewAny","inputs":{"source":["5",0]}}},
	"extra_data":{"extra_pnginfo":{"workflow":{"extra":{"title":"Foxes <script>alert(1)</script>"}}}}}`

func TestTheListShowsWhatJobsMadeAndWhatTheyAre(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	id := p.submit(titled)
	var list string
	p.await("the job in the index", func() bool {
		list = p.page("/console")
		return strings.Contains(list, "Foxes") && strings.Contains(list, `class="state succeeded"`)
	})
	require.NotContains(t, list, "<script>alert")
	require.Contains(t, list, `class="tag model">sd15.safetensors<`)
	require.Contains(t, list, "EmptyImage")
	thumb := regexp.MustCompile(`/console/jobs/` + id + `/thumbs/[0-9a-f-]+`).FindString(list)
	require.NotEmpty(t, thumb)
	p.await("the thumbnail", func() bool { return p.get(thumb).header.Get("Content-Type") == "image/jpeg" })
	require.Equal(t, http.StatusNotFound, newPerson(t).get(thumb).status, "another account's")

	for query, found := range map[string]bool{
		"q=fox+snow": true, "q=FO": true, "q=wolf": false, "class=EmptyImage": true, "class=Empty": false, "model=sd15.safetensors": true,
		"since=1h": true, "until=2020-01-01": false, "status=succeeded&q=fox": true, "status=failed&q=fox": false, "meta=a:b": false,
	} {
		require.Equal(t, found, strings.Contains(p.page("/console?"+query), "/console/jobs/"+id), query)
	}
	for _, query := range []string{"status=odd", "since=yesterday", "meta=x", "before=-1"} {
		require.Equal(t, http.StatusBadRequest, p.get("/console?"+query).status, query)
	}
	for _, status := range []string{"expired", "canceling"} {
		require.Contains(t, p.page("/console?status="+status), "No job is "+status)
	}
	hostile := url.Values{"q": {`"><script>alert(1)</script>`}, "class": {`' onmouseover=alert(1) x='`}}.Encode()
	require.NotContains(t, p.page("/console?"+hostile), "<script>alert")

	operator := newOperator(t)
	require.Contains(t, operator.page("/console?q=fox&class=EmptyImage"), id, "an operator sees all accounts")
	account := url.Values{"account": {accountOf(t, operator, id)}}.Encode()
	require.Contains(t, operator.page("/console/jobs/"+id+"?"+account), "EmptyImage")
	require.NotContains(t, newPerson(t).page("/console?"+account), id, "an account sees its own, whatever the address says")
}

// accountOf reads the account of a job from the operator's list.
func accountOf(t *testing.T, operator *person, id string) string {
	t.Helper()
	m := regexp.MustCompile(`/console/jobs/` + id + `\?account=([^"]+)"`).FindStringSubmatch(operator.page("/console?q=fox&class=EmptyImage"))
	require.NotNil(t, m)
	account, err := url.QueryUnescape(m[1])
	require.NoError(t, err)
	return account
}

func TestFailuresAreGroupedByCause(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	for _, text := range []string{"1", "2", "3"} {
		p.run(strings.ReplaceAll(failing, "%d", text))
	}
	var groups string
	p.await("the failures", func() bool {
		groups = p.page("/console?group=cause")
		return regexp.MustCompile(`>3</a></td><td data-label="Cause" class="long">`).MatchString(groups)
	})
	link := regexp.MustCompile(`href="(/console\?[^"]*cause=[^"]*)">3<`).FindStringSubmatch(groups)
	require.NotNil(t, link)
	list := p.page(html.UnescapeString(link[1]))
	require.Equal(t, 3, strings.Count(list, `<tr id="job-`))
}

func TestSelectedJobsAreActedOnAfterAPreview(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	done, second := p.run(picture("bulk", 0x336699)), p.run(picture("bulk", 0x663399))
	both := url.Values{"id": {done, second}}
	preview := p.page("/console/jobs/bulk?action=cancel&" + both.Encode())
	require.Contains(t, preview, "The job has ended: it cannot be canceled.")
	require.Contains(t, preview, "Nothing would happen.")
	require.Contains(t, p.page("/console/jobs/bulk?action=retry&"+both.Encode()), "The job runs again as a new job.")
	again := p.post("/console/jobs/bulk", url.Values{"id": both["id"], "action": {"retry"}, "reason": {"both once more"}})
	require.Equal(t, http.StatusSeeOther, again.status, again.body)
	require.Contains(t, p.page(again.header.Get("Location")), "2 of 2 jobs run again.")
	p.await("four jobs", func() bool { return strings.Count(p.page("/console"), `<tr id="job-`) == 4 })

	require.Contains(t, p.page("/console/jobs/bulk?action=export&"+both.Encode()), "1 files,")
	archive := p.get("/console/jobs/files.zip?" + both.Encode())
	require.Equal(t, http.StatusOK, archive.status, archive.body)
	packed, err := zip.NewReader(bytes.NewReader([]byte(archive.body)), int64(len(archive.body)))
	require.NoError(t, err)
	require.Len(t, packed.File, 2)

	stranger := newPerson(t)
	for _, path := range []string{"/console/jobs/bulk?action=retry&", "/console/jobs/files.zip?"} {
		require.Equal(t, http.StatusNotFound, stranger.get(path+both.Encode()).status, path)
	}
	require.Equal(t, http.StatusNotFound, stranger.post("/console/jobs/bulk", url.Values{"id": both["id"], "action": {"retry"}}).status)
	require.Equal(t, http.StatusBadRequest, p.get("/console/jobs/bulk?action=retry").status, "nothing is selected")
	require.Equal(t, http.StatusBadRequest, p.get("/console/jobs/bulk?action=erase&"+both.Encode()).status)
}

func TestTheListInABrowser(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.submit(titled)
	p.run(strings.ReplaceAll(failing, "%d", "9"))
	p.run(picture("looks", 0xcc6633))
	p.await("the index", func() bool { return strings.Contains(p.page("/console"), "Foxes") })
	b := p.open()
	b.looks("jobs", "/console")
	require.Less(t, p.wire("/console"), 60_000, "bytes of the list")
	b.looks("failures", "/console?group=cause")
	b.looks("jobs-none", "/console?q=nothing")

	b.visit("/console")
	b.await("the stream", `document.getElementById("main").dataset.state === "live"`)
	eval[bool](b, `(document.querySelector("details").open = true) && (document.querySelector("input[name=id]").checked = true)`)
	ticked := eval[string](b, `document.querySelector("input[name=id]:checked").value`)
	rows := eval[int](b, `document.querySelectorAll("tbody tr").length`)
	p.run(picture("news", 0x33cc66))
	b.await("the new job", `document.querySelectorAll("tbody tr").length > `+itoa(rows))
	require.Equal(t, ticked, eval[string](b, `document.querySelector("input[name=id]:checked").value`),
		"a tick stays with its job when others come")
	require.True(t, eval[bool](b, `document.querySelector("details").open`), "what the reader opened stays open")
	b.clean()
}
