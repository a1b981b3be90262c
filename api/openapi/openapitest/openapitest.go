// Package openapitest checks HTTP answers against the OpenAPI document of the service: the operation and its status
// must be documented, and the content type and body must match the document. It wraps a handler or the transport of a
// client, and is for tests only.
package openapitest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

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
	a.Path = unmounted(a.Path)
	if isPage(a.Path) || isPreflight(a) {
		return nil
	}
	known, at, op := d.find(a.Method, a.Path)
	if op.value == nil && a.Method == http.MethodHead && a.Status != http.StatusMethodNotAllowed {
		known, at, op = d.find(http.MethodGet, a.Path) // HEAD is documented as GET
	}
	if op.value == nil {
		return d.checkUnknown(known, a)
	}
	d.mu.Lock()
	d.seen[a.Method+" "+at+" "+strconv.Itoa(a.Status)] = true
	d.mu.Unlock()
	response := d.at(op, "responses", strconv.Itoa(a.Status))
	if response.value == nil {
		return fmt.Errorf("%s %s: status %d is not documented: %s", a.Method, at, a.Status, excerpt(a.Body))
	}
	if err := d.checkContent(response, a); err != nil {
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

func (d *Document) checkContent(response place, a Answer) error {
	headers := d.at(response, "headers")
	for name := range headers.object() {
		if d.at(headers, name).object()["required"] == true && a.Header.Get(name) == "" {
			return fmt.Errorf("the header %s is missing", name)
		}
	}
	if a.Method == http.MethodHead || a.Status == http.StatusSwitchingProtocols {
		return nil
	}
	content := d.at(response, "content")
	if len(content.object()) == 0 {
		if len(a.Body) > 0 {
			return errors.New("there should be no body")
		}
		return nil
	}
	kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	media := d.at(content, documentedType(content, kind))
	if media.value == nil {
		return fmt.Errorf("the content type %q is not documented", kind)
	}
	schema := d.at(media, "schema")
	switch {
	case a.Partial || schema.value == nil:
		return nil
	case kind == "text/event-stream":
		return d.checkEvents(media, a.Body)
	case strings.HasSuffix(kind, "json"):
		return d.checkJSON(schema, a.Body)
	}
	return nil
}

// documentedType returns the key of content that covers a media type: the type itself, its range, or any type.
func documentedType(content place, kind string) string {
	family, _, _ := strings.Cut(kind, "/")
	for _, key := range []string{kind, family + "/*"} {
		if _, found := content.object()[key]; found {
			return key
		}
	}
	return "*/*"
}

// checkEvents checks the data of server-sent events against the schemas in x-events.
func (d *Document) checkEvents(media place, body []byte) error {
	for frame := range strings.SplitSeq(string(body), "\n\n") {
		event, data, ok := strings.Cut(frame, "\ndata: ")
		name, named := strings.CutPrefix(event, "event: ")
		if !ok || !named {
			continue // a comment or an incomplete frame
		}
		schema := d.at(media, "x-events", name)
		if schema.value == nil {
			return fmt.Errorf("the event %s is not documented", name)
		}
		if err := d.checkJSON(schema, []byte(data)); err != nil {
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

// unmounted returns the path without that of a deployment, below which the v2 API is served as elsewhere.
func unmounted(path string) string {
	rest, ok := strings.CutPrefix(path, "/deployment/")
	if _, inner, found := strings.Cut(rest, "/"); ok && found {
		return "/" + inner
	}
	return path
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
	events := strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream")
	if events || res.StatusCode == http.StatusSwitchingProtocols {
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
