package console_test

import (
	"html"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// hostile is a text with special characters of all languages in which it is shown.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)> ' $(id) ` + "`id`" + ` \ ${1} {{.}} é 火`

// called sends the form of a model and returns the page of the call.
func (p *person) called(model string, inputs map[string]string) string {
	p.t.Helper()
	form := url.Values{}
	for name, value := range inputs {
		form.Set("in:"+name, value)
	}
	r := p.post("/console/models/"+model+"/run", form)
	require.Equal(p.t, http.StatusSeeOther, r.status, r.body)
	return callOf(p.t, r.header.Get("Location"))
}

// callOf returns the page of the call whose result the page of a model shows.
func callOf(t *testing.T, model string) string {
	t.Helper()
	at, err := url.Parse(model)
	require.NoError(t, err)
	require.NotEmpty(t, at.Query().Get("call"), model)
	return "/console/calls/" + at.Query().Get("call")
}

func TestAModelRunsFromItsForm(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	require.Contains(t, p.page("/console/calls"), "No model was called yet.")
	list := p.page("/console/models")
	require.Regexp(t, `(?s)<h2>sim <span class="state succeeded">enabled.*<h2>bfl <span class="state">no credential`, list)
	require.Contains(t, p.page("/console/models?q=FLUX"), "bfl/flux-2-pro")
	require.NotContains(t, p.page("/console/models?q=FLUX"), "sim/echo")
	require.Contains(t, p.page("/console/models?q=nothing"), "No model has that in its name.")
	require.NotContains(t, list, "BFL_API_KEY")
	operated := newOperator(t).page("/console/models?kind=video")
	require.Regexp(t, `(?s)<h2>bfl <span class="state">no credential</span></h2>.{0,30}Set <code>BFL_API_KEY</code> to call`, operated)
	require.Regexp(t, `(?s)<span class="kind video">.{0,400}bfl/flux-3-video`, operated)
	require.NotContains(t, operated, "bfl/flux-2-pro", "it makes pictures")
	require.Equal(t, http.StatusNotFound, p.get("/console/models/sim/nothing").status)

	form := p.page("/console/models/bfl/flux-2-pro")
	require.Contains(t, form, `Costs <strong>$0.03`, "the price of the example")
	require.NotContains(t, form, "BFL_API_KEY", "what an operator has to set is no account's matter")
	require.NotContains(t, form, ">Run</button>")
	require.Contains(t, newOperator(t).page("/console/models/bfl/flux-2-pro"), "BFL_API_KEY")
	require.Equal(t, http.StatusNotFound, p.post("/console/models/bfl/flux-2-pro/run", url.Values{"in:prompt": {"a"}}).status)

	form = p.page("/console/models/sim/image")
	for _, part := range []string{
		`name="in:prompt" rows="3">a red square</textarea>`, `<option value="video">video</option>`,
		"Costs <strong>$0.00</strong>", ">Run</button>",
	} {
		require.Contains(t, form, part)
	}
	token := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(form)[1]
	sent := url.Values{"token": {token}, "in:prompt": {"a blue square"}}
	first := p.post("/console/models/sim/image/run", sent)
	require.Equal(t, http.StatusSeeOther, first.status, first.body)
	beside := first.header.Get("Location")
	require.Equal(t, beside, p.post("/console/models/sim/image/run", sent).header.Get("Location"), "sent twice, it runs once")
	at := callOf(t, beside)
	sent.Set("in:prompt", "a green square")
	require.NotEqual(t, beside, p.post("/console/models/sim/image/run", sent).header.Get("Location"), "other inputs are another call")
	p.await("the picture", func() bool { return strings.Contains(p.page(at), `alt="A picture of the answer"`) })
	shown := p.page(at)
	require.Contains(t, shown, `<span class="state succeeded">succeeded</span></h1>`)
	picture := html.UnescapeString(regexp.MustCompile(`<img src="([^"]+)"`).FindStringSubmatch(shown)[1])
	require.Equal(t, http.StatusOK, p.get(strings.TrimPrefix(picture, p.s.base)).status)
	require.Regexp(t, `(?s)>a blue square</textarea>.*<h2>Result <span class="state succeeded">.*alt="A picture`, p.page(beside))
	require.Contains(t, shown, html.EscapeString(strings.TrimPrefix(beside, p.s.base)))
	last := regexp.MustCompile(`(?s)>a red square</textarea>.*<h2>Your last result <span class="state succeeded">.*alt="A picture`)
	p.await("the example, and the last result", func() bool { return last.MatchString(p.page("/console/models/sim/image")) })
	require.Equal(t, http.StatusNotFound, p.get(strings.Replace(beside, "sim/image", "sim/echo", 1)).status, "a call of another model")
	require.Contains(t, p.page("/console/calls"), at)

	stranger := newPerson(t)
	require.NotContains(t, stranger.page("/console/models/sim/image"), "Your last result")
	for _, path := range []string{at, at + "/answer", beside} {
		require.Equal(t, http.StatusNotFound, stranger.get(path).status, path)
	}
	require.Equal(t, http.StatusNotFound, stranger.post(at+"/cancel", nil).status)
	require.NotContains(t, stranger.page("/console/calls"), at)
	reader := &person{t: t, s: p.s}
	reader.signIn(p.s.command(t, "keys", "create", "--account", p.account, "--scope", "read"))
	require.NotContains(t, reader.page("/console/models/sim/image"), ">Run</button>")
	require.Equal(t, http.StatusForbidden, reader.post("/console/models/sim/image/run", sent).status)
	require.Equal(t, http.StatusForbidden, reader.post(at+"/cancel", nil).status)
}

func TestAModelsFormSaysWhatIsWrongAndRunsNothing(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	for _, c := range []struct{ name, value, problem string }{
		{"number", "5000", "number: Input should be less than or equal to 1000."},
		{"number", "many", "This is not a number."},
		{"prompt", "", "prompt: Field required."},
	} {
		form := url.Values{"in:prompt": {"x"}, "in:" + c.name: {c.value}}
		r := p.post("/console/models/sim/echo/price", form)
		require.Equal(t, http.StatusOK, r.status)
		require.Contains(t, r.body, c.problem)
		require.Contains(t, r.body, `aria-invalid="true"`, c.problem)
		require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, p.post("/console/models/sim/echo/run", form).status,
			c.problem)
	}
	require.Contains(t, p.post("/console/models/sim/image/price", url.Values{"in:prompt": {"x"}, "in:kind": {"sculpture"}}).body,
		"This is not one of the choices.")
	for text, status := range map[string]int{`{"anything":[1]}`: http.StatusSeeOther, `{"a"`: http.StatusBadRequest} {
		require.Equal(t, status, p.post("/console/models/sim/open/run", url.Values{"in:body": {text}}).status,
			"a model without a schema takes a whole body: %s", text)
	}
	require.NotContains(t, p.page("/console/calls"), "sim/echo")
	at := p.called("sim/echo", map[string]string{"prompt": "[sim:policy]"})
	p.await("the refusal", func() bool { return strings.Contains(p.page(at), "content_policy_violation") })
	require.Equal(t, http.StatusNotFound, p.get(at+"/answer").status)
	tone := p.called("sim/speech", map[string]string{"prompt": "a tone"})
	p.await("the sound", func() bool { return strings.Contains(p.page(tone), "<audio src=") })
	require.Equal(t, "audio/wav", p.get(tone+"/answer").header.Get("Content-Type"))
	slow := p.called("sim/image", map[string]string{"prompt": "[sim:delay=300s]"})
	p.await("the button", func() bool { return strings.Contains(p.page(slow), "Ask it to stop") })
	require.Equal(t, http.StatusSeeOther, p.post(slow+"/cancel", nil).status)
	p.await("its end", func() bool {
		return strings.Contains(p.page(slow), `<span class="state canceled">canceled</span>`) ||
			strings.Contains(p.page(slow), "It was asked to stop.")
	})
}

