package console_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// browserNames are the names of browsers that are searched for.
var browserNames = []string{"chromium", "chromium-browser", "google-chrome", "chrome"}

// browser is a tab of a headless Chromium in which a person has signed in.
type browser struct {
	t    *testing.T
	base string
	log  func() string
	ctx  context.Context //nolint:containedctx // contains the tab for chromedp

	mu       sync.Mutex // guards problems and elsewhere
	problems []string   // errors that the browser reported
	hosts    map[string]bool
}

// open starts a browser with the person's cookie. It skips the test if there is no browser.
func (p *person) open() *browser {
	p.t.Helper()
	program := ""
	for _, name := range browserNames {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		p.t.Skipf("SKIPPED: no browser: none of %s is installed (apt-get install chromium)", strings.Join(browserNames, ", "))
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox,
		chromedp.WSURLReadTimeout(patience))
	alloc, cancel := chromedp.NewExecAllocator(p.t.Context(), opts...)
	p.t.Cleanup(cancel)
	ctx, end := chromedp.NewContext(alloc)
	p.t.Cleanup(end)
	ctx, stop := context.WithTimeout(ctx, 10*patience) // some tests open a hundred pages
	p.t.Cleanup(stop)
	b := &browser{t: p.t, base: p.s.base, log: p.s.log.String, ctx: ctx, hosts: map[string]bool{}}
	chromedp.ListenTarget(ctx, b.listen)
	b.do(network.Enable(), log.Enable(), runtime.Enable(), chromedp.ActionFunc(func(ctx context.Context) error {
		return network.SetCookie(p.cookie.Name, p.cookie.Value).WithURL(p.s.base + "/console").WithHTTPOnly(true).Do(ctx)
	}))
	b.size(1200, 900)
	return b
}

// listen records the reports of the browser.
func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			b.problems = append(b.problems, fmt.Sprintf("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, "exception: "+e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			b.problems = append(b.problems, fmt.Sprintf("console.%s", e.Type))
		}
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, b.base+"/") && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "blob:") &&
			u != "about:blank" {
			b.hosts[u] = true
		}
	}
}

func (b *browser) do(actions ...chromedp.Action) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Run(b.ctx, actions...))
}

// size sets the size of the window and the colour scheme.
func (b *browser) size(width, height int64) {
	b.t.Helper()
	b.do(emulation.SetDeviceMetricsOverride(width, height, 1, width < 500))
}

func (b *browser) colours(scheme string) {
	b.t.Helper()
	b.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

// visit opens a page.
func (b *browser) visit(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base+path), chromedp.WaitReady("main"))
}

// text returns the text of the page's content.
func (b *browser) text() string {
	b.t.Helper()
	var text string
	b.do(chromedp.Evaluate(`document.getElementById("main").innerText`, &text))
	return text
}

// eval returns the value of an expression.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	var v T
	b.do(chromedp.Evaluate(expression, &v))
	return v
}

// await waits until an expression holds in the page.
func (b *browser) await(what, expression string) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Run(b.ctx, chromedp.Poll("!!("+expression+")", nil, chromedp.WithPollingInterval(50*time.Millisecond),
		chromedp.WithPollingTimeout(patience))), what)
}

// arrives waits until an expression holds in a page to which the browser is navigating.
func (b *browser) arrives(what, expression string) {
	b.t.Helper()
	deadline, tick := time.Now().Add(patience), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for {
		var so bool // evaluations fail while the page changes
		if err := chromedp.Run(b.ctx, chromedp.Evaluate(`document.readyState === "complete" && !!(`+expression+`)`, &so)); err == nil && so {
			return
		}
		require.True(b.t, time.Now().Before(deadline) && b.ctx.Err() == nil, "waited for %s", what)
		<-tick.C
	}
}

// clean fails the test if the browser reported an error or sent a request to another host.
func (b *browser) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.problems, "errors that the browser reported; the log of the service: %s", tail(b.log))
	require.Empty(b.t, b.hosts, "requests to other hosts")
}

// cut lists the cells of tables whose text is cut or stands outside of the window, but for tables that scroll.
const cut = `Array.from(document.querySelectorAll("main td")).filter(function (c) {
	var box = c.getBoundingClientRect(), frame = c.closest(".scroll"), wide = c.closest(".wide");
	return !wide && box.width > 0 && (c.scrollWidth > c.clientWidth + 1 || box.right > window.innerWidth + 1 ||
		frame && frame.scrollWidth > frame.clientWidth + 1);
}).map(function (c) { return c.outerHTML.slice(0, 200); })`

// fits fails the test if the page is wider than the window or, on a phone, the text of a cell is cut.
func (b *browser) fits(path string) {
	b.t.Helper()
	wider := eval[int](b, `document.documentElement.scrollWidth - window.innerWidth`)
	require.LessOrEqual(b.t, wider, 0, "%s scrolls sideways", path)
	if eval[int](b, `window.innerWidth`) < 500 {
		require.Empty(b.t, eval[[]string](b, cut), "cells of %s are cut", path)
	}
}

// picture stores a screenshot in MILLRACE_SCREENSHOTS for inspection.
func (b *browser) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("MILLRACE_SCREENSHOTS")
	if dir == "" {
		return
	}
	var shot []byte
	b.do(chromedp.FullScreenshot(&shot, 100))
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o644))
}

// looks visits a page in light, dark and narrow, and checks that it fits and causes no error.
func (b *browser) looks(name, path string) {
	b.t.Helper()
	for _, as := range []struct {
		name, scheme string
		width        int64
	}{{"light", "light", 1200}, {"dark", "dark", 1200}, {"narrow", "light", 390}} {
		b.colours(as.scheme)
		b.size(as.width, 900)
		b.visit(path)
		b.fits(path)
		b.await("the pictures", `Array.from(document.images).every(function (i) { i.loading = "eager"; return i.complete })`)
		b.picture(name + "-" + as.name)
	}
	b.size(1200, 900)
	b.colours("light")
	b.clean()
}

// tail returns the end of a log.
func tail(log func() string) string {
	text := log()
	return text[max(0, len(text)-4000):]
}
