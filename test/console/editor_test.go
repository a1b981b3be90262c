package console_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/localstack/temporal"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/internal/web/editor/published"
)

// startEditor starts a service that serves the published editor. It skips the test where that cannot be fetched.
func startEditor(t *testing.T) *service {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	startMu.Lock()
	defer startMu.Unlock()
	dir, err := published.Fetcher{Dir: filepath.Join(cache, "millrace-tests"), Release: published.Pinned}.Fetch(t.Context())
	if err != nil {
		t.Skipf("SKIPPED: the published editor cannot be fetched: %v", err)
	}
	editorDir = dir
	require.NoError(t, os.Setenv(temporal.BinaryEnv, temporaltest.Binary(t)))
	s := theEditor()
	require.NoError(t, s.err, s.log.String())
	return s
}

// signInEditor gives the browser the cookie with which the editor is signed in.
func (b *browser) signInEditor(p *person) {
	b.t.Helper()
	r := p.post("/editor/signin", url.Values{"key": {p.key}}, "Origin", p.s.base)
	require.NotEmpty(b.t, r.cookies, r.body)
	b.do(network.SetCookie(r.cookies[0].Name, r.cookies[0].Value).WithURL(p.s.base + "/").WithHTTPOnly(true))
}

const partnerGraph = `{"1":{"class_type":"Partner_sim_image","inputs":{"prompt":"a red square"}},"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"partner"}}}`

func TestTheEditorRunsPartnerNodesAndAsksNobodyElse(t *testing.T) {
	t.Parallel()
	p := startEditor(t).newPerson(t)
	b := p.open()
	b.signInEditor(p)
	b.do(chromedp.Navigate(p.s.base + "/"))
	b.await("the editor", `window.comfyAPI && window.comfyAPI.app.app.graph && document.querySelector(".comfyui-body-left, .side-tool-bar-container, #graph-canvas")`)
	b.await("its classes", `window.LiteGraph && Object.keys(window.LiteGraph.registered_node_types).length > 100`)
	require.False(t, eval[bool](b, `window.LiteGraph.registered_node_types["Partner_sim_image"].nodeData.api_node`), "to the editor that is served here, whose person has signed in")
	theirs := p.send(http.MethodGet, "/api/object_info/Partner_sim_image", "", "X-API-Key", p.key, "Sec-Fetch-Site", "same-origin")
	require.Contains(t, theirs.body, `"api_node":true`, "to a client with a key of its own")
	plain := &person{t: t, s: p.s}
	plain.signIn(p.key)
	signed := plain.send(http.MethodPost, "/editor/signin", url.Values{"key": {p.key}}.Encode(), "Origin", p.s.base)
	plain.cookie = signed.cookies[0]
	require.Contains(t, plain.send(http.MethodGet, "/api/object_info/Partner_sim_image", "", "Referer", p.s.base+"/").body, `"api_node":false`, "over plain HTTP, where browsers leave Sec-Fetch-Site out")
	require.Contains(t, plain.send(http.MethodGet, "/api/object_info/Partner_sim_image", "", "Referer", "https://other.example/").body, `"api_node":true`)
	b.await("the end of its start", `document.readyState === "complete" && !document.getElementById("splash-loader")`)
	b.await("a first graph that runs here", `window.comfyAPI.app.app.graph.nodes.map(n => n.type).sort().join() === "EmptyImage,SaveImage"`)
	b.picture("editor-first")
	require.False(t, eval[bool](b, `!!document.querySelector('[role="dialog"]')`), "no dialog stands before the graph: %s", eval[string](b, `(document.querySelector('[role="dialog"]') || {}).innerText || ""`))
	eval[bool](b, `window.comfyAPI.app.app.loadApiJson(`+partnerGraph+`, "partner"), true`)
	b.await("the graph", `window.comfyAPI.app.app.graph.nodes.length === 2`)
	require.NotContains(t, eval[string](b, `document.body.innerText`), "Sign in to run")
	b.do(chromedp.Evaluate(`window.comfyAPI.app.app.queuePrompt(0).then(() => { window.queued = true })`, nil))
	b.await("the job to be queued", `window.queued`)
	p.await("the picture", func() bool { return strings.Contains(p.page("/console"), ">succeeded</span>") })
	b.picture("editor-partner")
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(t, b.hosts, "requests to other hosts")
}

func TestTheEditorOpensTheGraphOfAJob(t *testing.T) {
	t.Parallel()
	p := startEditor(t).newPerson(t)
	id := p.run(picture("opened", 0x3366cc))
	require.Contains(t, p.page("/console/jobs/"+id), `href="/?millrace_job=`+id+`"`)
	b := p.open()
	b.signInEditor(p)
	b.do(chromedp.Navigate(p.s.base + "/?millrace_job=" + id))
	b.await("the graph of the job", `window.comfyAPI && window.comfyAPI.app.app.graph && window.comfyAPI.app.app.graph.nodes.map(n => n.type).sort().join() === "EmptyImage,SaveImage" && window.comfyAPI.app.app.graph.nodes.some(n => (n.widgets_values || []).concat((n.widgets || []).map(w => w.value)).includes("opened"))`)
	b.picture("editor-job")
	require.NotContains(t, eval[string](b, `location.href`), "millrace_job")
	b.await("the link to the job", `window.comfyAPI.app.app.extensionManager.command.commands.some(c => c.id === "Millrace.Job")`)
	b.do(chromedp.Evaluate(`window.open = function (to) { window.opened = to; }; window.comfyAPI.app.app.extensionManager.command.execute("Millrace.Job")`, nil))
	b.await("the page of the job", `window.opened === "`+p.s.base+`/console/jobs/`+id+`"`)
}
