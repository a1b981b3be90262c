package console

import (
	"fmt"
	"html/template"
	"time"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

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

// Charged formats the cost of a call, or "" if it is unknown.
func Charged(c call.Call) string {
	if c.Charged != nil {
		return money(*c.Charged)
	}
	return ""
}
