// Package console renders the pages that show people the jobs of an account: a list, and one page for each job with
// its graph, events and outputs. Pages are plain HTML from templates, work without scripts and load nothing from
// other hosts. It promises that the content of a graph, a name or a failure is shown as text and cannot run. The
// callers decide who may see a page.
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

// Page is the data of a template. Each page has a Frame and names its template.
type Page interface {
	// Outer returns the frame, which is filled in before the page is written.
	Outer() *Frame
	// Template returns the name of a file of pages, without ".html".
	Template() string
}

// Pages contains the parsed templates.
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

// Write writes a whole page.
func (p *Pages) Write(w io.Writer, page Page) error { return p.execute(w, page, "frame.html") }

// Content writes the content of a page inside its frame, which changes while the page is open.
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

// File is a file that pages refer to. It contains no data of accounts.
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
		panic(err) // the files are part of the program
	}
	return all
}

// functions are the functions of templates.
var functions = template.FuncMap{
	"span":  func(d inspect.Millis) string { return inspect.Span(time.Duration(d)) },
	"stamp": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") },
	"short": func(id job.PublicID) string { return string(id)[:min(8, len(id))] },
	"ago":   func(t time.Time) template.HTML { return timeTag(t, "") },
	"since": func(t time.Time) template.HTML { return timeTag(t, "since") },
	"clock": func(t time.Time) template.HTML { return timeTag(t, "clock") },
	"act":   actAt,
	"first": firstNames, "money": money, "millis": millis,
	"stampMinute": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") },
	"size":        bytesOf, "used": used, "memory": memory, "when": when,
}

// timeTag writes a time that a script converts for the reader: to the elapsed time, to a duration ("since"), or to the
// local time of day ("clock").
func timeTag(t time.Time, as string) template.HTML {
	if t.IsZero() {
		return ""
	}
	if as != "" {
		as = ` data-as="` + as + `"`
	}
	t = t.UTC()
	return template.HTML(`<time datetime="` + t.Format("2006-01-02T15:04:05.000Z") + `"` + as + `>` + t.Format("2006-01-02 15:04:05 UTC") + `</time>`)
}

// bytesOf formats a number of bytes for people.
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

// Frame contains the parts of every page around its content.
type Frame struct {
	Title   string
	Prefix  string        // path prefix of the service, "" = the root
	Base    string        // path of these pages below Prefix
	Nonce   string        // of the style and the script files that may apply; pages contain no inline scripts
	SignIn  bool          // the deployment has accounts, so the page offers to sign out
	Account string        // account whose data is shown
	All     bool          // an operator looks at all accounts
	Query   template.URL  // query that keeps the account that an operator named, with "?", or ""
	Nav     []NavLink     // links to the other pages
	Live    bool          // the page changes while it is open
	Every   time.Duration // how often it is rebuilt without messages; 0 = only after messages
	Editor  bool          // a web editor is served at the root
	Scripts []string      // script files of this page, besides the common one
	Styles  []string      // style files of this page, besides the common one
}

// Outer implements Page for every page that embeds a Frame.
func (f *Frame) Outer() *Frame { return f }

// NavLink is a link in the navigation.
type NavLink struct {
	Path     string // path below Base
	Title    string
	Operator bool // only for visitors who may see the pages of operators
	Operates bool // only for visitors who may make the changes of operators
	Account  bool // shows one account
	Current  bool // the link leads to this page, or to one above it
}

// JobPage contains all data about one job.
type JobPage struct {
	Frame
	Job      job.Job
	Origin   job.PublicID // origin of a retry, or ""
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
	With     job.PublicID // the job to compare with, or ""
	Compared *inspect.Comparison
	Node     *NodeDetail // the selected node, or nil
	Notice   string      // result of an action
	CanRetry bool
	Waiting  string   // why the job waits for a ComfyUI server, with its position, or ""
	Preview  *Preview // the newest preview of a running node, or nil
}

// Preview is the newest picture that a running node has sent.
type Preview struct {
	Node string // id of the node in the graph of the job
	Seen string // differs between pictures
}

// Template implements Page.
func (*JobPage) Template() string { return "job" }

// Output is a file or a text that a node shows.
type Output struct {
	Node, Class string
	Name        string
	Asset       string // id of the file, or ""
	Kind        string // image, video, audio, text or file
	Size        int64
	Text        string
}

// SignInPage asks for a key.
type SignInPage struct {
	Frame
	Wrong bool
	Job   job.PublicID // job that the editor opens after the sign-in, or ""
}

// Template implements Page.
func (*SignInPage) Template() string { return "signin" }

// EditorPage shows who has signed in to the editor in this browser.
type EditorPage struct{ Frame }

// Template implements Page.
func (*EditorPage) Template() string { return "editor" }

// ProblemPage describes an error and what to do.
type ProblemPage struct {
	Frame
	Status  int
	Heading string // what kind of problem there is, in few words
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
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, the forms of these pages would send Origin: null
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

// Bar is the position of a node's run on the time axis of its job, in thousandths of the axis.
type Bar struct{ X, Width int64 }

// Place returns the bar of a node: from its start to its end, on the time axis of the job.
func (p JobPage) Place(s inspect.NodeSpan) Bar {
	total := max(p.Timeline.Total.Duration(), time.Millisecond)
	from := max(0, s.Began.Sub(p.Timeline.SubmittedAt))
	x := min(int64(1000*from/total), 996)
	return Bar{X: x, Width: min(max(int64(1000*s.Took.Duration()/total), 4), 1000-x)}
}
