// Package console is the layout that all pages for people share: their frame, style and components. The data and the
// template of a page are in the package of api/console that serves it. Pages are plain HTML from templates, work
// without scripts and load nothing from other hosts. It promises that the content of a graph, a name or a failure is
// shown as text and cannot run. The callers decide who may see a page.
package console

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

// Page is the data of a template, a pointer to a type such as JobPage, whose template is the file job.html.
type Page interface {
	// Outer returns the frame, which is filled in before the page is written. A page embeds it.
	Outer() *Frame
}

// Pages contains the parsed templates of pages, and the files that pages refer to.
type Pages struct {
	frame *template.Template
	named map[string]*template.Template
	files []File
}

//go:embed frame.html parts.html logo.html style.css files
var layout embed.FS

// Style is the stylesheet, and Logo the mark of Millrace that it styles, for a page outside the console that looks like one in it.
var (
	//go:embed style.css
	Style template.CSS
	//go:embed logo.html
	Logo template.HTML
)

// New returns the layout of all pages, to which their packages add the templates of their pages.
func New() *Pages {
	p := &Pages{named: map[string]*template.Template{}}
	p.frame = template.Must(template.New("frame.html").Funcs(functions).ParseFS(layout, "frame.html", "parts.html", "logo.html", "style.css"))
	common, err := fs.Sub(layout, "files")
	if err != nil {
		panic(err) // the directory is part of the program
	}
	p.Add(common)
	return p
}

// Add adds the templates of pages, and the scripts, styles and pictures that they refer to. They contain no data of
// accounts. It panics if a template cannot be parsed: templates are part of the program.
func (p *Pages) Add(content fs.FS) {
	err := fs.WalkDir(content, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		page, is := strings.CutSuffix(path.Base(name), ".html")
		kind := kinds[path.Ext(name)]
		if !is && kind == "" {
			return nil
		}
		raw, err := fs.ReadFile(content, name)
		if is && err == nil {
			p.named[page] = template.Must(template.Must(p.frame.Clone()).Parse(labelled(string(raw))))
			return nil
		}
		p.files = append(p.files, File{Name: path.Base(name), Type: kind, Content: raw})
		return err
	})
	if err != nil {
		panic(err)
	}
}

// kinds are the content types of files by their extensions. Other files, such as licences, are not served.
var kinds = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}

// File is a file that pages refer to by its name below their path.
type File struct {
	Name, Type string
	Content    []byte
}

// Files returns the files that pages refer to.
func (p *Pages) Files() []File { return p.files }

// Write writes a whole page.
func (p *Pages) Write(w io.Writer, page Page) error { return p.execute(w, page, "frame.html") }

// Content writes the content of a page inside its frame, which changes while the page is open.
func (p *Pages) Content(w io.Writer, page Page) error { return p.execute(w, page, "content") }

func (p *Pages) execute(w io.Writer, page Page, part string) error {
	kind := reflect.TypeOf(page).Elem().Name()
	t, ok := p.named[strings.ToLower(strings.TrimSuffix(kind, "Page"))]
	if !ok {
		return fmt.Errorf("there is no template of %s", kind)
	}
	if err := t.ExecuteTemplate(w, part, page); err != nil {
		return fmt.Errorf("render a page: %w", err)
	}
	return nil
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
	Find    bool          // the bar has a field that finds things by id or name
	Switch  bool          // the visitor may look at other accounts
	Name    string        // name of Account, or ""
	Person  string        // name of the person who has signed in, or ""
	Live    bool          // the page changes while it is open
	Every   time.Duration // how often it is rebuilt without messages; 0 = only after messages
	Editor  bool          // a web editor is served at the root
	Scripts []string      // script files of this page, besides the common one
	Styles  []string      // style files of this page, besides the common one
}

// Outer implements Page for every page that embeds a Frame.
func (f *Frame) Outer() *Frame { return f }

// Group is a part of the navigation.
type Group string

// The groups of the navigation, in their order. The first has no heading.
const (
	Work    Group = ""
	Create  Group = "Create"
	Mine    Group = "Account"
	Operate Group = "Operate"
)

// NavLink is a link in the navigation.
type NavLink struct {
	Path     string // path below Base
	Title    string
	Group    Group
	Icon     string // path of a drawing of 16 by 16 units
	Operator bool   // only for visitors who may see the pages of operators
	Operates bool   // only for visitors who may make the changes of operators
	Account  bool   // shows one account
	Current  bool   // the link leads to this page, or to one above it
}

// NavGroup is a group of the navigation with its links.
type NavGroup struct {
	Title Group
	Links []NavLink
}