// TestTheProgramsOfAModelsPageMakeTheSameCall runs the programs.
func TestTheProgramsOfAModelsPageMakeTheSameCall(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	r := p.post("/console/models/sim/echo/price", url.Values{"in:prompt": {hostile}, "in:number": {"7"}})
	require.Equal(t, http.StatusOK, r.status, r.body)
	require.NotContains(t, r.body, "<script>alert")
	programs := regexp.MustCompile(`(?s)data-language="(curl|Python|TypeScript)">.*?<pre [^>]*>(.*?)</pre>`).FindAllStringSubmatch(r.body, -1)
	require.Len(t, programs, 3)
	for _, m := range programs {
		text := html.UnescapeString(m[2])
		file, name := "call.sh", "sh"
		switch m[1] {
		case "Python":
			file, name = "call.py", "python3"
		case "TypeScript":
			file, name = "call.mjs", "node"
			text = strings.ReplaceAll(text, "MILLRACE_API_KEY!", "MILLRACE_API_KEY") // the only mark that occurs in TypeScript alone
		}
		if _, err := exec.LookPath(name); err != nil {
			t.Logf("SKIPPED: %s is not installed, so the program in %s was not run", name, m[1])
			continue
		}
		path := filepath.Join(t.TempDir(), file)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		cmd := exec.CommandContext(t.Context(), name, path)
		cmd.Env = append(os.Environ(), "MILLRACE_API_KEY="+p.key)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s\n%s", m[1], out, text)
		require.Regexp(t, `"number": ?7`, string(out), m[1])
		require.Regexp(t, `火|\\u706b`, string(out), m[1])
		require.Contains(t, string(out), `${1} {{.}}`, m[1])
	}
	list := p.page("/console/calls")
	require.GreaterOrEqual(t, strings.Count(list, "sim/echo"), 3)
}

func TestAModelsPagesInABrowser(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	b := p.open()
	b.looks("models", "/console/models")
	b.looks("calls-empty", "/console/calls")
	b.looks("model", "/console/models/sim/image")
	b.looks("model-more", "/console/models/bfl/flux-2-pro")
	b.visit("/console/models/bfl/flux-2-pro")
	b.do(chromedp.SetValue(`[name="in:width"]`, "4096", chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelector('[name="in:width"]').dispatchEvent(new Event("input", {bubbles: true}))`, nil))
	b.await("the price of what was typed", `/\$0\.06/.test(document.getElementById("price").textContent)`)
	b.visit("/console/models/sim/image")
	b.do(chromedp.SetValue(`[name="in:prompt"]`, hostile+" [sim:delay=2s]", chromedp.ByQuery), chromedp.Click(`button.main`, chromedp.ByQuery))
	b.arrives("the progress", `document.querySelector("progress") || document.querySelector(".large img")`)
	b.picture("call-running")
	b.await("the picture without a reload", `document.querySelector(".large img") && document.querySelector(".large img").complete && `+
		`document.querySelector(".large img").naturalWidth > 0`)
	beside := eval[string](b, `location.pathname + location.search`)
	b.looks("model-result", beside)
	b.looks("call", callOf(t, beside))
	b.looks("calls", "/console/calls")
	b.clean()
}
