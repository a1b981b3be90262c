package console_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/localstack/temporal"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/internal/web/editor/published"
)

// startEditor starts a service with the published editor. It skips the test if the editor cannot be fetched.
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

// signInEditor gives the browser the cookie of a signed-in editor.
func (b *browser) signInEditor(p *person) {
	b.t.Helper()
	r := p.post("/editor/signin", url.Values{"key": {p.key}}, "Origin", p.s.base)
	require.NotEmpty(b.t, r.cookies, r.body)
	b.do(network.SetCookie(r.cookies[0].Name, r.cookies[0].Value).WithURL(p.s.base + "/").WithHTTPOnly(true))
}

const partnerGraph = `{"1":{"class_type":"Partner_sim_image","inputs":{"prompt":"a red square"}},"2":{"class_type":"SaveImage",` +
	`"inputs":{"images":["1",0],"filename_prefix":"partner"}}}`

func TestTheEditorRunsPartnerNodesAndAsksNobodyElse(t *testing.T) {
	t.Parallel()
	p := startEditor(t).newPerson(t)
	b := p.open()
	b.signInEditor(p)
	b.do(chromedp.Navigate(p.s.base + "/"))
	b.await("the editor", `window.comfyAPI && window.comfyAPI.app.app.graph && document.querySelector(".comfyui-body-left,`+
		` .side-tool-bar-container, #graph-canvas")`)
	b.await("its classes", `window.LiteGraph && Object.keys(window.LiteGraph.registered_node_types).length > 100`)
	require.False(t, eval[bool](b, `window.LiteGraph.registered_node_types["Partner_sim_image"].nodeData.api_node`),
		"to the editor that is served here, whose person has signed in")
	theirs := p.send(http.MethodGet, "/api/object_info/Partner_sim_image", "", "X-API-Key", p.key, "Sec-Fetch-Site", "same-origin")
	require.Contains(t, theirs.body, `"api_node":true`, "to a client with a key of its own")
	plain := &person{t: t, s: p.s}
	plain.signIn(p.key)
	signed := plain.send(http.MethodPost, "/editor/signin", url.Values{"key": {p.key}}.Encode(), "Origin", p.s.base)
	plain.cookie = signed.cookies[0]
	require.Contains(t, plain.send(http.MethodGet, "/api/object_info/Partner_sim_image", "", "Referer", p.s.base+"/").body, `"api_node":false`,
		"over plain HTTP, where browsers leave Sec-Fetch-Site out")
	require.Contains(t, plain.send(http.MethodGet, "/api/object_info/Partner_sim_image", "", "Referer", "https://other.example/").body,
		`"api_node":true`)
	b.await("the end of its start", `document.readyState === "complete" && !document.getElementById("splash-loader")`)
	b.await("a first graph that runs here", `window.comfyAPI.app.app.graph.nodes.map(n => n.type).sort().join() === "EmptyImage,SaveImage"`)
	b.picture("editor-first")
	require.False(t, eval[bool](b, `!!document.querySelector('[role="dialog"]')`), "no dialog stands before the graph: %s",
		eval[string](b, `(document.querySelector('[role="dialog"]') || {}).innerText || ""`))
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
	b.await("the graph of the job", `window.comfyAPI && window.comfyAPI.app.app.graph && window.comfyAPI.app.app.graph.nodes.map(n => `+
		`n.type).sort().join() === "EmptyImage,SaveImage" && window.comfyAPI.app.app.graph.nodes.some(n => (n.widgets_values || `+
		`[]).concat((n.widgets || []).map(w => w.value)).includes("opened"))`)
	b.picture("editor-job")
	require.NotContains(t, eval[string](b, `location.href`), "millrace_job")
	b.await("the link to the job", `window.comfyAPI.app.app.extensionManager.command.commands.some(c => c.id === "Millrace.Job")`)
	b.do(chromedp.Evaluate(`window.open = function (to) { window.opened = to; }; `+
		`window.comfyAPI.app.app.extensionManager.command.execute("Millrace.Job")`, nil))
	b.await("the page of the job", `window.opened === "`+p.s.base+`/console/jobs/`+id+`"`)
}