// Navigation returns the links to the other pages by group. A group without links is left out.
func (f *Frame) Navigation() []NavGroup {
	var all []NavGroup
	for _, title := range []Group{Work, Create, Mine, Operate} {
		group := NavGroup{Title: title}
		for _, link := range f.Nav {
			if link.Group == title {
				group.Links = append(group.Links, link)
			}
		}
		if len(group.Links) > 0 {
			all = append(all, group)
		}
	}
	return all
}

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

// Act is a change that an operator can make. Its form requires a reason.
type Act struct {
	Path    string // path below Base to which the form is sent
	Label   string // in the imperative
	Warning string // consequence of the change
	Danger  bool   // the change ends or removes something
	Hidden  map[string]string
	Fields  []ActField
}

// ActField is a further field of the form: a choice or a text.
type ActField struct {
	Name, Label, Value string
	Required           bool
	Choices            []Choice
}

// Choice is a value that a field may have.
type Choice struct {
	Value, Label string // Label "" = the label is the value
	Chosen       bool
}

// act is an Act with its full path.
type act struct {
	Act
	At string
}

// actAt returns the data of the template of a form.
func actAt(f Frame, a Act) act { return act{a, f.Prefix + f.Base + a.Path} }

// Query returns a query for an address in a page.
func Query(values url.Values) template.URL { return template.URL(values.Encode()) }

// ShownDelivery is a delivery with the name of its account and its last attempt.
type ShownDelivery struct {
	webhook.Delivery
	Name string
	Last *webhook.Try // nil = no attempt yet
	Acts []Act
}

// Chip is a link to another list. Queries of this package are encoded already.
type Chip struct {
	Text    string
	Query   template.URL
	Current bool
}

// ShownServer is one server.
type ShownServer struct {
	*server.Server
	Runs []ShownLease
	Acts []Act
}

// Reason returns why the server is in its state, or "".
func (s ShownServer) Reason() string {
	switch {
	case s.Trouble() != "":
		return s.Trouble()
	case s.Drained:
		return "An operator drained the server: it finishes its running work and accepts no new work."
	case s.Health == server.Unseen:
		return "The server has not been probed yet."
	case s.Foreign > 0:
		return fmt.Sprintf("The queue of the server has %d prompts of other clients.", s.Foreign)
	}
	return ""
}

// ShownLease is a segment that runs on a server.
type ShownLease struct {
	ID job.PublicID // of the job
	server.Lease
}

// used returns the used share of a device's memory in thousandths, at most 1,000.
func used(d server.Device) int64 {
	if d.Total <= 0 {
		return 0
	}
	return min(1000, max(0, int64(1000*(float64(d.Total-d.Free)/float64(d.Total)))))
}

// memory formats the memory of a device for people.
func memory(d server.Device) string {
	return fmt.Sprintf("%s of %s used", gib(max(0, d.Total-d.Free)), gib(d.Total))
}

func gib(bytes int64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }

// when formats a time that may be missing.
func when(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
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
	"first": firstNames, "money": money, "charged": charged, "callClass": callClass, "millis": millis,
	"who": func(actor, account string) string {
		switch {
		case account == "":
			return actor
		case actor == account:
			return "the account"
		case actor == "console:"+account:
			return "the account, in the console"
		}
		return actor
	},
	"seconds":     func(n int64) string { return inspect.Span(time.Duration(n) * time.Second) },
	"stampMinute": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") },
	"size":        amount.Bytes, "used": used, "memory": memory, "when": when,
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
	return template.HTML(`<time datetime="` + t.Format("2006-01-02T15:04:05.000Z") + `"` + as + `>` +
		t.Format("2006-01-02 15:04:05 UTC") + `</time>`)
}

// money formats USD millionths.
func money(micros int64) string {
	if micros%10_000 == 0 {
		return fmt.Sprintf("$%.2f", float64(micros)/1e6)
	}
	return fmt.Sprintf("$%.4f", float64(micros)/1e6)
}

// millis formats a number of milliseconds.
func millis(n int64) string { return inspect.Span(time.Duration(n) * time.Millisecond) }

// maxRowNames bounds the names in a row of a list.
const maxRowNames = 4

// firstNames returns the first names of a list and the number of the others.
func firstNames(names []string) (out struct {
	Names []string
	More  int
},
) {
	out.Names = names[:min(len(names), maxRowNames)]
	out.More = len(names) - len(out.Names)
	return out
}

// callClass returns the class by which a style colours the state of a call.
func callClass(s call.State) string {
	switch s {
	case call.Succeeded:
		return "succeeded"
	case call.Failed, call.Unknown:
		return "failed"
	case call.Canceled:
		return "canceled"
	case call.Waiting:
		return "queued"
	case call.Admitted, call.Dispatching, call.Running, call.Answered:
	}
	return "running"
}

// charged formats the cost of a call, or "" if it is unknown.
func charged(c call.Call) string {
	if c.Charged != nil {
		return money(*c.Charged)
	}
	return ""
}
