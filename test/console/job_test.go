package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

func TestAJobIsShownAsItWasAfterEachEvent(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	id := p.run(picture("slider", 0x3366cc))
	whole := p.page("/console/jobs/" + id)
	m := regexp.MustCompile(`name="at" min="1" max="(\d+)"`).FindStringSubmatch(whole)
	require.NotNil(t, m)
	require.Contains(t, whole, `/thumbs/`, "the picture stands on its node")
	require.Regexp(t, `<image href="/console/jobs/`+id+`/thumbs/[^"]+"`, whole)
	first := p.page("/console/jobs/" + id + "?at=1")
	require.Contains(t, first, "As it was after event 1 of "+m[1])
	require.Contains(t, first, `<span class="state queued">queued</span></h1>`)
	require.NotContains(t, first, `class="executed"`)
	last := p.page("/console/jobs/" + id + "?at=" + m[1])
	require.Contains(t, last, `<span class="state succeeded">succeeded</span></h1>`)
	for _, at := range []string{"0", "x", "999"} {
		require.GreaterOrEqual(t, p.get("/console/jobs/"+id+"?at="+at).status, 400, at)
	}
	require.Contains(t, whole, "in all")
	require.Regexp(t, "waited for a worker to begin|prepared: plan, cache, inputs|ran nodes", whole, "parts that took no time are left out")
}

func TestAJobRunsAgainWithChangedInputs(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	id := p.run(picture("inputs", 0x3366cc))
	form := p.page("/console/jobs/" + id + "/again")
	for _, field := range []string{`name="input:1.width" value="320"`, `name="input:2.filename_prefix" value="inputs"`} {
		require.Contains(t, form, field)
	}
	require.NotContains(t, form, "input:2.images", "a link to another node is no value")
	again := p.post("/console/jobs/"+id+"/retry", url.Values{
		"input:1.width": {"96"}, "input:2.filename_prefix": {"inputs"},
		"reason": {"smaller"},
	})
	require.Equal(t, http.StatusSeeOther, again.status, again.body)
	next, _, _ := strings.Cut(strings.TrimPrefix(again.header.Get("Location"), "/console/jobs/"), "?")
	p.await("the new job", func() bool { return strings.Contains(p.page("/console/jobs/"+next), `class="state succeeded"`) })
	require.Contains(t, p.page("/console/jobs/"+next+"/again"), `name="input:1.width" value="96"`)

	compared := p.page("/console/jobs/" + id + "?with=" + next)
	require.Regexp(t, `>1.width</td><td data-label="Here" class="long">320</td><td data-label="There" class="long">96</td>`, compared)
	require.Equal(t, http.StatusNotFound, newPerson(t).get("/console/jobs/"+id+"?with="+next).status, "another account's")
	mine := newPerson(t)
	other := mine.run(picture("mine", 1))
	require.Equal(t, http.StatusNotFound, mine.get("/console/jobs/"+other+"?with="+id).status, "one's own with another account's")
	require.Equal(t, http.StatusBadRequest, p.post("/console/jobs/"+id+"/retry", url.Values{"input:1.width": {"wide"}}).status)
}

func TestTheJobInABrowser(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	var chain strings.Builder
	chain.WriteString(`{"0":{"class_type":"EmptyImage","inputs":{"width":64,"height":64,"batch_size":1,"color":13395507},` +
		`"_meta":{"title":"\"><img src=x onerror=alert(1)>"}}`)
	for i := range 40 {
		fmt.Fprintf(&chain, `,"%d":{"class_type":"ImageInvert","inputs":{"image":["%d",0]}}`, i+1, i)
	}
	chain.WriteString(`,"s":{"class_type":"SaveImage","inputs":{"images":["40",0],"filename_prefix":"chain"}}}`)
	id := p.run(chain.String())
	b := p.open()
	b.looks("job", "/console/jobs/"+id)
	b.looks("again", "/console/jobs/"+id+"/again")
	b.visit("/console/jobs/" + id)
	b.await("the buttons", `!document.querySelector("[data-zoom=in]").hidden`)
	before := eval[string](b, `document.getElementById("graph").getAttribute("viewBox")`)
	require.NotEqual(t, before, eval[string](b, `document.querySelector("[data-zoom=in]").click(), `+
		`document.getElementById("graph").getAttribute("viewBox")`))
	b.do(chromedp.Evaluate(`for (var i = 0; i < 4; i++) document.querySelector("[data-zoom=in]").click()`, nil))
	require.Equal(t, 42, eval[int](b, `document.querySelectorAll("#minimap g").length`), "the minimap has all nodes")
	require.Equal(t, 1, eval[int](b, `document.querySelectorAll("#minimap rect.view").length`))
	b.picture("job-minimap")
	b.do(chromedp.Evaluate(`(function () { var m = document.getElementById("minimap"), r = m.getBoundingClientRect(); m.dispatchEvent(new `+
		`PointerEvent("pointerdown", {clientX: r.right - 2, clientY: r.bottom - 2, buttons: 1})); })()`, nil))
	require.NotEqual(t, before, eval[string](b, `document.getElementById("graph").getAttribute("viewBox")`))
	require.Equal(t, before, eval[string](b, `document.querySelector("[data-zoom=fit]").click(), `+
		`document.getElementById("graph").getAttribute("viewBox")`))
	eval[bool](b, `var at = document.getElementById("at"); at.value = 2; at.dispatchEvent(new Event("change")); true`)
	p.await("the state of then", func() bool { // the page changes meanwhile, so evaluations may fail
		var then bool
		err := chromedp.Run(b.ctx, chromedp.Evaluate(`document.readyState === "complete" && /As it was after event `+
			`2/.test(document.body.innerText)`, &then))
		return err == nil && then
	})
	b.clean()
	b.visit("/console/jobs/" + id)
	b.do(chromedp.Click(`#graph a[href*="node=s"]`, chromedp.ByQuery))
	b.arrives("the node", `document.getElementById("node") && /chain_00001_\.png/.test(document.getElementById("node").innerText)`)
	b.picture("job-node")
	b.accessible("/console/jobs/" + id + "?node=s")
	b.clean()
}

func TestANodeOfAJobIsShownWithAllThatIsKnownOfIt(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	partner := p.submit(`{"prompt":` + partnerGraph + `,"extra_data":{"api_key_service":"` + p.key + `"}}`)
	p.await("the end", func() bool { return strings.Contains(p.page("/console/jobs/"+partner), ">succeeded</span></h1>") })
	shown := p.page("/console/jobs/" + partner + "?node=1")
	require.Regexp(t, `<td class="tight">prompt</td><td class="long">a red square</td>`, shown)
	call := regexp.MustCompile(`Called <a class="mono" href="(/console/calls/[^"]+)">sim/image</a>: succeeded, ` +
		`\$0\.00`).FindStringSubmatch(shown)
	require.NotNil(t, call, "its call, with what it cost")
	require.Contains(t, p.page(call[1]), "sim/image")
	saved := p.page("/console/jobs/" + partner + "?node=2")
	require.Regexp(t, `from node <a class="mono" href="\?node=1#node">1</a>`, saved)
	require.Contains(t, saved, "partner_00001_.png")
	require.Contains(t, saved, "Its events")
	require.Contains(t, p.page("/console/jobs/"+partner+"?node=2&at=1"), "It has not run.")
	require.Equal(t, http.StatusNotFound, p.get("/console/jobs/"+partner+"?node=9").status)
	require.Equal(t, http.StatusNotFound, newPerson(t).get("/console/jobs/"+partner+"?node=1").status)
}
