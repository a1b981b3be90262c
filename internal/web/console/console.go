// Package console renders the pages that show an account its jobs to people: a list, and one page
// for each job with its graph, events and outputs. Pages are plain HTML from templates, work without
// scripts and ask no other host for anything. It promises that whatever a graph, a name or a failure
// holds is shown as text: nothing of it can run. Who may see what is decided by the caller.
package console

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

//go:embed pages
var pages embed.FS

//go:embed pages/script.js
var script []byte

// Script is what keeps a page up to date while its job runs; pages work without it.
func Script() []byte { return script }

// Pages holds the parsed templates.
type Pages struct{ list, job, servers, signIn, editor, problem *template.Template }

// New parses the templates, which are part of the program.
func New() *Pages {
	parse := func(name string) *template.Template {
		return template.Must(template.New("frame.html").Funcs(functions).ParseFS(pages, "pages/frame.html", "pages/style.css", "pages/"+name))
	}
	return &Pages{list: parse("list.html"), job: parse("job.html"), servers: parse("servers.html"), signIn: parse("signin.html"), editor: parse("editor.html"), problem: parse("problem.html")}
}

// functions are what templates call.
var functions = template.FuncMap{
	"span":  func(d inspect.Millis) string { return inspect.Span(time.Duration(d)) },
	"stamp": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") },
	"short": func(id job.PublicID) string { return string(id)[:min(8, len(id))] },
	"size":  bytesOf, "used": used, "memory": memory, "when": when,
}

// bytesOf writes a number of bytes for people.
func bytesOf(n int64) string {
	const kib, mib = 1 << 10, 1 << 20
	switch {
	case n < kib:
		return fmt.Sprintf("%d B", n)
	case n < mib:
		return fmt.Sprintf("%.1f KiB", float64(n)/kib)
	default:
		return fmt.Sprintf("%.1f MiB", float64(n)/mib)
	}
}

// Frame is what every page shows around its content.
type Frame struct {
	Title  string
	Prefix string // path under which the service lies, "" = the root
	Base   string // path of these pages below it
	Nonce  string // of the one style and the one script that may apply; no script stands in a page
	SignIn bool   // the deployment has accounts: offer to sign out
	Live   bool   // the page changes while its job runs
}

// ListPage is a part of an account's jobs, newest first.
type ListPage struct {
	Frame
	Jobs   []ListedJob
	Status string // the state that is selected, "" = all
	States []job.State
	Next   string // query of the next page, "" = this is the last
	Pool   bool   // link to the page of the servers
	Kept   string // what the account keeps and may keep, "" = not known
}

// ListedJob is one line of the list.
type ListedJob struct {
	Job   job.Job
	Took  inspect.Millis
	Cause string // of a failure or a wait, short
}

// JobPage is everything about one job.
type JobPage struct {
	Frame
	Job      job.Job
	Origin   job.PublicID // of a retry, "" = submitted by a client
	Timeline inspect.Timeline
	Drawing  Drawing
	Events   []inspect.Event
	Omitted  int // events that are not shown
	Outputs  []Output
	Inputs   string // of the failed node, as recorded
	Notice   string // what an action came to
	CanRetry bool
	Waiting  string // why the job waits for a ComfyUI server, with its place; "" = it does not
}

// Output is a file or a text that a node showed.
type Output struct {
	Node, Class string
	Name        string
	URL         template.URL // of the content; signed by us
	Kind        string       // image, video, audio, text or file
	Size        int64
	Text        string
}

// SignInPage asks for a key.
type SignInPage struct {
	Frame
	Wrong bool
}

// EditorPage says who works with the editor in this browser.
type EditorPage struct {
	Frame
	Account string
}

// ProblemPage says what went wrong and what to do.
type ProblemPage struct {
	Frame
	Status  int
	Message string
}

// List writes a page of jobs.
func (p *Pages) List(w io.Writer, page ListPage) error { return execute(w, p.list, page) }

// Job writes the page of a job.
func (p *Pages) Job(w io.Writer, page JobPage) error { return execute(w, p.job, page) }

// SignIn writes the form that asks for a key.
func (p *Pages) SignIn(w io.Writer, page SignInPage) error { return execute(w, p.signIn, page) }

// Editor writes the page that leads to the editor.
func (p *Pages) Editor(w io.Writer, page EditorPage) error { return execute(w, p.editor, page) }

// Problem writes an error page.
func (p *Pages) Problem(w io.Writer, page ProblemPage) error { return execute(w, p.problem, page) }

func execute(w io.Writer, t *template.Template, page any) error {
	if err := t.Execute(w, page); err != nil {
		return fmt.Errorf("render a page: %w", err)
	}
	return nil
}

// Guard sets the headers that keep a page to itself: nothing is loaded from elsewhere but pictures, no
// script but ours runs, nobody frames it, and nothing stays in a cache.
func Guard(h http.Header, nonce string) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'nonce-"+nonce+"'; script-src 'nonce-"+nonce+"'; "+
		"img-src 'self' https:; media-src 'self' https:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer the forms of these pages say Origin: null
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

// NextQuery is the query of the page behind one that ends before the given place.
func NextQuery(status string, before int64) string {
	if before == 0 {
		return ""
	}
	q := url.Values{"before": {fmt.Sprint(before)}}
	if status != "" {
		q.Set("status", status)
	}
	return q.Encode()
}

// Bar is the position of a node's run on the time axis of its job, in thousandths of the axis.
type Bar struct{ X, Width int64 }

// Place returns the bar of a node: from its beginning to its end, between the job's.
func (p JobPage) Place(s inspect.NodeSpan) Bar {
	total := max(p.Timeline.Total.Duration(), time.Millisecond)
	from := max(0, s.Began.Sub(p.Timeline.SubmittedAt))
	x := min(int64(1000*from/total), 996)
	return Bar{X: x, Width: min(max(int64(1000*s.Took.Duration()/total), 4), 1000-x)}
}