const foldedGraph = `{"5":{"class_type":"PrimitiveInt","inputs":{"value":64}},"1":{"class_type":"EmptyImage","inputs":{"width":["5",` +
	`0],"height":32,"batch_size":1,"color":3368652}},
	"2":{"class_type":"ImageInvert","inputs":{"image":["1",0]}},
	"3":{"class_type":"ImageScale","inputs":{"image":["2",0],"upscale_method":"bilinear","width":48,"height":24,"crop":"disabled"}},` +
	`
	"4":{"class_type":"SaveImage","inputs":{"images":["3",0],"filename_prefix":"folded"}}}`

// fold makes a subgraph of two nodes in the editor, and another subgraph of that subgraph and a third node, and sets
// a field of the latter.
const fold = `(async () => {
	const app = window.comfyAPI.app.app, graph = app.graph;
	const of = (...types) => new Set(graph.nodes.filter(n => types.includes(n.type)));
	const inner = graph.convertToSubgraph(of("ImageInvert", "ImageScale")).node;
	const outer = graph.convertToSubgraph(new Set([inner, ...of("EmptyImage")])).node;
	window.linked = JSON.stringify(await app.graphToPrompt());
	outer.disconnectInput(outer.inputs.findIndex(i => i.name === "width"));
	graph.remove([...of("PrimitiveInt")][0]);
	outer.widgets.find(w => w.name === "width").value = 96;
	const made = await app.graphToPrompt();
	window.folded = JSON.stringify(made);
})().catch(e => { window.folded = String(e) })`

func TestSubgraphsAreUnfoldedAsTheEditorDoes(t *testing.T) {
	t.Parallel()
	p := startEditor(t).newPerson(t)
	b := p.open()
	b.signInEditor(p)
	b.do(chromedp.Navigate(p.s.base + "/"))
	b.await("the editor", `window.comfyAPI && window.comfyAPI.app.app.graph && window.LiteGraph && `+
		`Object.keys(window.LiteGraph.registered_node_types).length > 100`)
	b.await("a first graph", `document.readyState === "complete" && window.comfyAPI.app.app.graph.nodes.length > 0`)
	eval[bool](b, `window.comfyAPI.app.app.loadApiJson(`+foldedGraph+`, "folded"), true`)
	b.await("the graph", `window.comfyAPI.app.app.graph.nodes.length === 5`)
	b.do(chromedp.Evaluate(fold, nil))
	b.await("the folded graph", `window.folded`)
	for _, name := range []string{"linked", "folded"} {
		p.unfolds(eval[string](b, `window.`+name))
	}
}

// unfolds compares the prompt that the editor made of a workflow with that of the Run page.
func (p *person) unfolds(text string) {
	p.t.Helper()
	type prompt map[string]struct {
		Class  string         `json:"class_type"`
		Inputs map[string]any `json:"inputs"`
	}
	var made struct {
		Workflow json.RawMessage `json:"workflow"`
		Output   prompt          `json:"output"`
	}
	require.NoError(p.t, json.Unmarshal([]byte(text), &made), text)
	require.Contains(p.t, string(made.Workflow), `"subgraphs":[{`)
	form := p.dropped("folded.json", made.Workflow)
	require.Equal(p.t, http.StatusOK, form.status, "%s\n%s", form.body, made.Workflow)
	field := regexp.MustCompile(`(?s)<textarea name="prompt"[^>]*>(.*?)</textarea>`).FindStringSubmatch(form.body)
	require.Len(p.t, field, 2)
	var ours prompt
	require.NoError(p.t, json.Unmarshal([]byte(html.UnescapeString(field[1])), &ours))
	require.Equal(p.t, made.Output, ours, "%s", made.Workflow)
}
