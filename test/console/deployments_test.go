package console_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// deployed publishes the graph of a new job with its colour as an input, from the job's page, and returns the path of the page.
func (p *person) deployed(name string, colour int, more ...string) string {
	p.t.Helper()
	id := p.run(picture("deployed", colour))
	require.Contains(p.t, p.page("/console/jobs/"+id), `/console/jobs/`+id+`/deploy">Deploy this…</a>`)
	offered := p.page("/console/jobs/" + id + "/deploy")
	for _, part := range []string{`name="input" value="1.color"`, `name="input" value="1.width"`, `name="output" value="2" checked`} {
		require.Contains(p.t, offered, part)
	}
	document := regexp.MustCompile(`(?s)<textarea name="document"[^>]*>(.*?)</textarea>`).FindStringSubmatch(offered)[1]
	form := url.Values{
		"document": {html.UnescapeString(document)}, "name": {name}, "input": append([]string{"1.color", "1.width"}, more...),
		"name:1.color": {"colour"}, "output": {"2"}, "name:2": {"picture"},
	}
	r := p.post("/console/deploy/add", form)
	require.Equal(p.t, http.StatusSeeOther, r.status, r.body)
	return r.header.Get("Location")
}

// tokenOf returns the token of a page's form.
func tokenOf(t *testing.T, body string) string {
	t.Helper()
	found := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(body)
	require.NotNil(t, found)
	return found[1]
}

func TestAJobIsDeployedAndCalledFromItsPage(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	require.Contains(t, p.page("/console/deployments"), "No deployments yet")
	at := p.deployed("portrait", 0x3366cc)
	require.Equal(t, "/console/deployments/portrait", at)
	require.Contains(t, p.page("/console/deployments"), `href="/console/deployments/portrait"`)
	shown := p.page(at)
	for _, part := range []string{
		`name="in:colour" value="3368652"`, `data-language="curl"`, "/deployment/portrait/api/v2/jobs", ">Run</button>",
		`data-language="MCP"`, p.s.base + "/mcp",
	} {
		require.Contains(t, shown, part)
	}
	require.NotContains(t, shown, "6.text")

	sent := url.Values{"token": {tokenOf(t, shown)}, "in:colour": {"255"}, "in:width": {"64"}}
	first := p.post(at+"/run", sent)
	require.Equal(t, http.StatusSeeOther, first.status, first.body)
	call := first.header.Get("Location")
	require.Equal(t, call, p.post(at+"/run", sent).header.Get("Location"), "sent twice, it runs once")
	p.await("the picture beside the form", func() bool { return strings.Contains(p.page(call), `alt="picture"`) })
	shown = p.page(call)
	require.Contains(t, shown, `name="in:colour" value="255"`, "the form has the values of the call")
	require.Regexp(t, `>version 1</td><td data-label="Calls" class="number">1</td><td data-label="Failed" class="number">0</td>`, shown)
	file := regexp.MustCompile(`<img src="([^"]+)" alt="picture"`).FindStringSubmatch(shown)[1]
	png := p.page(strings.TrimPrefix(p.get(file).header.Get("Location"), p.s.base))
	require.Equal(t, "\x00\x00\x00\x40", png[16:20], "the width of the PNG")

	sent.Set("in:colour", "red")
	refused := p.post(at+"/run", sent)
	require.Equal(t, http.StatusOK, refused.status)
	require.Contains(t, refused.body, "This is not a number.")
	sent.Set("in:colour", "-5")
	refused = p.post(at+"/run", sent)
	require.Contains(t, refused.body, `<span class="wrong">`, "the domain's refusal is at its field")
	require.Contains(t, p.post(at+"/code", sent).body, `-5`, "the program has what was typed")

	stranger := newPerson(t)
	require.Equal(t, http.StatusNotFound, stranger.get(at).status)
	require.Equal(t, http.StatusNotFound, stranger.post(at+"/run", sent).status)
	require.Equal(t, http.StatusNotFound, stranger.post(at+"/stop", nil).status)
	reader := &person{t: t, s: p.s}
	reader.signIn(p.s.command(t, "keys", "create", "--account", p.account, "--scope", "read"))
	require.NotContains(t, reader.page(at), ">Run</button>")
	require.Equal(t, http.StatusForbidden, reader.post(at+"/stop", nil).status)
}

