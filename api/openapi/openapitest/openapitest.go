// Package openapitest checks HTTP answers against the OpenAPI document of the service: the operation and its status
// must be documented, and the content type and body must match the document. It wraps a handler or the transport of a
// client, and is for tests only.
package openapitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/millrace-dev/millrace/api/openapi"
)

// Document is the parsed document.
type Document struct {
	doc   *openapi3.T
	mu    sync.Mutex // guards seen
	seen  map[string]bool
	paths []template
}

// Load returns the document of the whole service, the admin API included. It is parsed once.
var Load = sync.OnceValues(func() (*Document, error) {
	raw, err := openapi.Operators("")
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		return nil, err
	}
	d := &Document{doc: doc, seen: map[string]bool{}}
	for path, item := range doc.Paths.Map() {
		d.paths = append(d.paths, templates(path, item)...)
	}
	// The most literal template matches first, as in a router: /jobs/cancel before /jobs/{id}.
	slices.SortFunc(d.paths, func(a, b template) int {
		return strings.Compare(a.order(), b.order())
	})
	return d, nil
})

// template is a path of the document below one of its prefixes.
type template struct {
	path     string // as in the document
	segments []string
	item     *openapi3.PathItem
}

func templates(path string, item *openapi3.PathItem) []template {
	prefixes := []string{""}
	if len(item.Servers) > 0 {
		prefixes = nil
		for _, s := range item.Servers {
			prefixes = append(prefixes, strings.TrimSuffix(s.URL, "/"))
		}
	}
	var list []template
	for _, prefix := range prefixes {
		list = append(list, template{path, strings.Split(prefix+path, "/"), item})
	}
	return list
}

func (t template) order() string {
	return strings.ReplaceAll(strings.Join(t.segments, "/"), "{", "\xff")
}

func isParameter(segment string) bool { return strings.HasPrefix(segment, "{") }

// matches reports whether an escaped path matches the template.
func (t template) matches(path string) bool {
	segments := strings.Split(path, "/")
	if len(segments) != len(t.segments) {
		return false
	}
	for i, segment := range t.segments {
		if segment != segments[i] && (!isParameter(segment) || segments[i] == "") {
			return false
		}
	}
	return true
}

// Operation is one method of one path.
type Operation struct {
	Method, Path string   // as in the document
	Routes       []string // the paths that serve it, with parameters in braces
	Public       bool
	op           *openapi3.Operation
}

// Query lists the names of the documented query parameters, in order.
func (o Operation) Query() []string {
	all := []string{}
	for _, p := range o.op.Parameters {
		if p.Value.In == openapi3.ParameterInQuery {
			all = append(all, p.Value.Name)
		}
	}
	slices.Sort(all)
	return all
}

// Operations lists all operations by path and method.
func (d *Document) Operations() []Operation {
	var all []Operation
	for path, item := range d.doc.Paths.Map() {
		for method, op := range item.Operations() {
			o := Operation{Method: method, Path: path, op: op, Public: op.Security != nil && len(*op.Security) == 0}
			for _, t := range templates(path, item) {
				o.Routes = append(o.Routes, strings.Join(t.segments, "/"))
			}
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b Operation) int { return strings.Compare(a.Path+a.Method, b.Path+b.Method) })
	return all
}

// find returns the operation that serves a request, or nil if the document has none.
func (d *Document) find(method, path string) (known bool, at string, op *openapi3.Operation) {
	for _, t := range d.paths {
		if t.matches(path) {
			return true, t.path, t.item.GetOperation(method)
		}
	}
	return false, "", nil
}

// Answer is a received HTTP answer.
type Answer struct {
	Method, Path string // Path is escaped, as it was sent
	Status       int
	Header       http.Header
	Body         []byte
	Partial      bool // the body was not read to its end
}

// isPage reports whether a path belongs to the pages for people or to the files of an editor, which are not part of
// the API.
func isPage(path string) bool {
	for _, pages := range []string{"/console", "/editor", "/assets"} {
		if path == pages || strings.HasPrefix(path, pages+"/") {
			return true
		}
	}
	return path == "/" || path == "" // the root, with or without the prefix of the service
}

// Check returns the difference between an answer and the document, or nil.
func (d *Document) Check(a Answer) error {
	if isPage(a.Path) || isPreflight(a) {
		return nil
	}
	known, at, op := d.find(a.Method, a.Path)
	if op == nil && a.Method == http.MethodHead && a.Status != http.StatusMethodNotAllowed {
		known, at, op = d.find(http.MethodGet, a.Path) // HEAD is documented as GET
	}
	if op == nil {
		return d.checkUnknown(known, a)
	}
	d.mu.Lock()
	d.seen[a.Method+" "+at+" "+strconv.Itoa(a.Status)] = true
	d.mu.Unlock()
	ref := op.Responses.Value(strconv.Itoa(a.Status))
	if ref == nil {
		return fmt.Errorf("%s %s: status %d is not documented: %s", a.Method, at, a.Status, excerpt(a.Body))
	}
	if err := checkContent(ref.Value, a); err != nil {
		return fmt.Errorf("%s %s: status %d: %w: %s", a.Method, at, a.Status, err, excerpt(a.Body))
	}
	return nil
}

