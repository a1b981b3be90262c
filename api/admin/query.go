package admin

import (
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
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

// number parses a parameter that is a positive number; 0 = absent.
func number(query url.Values, name string) (int64, error) {
	text := query.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fault.New(fault.Invalid, fault.CodeInvalidRequest, "%s must be a whole number of at least 1", name)
	}
	return n, nil
}

// count is number for values of type int. A value above the range of int means no bound.
func count(query url.Values, name string) (int, error) {
	n, err := number(query, name)
	return int(min(n, math.MaxInt32)), err
}

// flag parses a parameter that is true or false; absent = false.
func flag(query url.Values, name string) (bool, error) {
	switch query.Get(name) {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	}
	return false, fault.New(fault.Invalid, fault.CodeInvalidRequest, "%s must be true or false", name)
}