func TestVersionsAndTrafficOfADeploymentsPage(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	at := p.deployed("portrait", 1)
	require.Equal(t, "/console/deployments/portrait@2", p.deployed("portrait", 2, "1.height"))
	require.Equal(t, "/console/deployments/portrait@2", p.deployed("portrait", 2, "1.height"), "the same content is the same version")
	shown := p.page(at)
	require.Contains(t, shown, "Answered by version 1")
	require.Contains(t, shown, "height", "what changed")

	change := func(name string, form url.Values, says string) {
		t.Helper()
		r := p.post(at+"/"+name, form)
		require.Equal(t, http.StatusSeeOther, r.status, r.body)
		require.Contains(t, p.page(at), says)
	}
	change("promote", url.Values{"version": {"2"}, "percent": {"10"}, "reason": {"a trial"}}, "version 2 10 % of calls")
	change("rollback", nil, "Answered by version 1<")
	change("promote", url.Values{"version": {"2"}, "percent": {"100"}}, "Answered by version 2<")
	change("rollback", nil, "Answered by version 1<")
	change("stop", nil, `<span class="state stopped">stopped</span>`)
	require.Equal(t, http.StatusUnprocessableEntity, p.post(at+"/run", url.Values{"in:colour": {"1"}}).status)
	change("start", nil, `<span class="state succeeded">ready</span>`)
	require.Contains(t, []int{http.StatusNotFound, http.StatusUnprocessableEntity},
		p.post(at+"/promote", url.Values{"version": {"9"}, "percent": {"100"}}).status)
	require.Equal(t, http.StatusNotFound, p.get(at+"@3").status)
	r := p.post(at+"/delete", nil)
	require.Equal(t, "/console/deployments", r.header.Get("Location"), r.body)
	require.Equal(t, http.StatusNotFound, p.get(at).status)
}

func TestAShadowsReportShowsPicturesSideBySide(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	at := p.deployed("portrait", 0x111111)
	p.deployed("portrait", 0xff0000)
	for _, inputs := range []string{`{}`, `{"colour":9}`} { // the versions have different defaults
		made := p.api(http.MethodPost, "/deployment/portrait/api/v2/jobs", `{"inputs":`+inputs+`}`)
		p.await("the end of the call", func() bool {
			return p.api(http.MethodGet, "/api/v2/jobs/"+made["id"].(string), "")["status"] == "succeeded"
		})
	}
	require.Contains(t, p.page(at), "Shadow…")
	begun := p.post(at+"/shadow", url.Values{"version": {"2"}})
	require.Equal(t, http.StatusSeeOther, begun.status, begun.body)
	report := begun.header.Get("Location")
	p.await("the end of the run", func() bool { return !strings.Contains(p.page(report), "have not ended") })
	shown := p.page(report)
	require.Contains(t, shown, "2 recorded calls ran through version 2: 1 identical, 1 differ, 0 fail")
	pictures := regexp.MustCompile(`<img src="([^"]+)" alt="[^"]+ (before|now)"`).FindAllStringSubmatch(shown, -1)
	require.Len(t, pictures, 2)
	for _, one := range pictures {
		require.Equal(t, http.StatusOK, p.get(one[1]).status, one[2])
	}
	require.NotEqual(t, p.page(pictures[0][1]), p.page(pictures[1][1]))
	stranger := newPerson(t)
	require.Equal(t, http.StatusNotFound, stranger.get(report).status)
	require.Equal(t, http.StatusNotFound, stranger.get(pictures[1][1]).status)
	require.Equal(t, http.StatusNotFound, p.get(at+"/shadows/none").status)
	require.Equal(t, http.StatusNotFound, p.post(at+"/shadow", url.Values{"version": {"9"}}).status)
}

func TestADeploymentsPagesInABrowser(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	b := p.open()
	b.looks("deployments-empty", "/console/deployments")
	at := p.deployed("portrait", 0x3366cc)
	p.deployed("portrait", 0x33aacc, "1.height")
	b.looks("deployments", "/console/deployments")
	b.looks("deployment-new", at)
	b.visit(at)
	b.do(chromedp.SetValue(`[name="in:colour"]`, "3381759", chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelector('[name="in:colour"]').dispatchEvent(new Event("input", {bubbles: true}))`, nil))
	b.await("the program of what was typed", `/3381759/.test(document.getElementById("code").textContent)`)
	b.do(chromedp.Click(`button.main[formaction]`, chromedp.ByQuery))
	b.arrives("the picture without a reload",
		`document.querySelector("#result img") && document.querySelector("#result img").naturalWidth > 0`)
	require.Equal(t, "3381759", eval[string](b, `document.querySelector('[name="in:colour"]').value`))
	b.looks("deployment", eval[string](b, `location.pathname + location.search`))
	b.looks("deploy", "/console/jobs/"+p.run(picture("more", 7))+"/deploy")
	b.clean()
}
