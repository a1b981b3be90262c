package admin

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/action"
)

// parameters are the names that a query may have. A name that ends in "..." may be given several times.
type parameters []string

// check refuses a query with a part that would be ignored: an unknown name, a second value, an empty value or a
// malformed query. A mistyped filter must not be ignored.
func (p parameters) check(r *http.Request) error {
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "the query is not well-formed: NAME=VALUE, joined by & and escaped")
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		list := slices.Contains(p, name+"...")
		if !list && !slices.Contains(p, name) {
			return fault.New(fault.Invalid, fault.CodeInvalidRequest, "the query parameter %.64q is unknown; %s", name, p.list())
		}
		if n := len(given[name]); !list && n > 1 {
			return fault.New(fault.Invalid, fault.CodeInvalidRequest, "the query parameter %s is given %d times", name, n)
		}
		if slices.Contains(given[name], "") {
			return fault.New(fault.Invalid, fault.CodeInvalidRequest, "the query parameter %s is empty: give it a value, or leave it out", name)
		}
	}
	return nil
}

// list lists the parameters of the path, for an error message.
func (p parameters) list() string {
	if len(p) == 0 {
		return "this path has no query parameters"
	}
	return "this path has: " + strings.ReplaceAll(strings.Join(p, ", "), "...", "")
}

// readable refuses a path or a query that is not valid UTF-8 or contains a NUL. No name contains such bytes, and
// PostgreSQL refuses them.
func readable(r *http.Request) error {
	if !action.IsText(r.URL.Path) {
		return fault.New(fault.NotFound, fault.CodeNotFound, "there is nothing at this path")
	}
	for name, values := range r.URL.Query() {
		for _, value := range values {
			if !action.IsText(value) {
				return fault.New(fault.Invalid, fault.CodeInvalidRequest, "the value of %.64q is not a text", name)
			}
		}
	}
	return nil
}
