package console_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// axeVersion is the release of axe-core with which pages are checked.
const axeVersion = "4.10.3"

// axe returns the source of axe-core from npm, which is kept in the user's cache.
var axe = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "millrace-tests")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	file := filepath.Join(dir, "axe-core-"+axeVersion+".tgz")
	if _, err := os.Stat(file); err != nil {
		cmd := exec.Command("npm", "pack", "--silent", "--pack-destination", dir, "axe-core@"+axeVersion)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("npm pack: %w: %s", err, out)
		}
	}
	return packed(file, "package/axe.min.js")
})

// packed returns a file of an archive.
func packed(archive, name string) (string, error) {
	f, err := os.Open(archive)
	if err != nil {
		return "", err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return "", err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return "", fmt.Errorf("%s has no %s", archive, name)
		}
		if err != nil {
			return "", err
		}
		if h.Name == name {
			text, err := io.ReadAll(r)
			return string(text), err
		}
	}
}

// findings returns the findings of axe-core on the open page, one on each line.
const findings = `axe.run(document, {resultTypes: ["violations"]}).then(function (r) {
	return r.violations.map(function (v) { return v.id + ": " + v.help + ": " + v.nodes.map(function (n) { return n.html.slice(0,` +
	` 160) }).slice(0, 3).join(" | ") })
})`

// ids lists the texts of the open page with a whole UUID. Those in programs, JSON and fields are meant to be copied, metadata
// is what a client sent, and the doctor calls workers what Temporal calls them.
const ids = `(function () {
	var found = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (texts.nextNode()) {
		var t = texts.currentNode;
		if (/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.test(t.data) &&
			!t.parentElement.closest("pre, textarea, script, style, .metadata, td[data-label=Found]")) {
			found.push(t.parentElement.outerHTML.slice(0, 200));
		}
	}
	return found;
})()`

// accessible fails the test for each page on which axe-core finds a problem, in light and dark and at the width of a
// phone, or on which a whole UUID is shown.
func (b *browser) accessible(paths ...string) {
	b.t.Helper()
	source, err := axe()
	if err != nil {
		b.t.Skipf("SKIPPED: axe-core cannot be fetched: %v", err)
	}
	var all []string
	for _, path := range paths {
		for i, as := range []string{"light", "dark", "light"} {
			b.colours(as)
			b.size([]int64{1200, 1200, 390}[i], 900)
			b.visit(path)
			for _, one := range eval[[]string](b, ids) {
				all = append(all, path+": a whole id: "+one)
			}
			var found []string
			b.do(chromedp.Evaluate(source, nil), chromedp.Evaluate(findings, &found,
				func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
			for _, one := range found {
				all = append(all, path+" ("+as+"): "+one)
			}
		}
	}
	require.Empty(b.t, all, strings.Join(all, "\n"))
}

func TestPagesOfAccountsAreAccessible(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	b := p.open()
	empty := []string{
		"/console/overview", "/console", "/console/gallery", "/console/run", "/console/models", "/console/calls", "/console/deployments",
		"/console/assets", "/console/webhooks", "/console/keys", "/console/usage",
	}
	b.accessible(empty...)
	done, failed := p.run(picture("seen", 0x3366cc)), p.run(strings.ReplaceAll(failing, "%d", "77"))
	other := p.run(picture("other", 0x33aacc))
	shown := regexp.MustCompile(`/console/jobs/` + done + `/outputs/[0-9a-f-]+`).FindString(p.page("/console/gallery"))
	require.NotEmpty(t, shown)
	call := p.called("sim/image", map[string]string{"prompt": "a red square"})
	p.await("the answer", func() bool { return strings.Contains(p.page(call), "A picture of the answer") })
	hook := p.post("/console/webhooks", url.Values{"url": {theReceiver().server.URL + "/500"}})
	require.Equal(t, http.StatusOK, hook.status, hook.body)
	at := regexp.MustCompile(`/console/webhooks/[0-9a-z_-]+`).FindString(hook.body)
	require.Equal(t, http.StatusSeeOther, p.post(at+"/test", nil).status)
	asset := regexp.MustCompile(`id="asset-([0-9a-f-]+)"`).FindStringSubmatch(p.page("/console/assets"))[1]
	deployed := p.deployed("seen", 0x3366cc)
	p.deployed("seen", 0x33aacc, "1.height")
	called := p.post(deployed+"/run", url.Values{"in:colour": {"255"}}).header.Get("Location")
	p.await("the picture", func() bool { return strings.Contains(p.page(called), `alt="picture"`) })
	b.accessible(append(empty,
		deployed, called, deployed+"@2", "/console/jobs/"+done+"/deploy",
		"/console/jobs/"+done, "/console/jobs/"+failed, "/console/jobs/"+done+"?at=2", "/console/jobs/"+done+"?with="+other,
		"/console/jobs/"+done+"/again",
		shown, shown+"/use", "/console?group=cause", "/console/jobs/bulk?action=retry&id="+done, "/console?q=nothing", "/console/jobs/nothing",
		"/console/models/sim/image", "/console/models/bfl/flux-2-pro", call, at, "/console/assets/"+asset,
	)...)
}

func TestPagesOfOperatorsAreAccessible(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	o := newOperator(t)
	account := regexp.MustCompile(`/console/accounts/([^"]+)">` + p.account).FindStringSubmatch(o.page("/console/accounts"))[1]
	o.open().accessible("/console/overview", "/console", "/console/servers", "/console/accounts", "/console/accounts/"+account,
		"/console/queues", "/console/views", "/console/deliveries", "/console/doctor", "/console/sessions", "/console/pools",
		"/console/weights", "/docs")
	p.open().accessible("/console/accounts") // the refusal of somebody who is no operator
	p.cookie = &http.Cookie{Name: p.cookie.Name, Value: "none"}
	p.open().accessible("/console") // the sign-in
}
