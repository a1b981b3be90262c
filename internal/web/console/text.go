package console

import (
	"fmt"
	"html/template"
	"net/url"
	"time"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

// Act is a change that an operator can make. Its form requires a reason.
type Act struct {
	Path    string // path below Base to which the form is sent
	Label   string // in the imperative
	Warning string // consequence of the change
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
	case s.Problem != "":
		return s.Problem
	case s.Drained:
		return "An operator drained the server: it finishes its running work and accepts no new work."
	case s.Health == server.Unseen:
		return "The server has not been probed yet."
	case s.Foreign > 0:
		return fmt.Sprintf("The queue of the server has %d prompts of other clients.", s.Foreign)
	}
	return ""
}

// JobLink is a job with the page that shows it.
type JobLink struct {
	ID   job.PublicID
	Page bool // the visitor may see the page of the job
}

// ShownLease is a segment that runs on a server.
type ShownLease struct {
	JobLink
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
func money(micros int64) string { return fmt.Sprintf("$%.4f", float64(micros)/1e6) }

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