// isPreflight reports whether an answer is to a preflight request of a browser, which belongs to no operation.
func isPreflight(a Answer) bool {
	return a.Method == http.MethodOptions && a.Status == http.StatusNoContent && len(a.Body) == 0
}

// checkUnknown accepts the errors that a request for an unknown path or method may have.
func (d *Document) checkUnknown(known bool, a Answer) error {
	want := http.StatusNotFound
	if known {
		want = http.StatusMethodNotAllowed
	}
	if a.Status == want || a.Status == http.StatusForbidden || a.Status == http.StatusUnauthorized && !known {
		return nil
	}
	return fmt.Errorf("%s %s is not documented and answers %d", a.Method, a.Path, a.Status)
}

func checkContent(r *openapi3.Response, a Answer) error {
	for name, header := range r.Headers {
		if header.Value.Required && a.Header.Get(name) == "" {
			return fmt.Errorf("the header %s is missing", name)
		}
	}
	if a.Method == http.MethodHead || a.Status == http.StatusSwitchingProtocols {
		return nil
	}
	if len(r.Content) == 0 {
		if len(a.Body) > 0 {
			return errors.New("there should be no body")
		}
		return nil
	}
	kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	media := r.Content.Get(kind)
	if media == nil {
		return fmt.Errorf("the content type %q is not documented", kind)
	}
	switch {
	case a.Partial || media.Schema == nil:
		return nil
	case kind == "text/event-stream":
		return checkEvents(media, a.Body)
	case strings.HasSuffix(kind, "json"):
		return checkJSON(media.Schema.Value, a.Body)
	}
	return nil
}

func checkJSON(schema *openapi3.Schema, body []byte) error {
	if schema.Format == "binary" {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	var value any
	if err := decoder.Decode(&value); err != nil {
		return fmt.Errorf("the body is not JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("unexpected data after the JSON")
	}
	return schema.VisitJSON(value, openapi3.MultiErrors())
}

// checkEvents checks the data of server-sent events against the schemas in x-events.
func checkEvents(media *openapi3.MediaType, body []byte) error {
	raw, err := json.Marshal(media.Extensions["x-events"])
	if err != nil {
		return err
	}
	var refs map[string]struct {
		Ref string `json:"$ref"`
	}
	if err := json.Unmarshal(raw, &refs); err != nil {
		return err
	}
	doc, err := Load()
	if err != nil {
		return err
	}
	for frame := range strings.SplitSeq(string(body), "\n\n") {
		event, data, ok := strings.Cut(frame, "\ndata: ")
		name, named := strings.CutPrefix(event, "event: ")
		if !ok || !named {
			continue // a comment or an incomplete frame
		}
		schema := doc.doc.Components.Schemas[strings.TrimPrefix(refs[name].Ref, "#/components/schemas/")]
		if schema == nil {
			return fmt.Errorf("the event %s is not documented", name)
		}
		if err := checkJSON(schema.Value, []byte(data)); err != nil {
			return fmt.Errorf("event %s: %w", name, err)
		}
	}
	return nil
}

func excerpt(body []byte) string {
	const most = 400
	return string(body[:min(most, len(body))])
}

// Reporter receives the wrong answers; *testing.T implements it.
type Reporter interface {
	Errorf(format string, args ...any)
}

// Transport returns a transport that checks every answer of base and reports wrong ones. Of event streams and
// upgrades, only the status is checked.
func Transport(r Reporter, base http.RoundTripper) http.RoundTripper {
	return transport{r, base}
}

type transport struct {
	report Reporter
	base   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	doc, err := Load()
	if err != nil {
		return nil, err
	}
	a := Answer{Method: req.Method, Path: req.URL.EscapedPath(), Status: res.StatusCode, Header: res.Header}
	if live := strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") || res.StatusCode == http.StatusSwitchingProtocols; live {
		a.Partial = true
	} else {
		a.Body, err = io.ReadAll(res.Body)
		if err != nil {
			return nil, errors.Join(err, res.Body.Close())
		}
		if err := res.Body.Close(); err != nil {
			return nil, err
		}
		res.Body = io.NopCloser(bytes.NewReader(a.Body))
	}
	if res.Header.Get("Content-Encoding") != "" {
		a.Partial = true // compressed: check only the status and the type
	}
	if err := doc.Check(a); err != nil {
		t.report.Errorf("answer against the OpenAPI document: %s", err)
	}
	return res, nil
}

// Handler returns next with a check of every answer, below the path prefix mount. Wrong answers are reported.
func Handler(r Reporter, mount string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		rec := &recorder{ResponseWriter: w, status: http.StatusOK}
		path := strings.TrimPrefix(req.URL.EscapedPath(), mount)
		finished := false
		defer func() {
			doc, err := Load()
			if err == nil && finished && !rec.hijacked {
				err = doc.Check(Answer{
					Method: req.Method, Path: path, Status: rec.status, Header: w.Header(), Body: rec.body.Bytes(),
					Partial: rec.cut || w.Header().Get("Content-Encoding") != "" || context.Cause(req.Context()) != nil,
				})
			}
			if err != nil {
				r.Errorf("answer against the OpenAPI document: %s", err)
			}
		}()
		next.ServeHTTP(rec, req)
		finished = true
	})
}
