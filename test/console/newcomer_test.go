package console_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestANewcomerMakesAPictureAndUnderstandsAFailure follows somebody who has started `millrace dev` and opens the address of
// its banner. Every further step is a click. The bounds are those of a machine that does little else; a busy one gets as much longer as
// its service took to start, or as a page takes to open at the end.
func TestANewcomerMakesAPictureAndUnderstandsAFailure(t *testing.T) {
	t.Parallel()
	start(t) // the environment of services
	began := time.Now()
	s := startService("--auth", "none")
	t.Cleanup(s.stop)
	require.NoError(t, s.err, s.log.String())
	ready := time.Since(began)
	p := &person{t: t, s: s, cookie: &http.Cookie{Name: "none", Value: "none"}, withoutRedirect: http.DefaultClient}
	b := p.open()
	click := func(what, selector string) {
		t.Helper()
		b.await(what, `document.querySelector('`+selector+`')`)
		b.do(chromedp.Click(selector, chromedp.ByQuery))
	}
	opened := time.Now()
	b.do(chromedp.Navigate(s.base + "/"))
	b.arrives("the console", `location.pathname === "/console"`)
	require.Contains(t, b.text(), "No jobs yet")
	b.picture("newcomer-first")
	click("an example", ".start form button.main")
	b.arrives("the picture", `(function (i) { return i && i.complete && i.naturalWidth > 0; })(document.querySelector(".outputs img"))`)
	drawn := time.Since(opened)
	b.picture("newcomer-picture")

	fails := time.Now()
	failed := p.submit(`{"prompt":{"7":{"class_type":"RegexReplace","inputs":{"string":"a","regex_pattern":"(","replace":"b"}},` +
		`"8":{"class_type":"PreviewAny","inputs":{"source":["7",0]}}}}`)
	click("the list", `.rail nav a[href="/console"]`)
	b.arrives("the failed job in the list", `document.querySelector("#job-`+failed+` .state.failed")`)
	b.do(chromedp.Click("#job-"+failed+" td.long a", chromedp.ByQuery))
	b.arrives("the job", `location.pathname.endsWith("/`+failed+`") && document.querySelector(".failure")`)
	understood := time.Since(fails)
	said := eval[string](b, `document.querySelector(".failure").innerText`)
	require.Contains(t, said, "Node 7 (RegexReplace) failed", "the node")
	require.Contains(t, said, "missing ), unterminated subpattern at position 0", "the reason")
	b.picture("newcomer-failure")
	b.clean()
	t.Logf("ready after %s, a picture %s after that, a failure understood %s later", ready, drawn, understood)
	visited := time.Now()
	b.visit("/console")
	slower := max(1, float64(ready)/float64(5*time.Second), float64(time.Since(visited))/float64(time.Second))
	require.Less(t, (ready + drawn).Seconds(), 15*slower, "from `millrace dev` to a picture")
	require.Less(t, understood.Seconds(), 10*slower, "from a failing graph to its node and reason")
}
