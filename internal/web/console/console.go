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
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

//go:embed pages
var embedded embed.FS

// Page is what a template shows. Each page has a Frame and names its template.
type Page interface {
	// Outer returns the frame, which is filled in before the page is written.
	Outer() *Frame
	// Template returns the name of a file of pages, without ".html".
	Template() string
}

// Pages holds the parsed templates.
type Pages struct{ named map[string]*template.Template }

// New parses the templates, which are part of the program.
func New() *Pages {
	files, err := fs.Glob(embedded, "pages/*.html")
	if err != nil {
		panic(err) // the pattern is constant
	}
	p := &Pages{named: map[string]*template.Template{}}
	frame := template.Must(template.New("frame.html").Funcs(functions).ParseFS(embedded, "pages/frame.html", "pages/style.css"))
	for _, file := range files {
		t := template.Must(template.Must(frame.Clone()).ParseFS(embedded, file))
		p.named[strings.TrimSuffix(path.Base(file), ".html")] = t
	}
	return p
}

// Write writes a page whole.
func (p *Pages) Write(w io.Writer, page Page) error { return p.execute(w, page, "frame.html") }

// Content writes what stands in the frame of a page: what changes while it is open.
func (p *Pages) Content(w io.Writer, page Page) error { return p.execute(w, page, "content") }

func (p *Pages) execute(w io.Writer, page Page, part string) error {
	t, ok := p.named[page.Template()]
	if !ok {
		return fmt.Errorf("there is no page %q", page.Template())
	}
	if err := t.ExecuteTemplate(w, part, page); err != nil {
		return fmt.Errorf("render a page: %w", err)
	}
	return nil
}

// File is a file that pages refer to. There is nothing of anybody in it.
type File struct {
	Name, Type string
	Content    []byte
}

//go:embed files
var files embed.FS

// Files returns the files that pages refer to by their names below the path of the pages.
func Files() []File {
	kinds := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
	var all []File
	err := fs.WalkDir(files, "files", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || kinds[path.Ext(name)] == "" {
			return err
		}
		content, err := files.ReadFile(name)
		all = append(all, File{Name: path.Base(name), Type: kinds[path.Ext(name)], Content: content})
		return err
	})
	if err != nil {
		panic(err) // they are part of the program
	}
	return all
}

// functions are what templates call.
var functions = template.FuncMap{
	"span":  func(d inspect.Millis) string { return inspect.Span(time.Duration(d)) },
	"stamp": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") },
	"short": func(id job.PublicID) string { return string(id)[:min(8, len(id))] },
	"ago":   func(t time.Time) template.HTML { return moment(t, "") },
	"since": func(t time.Time) template.HTML { return moment(t, "since") },
	"clock": func(t time.Time) template.HTML { return moment(t, "clock") },
	"act":   actAt,
	"first": first, "money": money, "millis": millis,
	"stampMinute": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") },
	"size":        bytesOf, "used": used, "memory": memory, "when": when,
}

// moment writes a time of which a script makes the reader's own: how long ago it was, for how long it has been so
// ("since"), or the time of the day ("clock").
func moment(t time.Time, as string) template.HTML {
	if t.IsZero() {
		return ""
	}
	if as != "" {
		as = ` data-as="` + as + `"`
	}
	t = t.UTC()
	return template.HTML(`<time datetime="` + t.Format("2006-01-02T15:04:05.000Z") + `"` + as + `>` + t.Format("2006-01-02 15:04:05 UTC") + `</time>`)
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
	Title   string
	Prefix  string        // path under which the service lies, "" = the root
	Base    string        // path of these pages below it
	Nonce   string        // of the one style and the scripts that may apply; no script stands in a page
	SignIn  bool          // the deployment has accounts: offer to sign out
	Account string        // whose part of the service is shown
	All     bool          // an operator looks at all accounts
	Query   template.URL  // that keeps an operator at the account that they look at, with "?"; "" = none
	Nav     []Room        // links to the other pages
	Live    bool          // the page changes while it is open
	Every   time.Duration // how often it is looked at even without a message; 0 = after messages only
	Editor  bool          // a web editor is served at the root
	Scripts []string      // files of its own, beside the one of every page
	Styles  []string      // the same
}

// Outer implements Page for every page that embeds a Frame.
func (f *Frame) Outer() *Frame { return f }

// Room is a link in the navigation.
type Room struct {
	Path     string // below the base
	Title    string
	Operator bool // for who may see what operators see
	Operates bool // for who may change what operators change
	Account  bool // shows one account
	Current  bool // it is the page, or above it
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
	Parts    []Part
	At       int64 // the version that is shown, 0 = the last
	Versions int64
	AtTime   time.Time    // of that version
	With     job.PublicID // the job that it is compared with, "" = none
	Compared *inspect.Comparison
	Node     *NodeDetail // the node that is chosen, nil = none
	Notice   string      // what an action came to
	CanRetry bool
	Waiting  string   // why the job waits for a ComfyUI server, with its place; "" = it does not
	Preview  *Preview // what a running node has made so far, nil = nothing is known of it
}

// Preview is the newest picture that a running node has sent.
type Preview struct {
	Node string // as the graph of the job names it
	Seen string // differs from picture to picture
}

// Template implements Page.
func (*JobPage) Template() string { return "job" }

// Output is a file or a text that a node showed.
type Output struct {
	Node, Class string
	Name        string
	Asset       string // id of the file, "" = none
	Kind        string // image, video, audio, text or file
	Size        int64
	Text        string
}

// SignInPage asks for a key.
type SignInPage struct {
	Frame
	Wrong bool
	Job   job.PublicID // that the editor opens after the sign-in, "" = none
}

// Template implements Page.
func (*SignInPage) Template() string { return "signin" }

// EditorPage says who works with the editor in this browser.
type EditorPage struct{ Frame }

// Template implements Page.
func (*EditorPage) Template() string { return "editor" }

// ProblemPage says what went wrong and what to do.
type ProblemPage struct {
	Frame
	Status  int
	Message string
	Away    bool   // something is not available now
	Comes   bool   // the browser asks for the page again
	Again   *Again // a form that could not be acted on, nil = none, or none that can be sent again
}

// Again is a form with what was sent before.
type Again struct {
	Path       string // below the pages, with its query
	Values     []Sent
	Credential bool // a credential was sent, which has to be given again
}

// Sent is a value of a form.
type Sent struct{ Name, Value string }

// Heading says in few words what kind of problem there is.
func (p *ProblemPage) Heading() string {
	switch p.Status {
	case http.StatusNotFound, http.StatusGone:
		return "Not found"
	case http.StatusForbidden:
		return "Not allowed"
	case http.StatusServiceUnavailable:
		return "Not available now"
	}
	if p.Status >= http.StatusInternalServerError {
		return "Something went wrong"
	}
	return "This cannot be done"
}

// Template implements Page.
func (*ProblemPage) Template() string { return "problem" }

// Guard sets the headers that keep a page to itself: nothing is loaded from elsewhere but pictures and films from the
// origins that are named, no script but ours runs, nobody frames it, and nothing stays in a cache.
func Guard(h http.Header, nonce string, media ...string) {
	own := strings.Join(append([]string{"'self'"}, media...), " ")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'nonce-"+nonce+"'; script-src 'nonce-"+nonce+"'; "+
		"img-src "+own+"; media-src "+own+"; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer the forms of these pages say Origin: null
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
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
