package catalog

import (
	"fmt"
	"net/url"
	"strings"
)

// Template is an address with expressions in braces: "/v1/tasks/{handle}". Values are escaped, unless the template is
// a single expression, whose value is a complete address from the provider.
type Template struct {
	source string
	parts  []templatePart
}

type templatePart struct {
	text string
	expr Expr
}

// parseTemplate compiles source.
func parseTemplate(source string) (Template, error) {
	t := Template{source: source}
	rest := source
	for rest != "" {
		text, after, found := strings.Cut(rest, "{")
		if text != "" {
			t.parts = append(t.parts, templatePart{text: text})
		}
		if !found {
			break
		}
		inner, tail, closed := strings.Cut(after, "}")
		if !closed {
			return Template{}, fmt.Errorf("a { is not closed")
		}
		e, err := compileExpr(inner)
		if err != nil {
			return Template{}, err
		}
		if !e.Set() {
			return Template{}, fmt.Errorf("the expression between { and } is empty")
		}
		t.parts, rest = append(t.parts, templatePart{expr: e}), tail
	}
	return t, nil
}

// Set reports whether the entry has this address.
func (t Template) Set() bool { return t.source != "" }

// Expand returns the address for a scope. An expression without a value is an error.
func (t Template) Expand(s Scope) (string, error) {
	var b strings.Builder
	for _, part := range t.parts {
		if !part.expr.Set() {
			b.WriteString(part.text)
			continue
		}
		value := part.expr.Text(s)
		if value == "" {
			return "", fmt.Errorf("%q has no value here", part.expr.source)
		}
		if len(t.parts) > 1 {
			value = strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
		}
		b.WriteString(value)
	}
	return b.String(), nil
}
