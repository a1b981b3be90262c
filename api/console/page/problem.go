package page

import (
	"errors"
	"fmt"
	"html"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// ProblemPage describes an error and what to do.
type ProblemPage struct {
	console.Frame
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

// retryAfter is after how long a browser asks again for what was not available.
const retryAfter = 5 * time.Second

// Problem shows the public part of an error.
func (s *Server) Problem(c *gin.Context, err error) { s.problem(c, err, nil) }

// problem shows the public part of an error to a visitor, nil = nobody has signed in. A picture of a page
// says so as a picture, and an open page in its stream: a browser would show neither a page, and report an error.
func (s *Server) problem(c *gin.Context, err error, v *Visitor) {
	status, message := s.verdict(c, err)
	switch get := c.Request.Method == http.MethodGet; {
	case get && wantsPicture(c.Request) && status != http.StatusUnauthorized:
		drawn(c, status)
	case get && status == http.StatusServiceUnavailable && c.GetHeader("Accept") == "text/event-stream":
		s.streamUnavailable(c, message)
	default:
		shown := &ProblemPage{
			Frame: console.Frame{Title: "Problem"}, Status: status, Heading: heading(status), Message: message,
			Away: status == http.StatusServiceUnavailable,
		}
		if shown.Away && get {
			shown.Comes = true
			c.Header("Refresh", fmt.Sprint(int(retryAfter.Seconds())))
		} else if shown.Away {
			shown.Again = s.resendForm(c)
		}
		s.write(c, status, shown, s.stranger(c, v))
	}
}

// heading says in few words what kind of problem a status is.
func heading(status int) string {
	switch status {
	case http.StatusNotFound, http.StatusGone:
		return "Not found"
	case http.StatusForbidden:
		return "Not allowed"
	case http.StatusServiceUnavailable:
		return "Not available now"
	}
	if status >= http.StatusInternalServerError {
		return "Something went wrong"
	}
	return "This cannot be done"
}

// stranger returns a visitor for the navigation of a page where nobody could be asked who has signed in: a browser with a
// cookie is taken for somebody with an account.
func (s *Server) stranger(c *gin.Context, v *Visitor) *Visitor {
	if v == nil && s.Sealer != nil && s.secret(c.Request) != "" {
		return &Visitor{}
	}
	return v
}

// verdict returns the status of an error and the message that people read.
func (s *Server) verdict(c *gin.Context, err error) (int, string) {
	var known *fault.Error
	var refused *graph.PromptError
	switch {
	case errors.As(err, &refused):
		return http.StatusBadRequest, "The graph is not accepted: " + refused.Message
	case errors.As(err, &known) && known.Kind != fault.Internal:
		status, _ := httperr.V2Verdict(known.Kind, known.Code)
		if deeper := cause(known); known.Kind == fault.Unavailable && deeper != "" {
			return status, Sentence(strings.TrimSuffix(known.Message, ".") + ": " + deeper)
		}
		return status, Sentence(known.Message)
	}
	s.Edge.Logger.Error("page failed", "request_id", edge.RequestID(c), "error", err)
	return http.StatusInternalServerError, "The service failed. Its log has the details under request " + edge.RequestID(c) + "."
}

// cause returns the message of the failure behind another, "" for none that is public.
func cause(of *fault.Error) string {
	var deeper *fault.Error
	if errors.As(errors.Unwrap(of), &deeper) && deeper.Kind == fault.Unavailable && deeper.Message != of.Message {
		return deeper.Message
	}
	return ""
}

// Sentence writes the message of an error as a sentence.
func Sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	text = string(unicode.ToUpper(first)) + text[size:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// wantsPicture reports whether a request is that of a picture in a page.
func wantsPicture(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "image/") && !strings.Contains(accept, "text/html")
}

// drawn answers with a picture that says that there is none now, or none any more.
func drawn(c *gin.Context, status int) {
	says := "this file is gone"
	if status >= http.StatusInternalServerError {
		says = "not available now"
	}
	h := c.Writer.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	c.Data(http.StatusOK, "image/svg+xml", []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="240" height="240" viewBox="0 0 240 240">`+
		`<rect width="240" height="240" fill="#8883"/><text x="120" y="124" font-family="system-ui,sans-serif" font-size="22" `+
		`text-anchor="middle" fill="#888">`+
		html.EscapeString(says)+`</text></svg>`))
}

// streamUnavailable tells an open page that it cannot be built now. The browser comes back by itself.
func (s *Server) streamUnavailable(c *gin.Context, message string) {
	h := c.Writer.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Content-Type-Options", "nosniff")
	c.Status(http.StatusOK)
	c.Writer.Write(unavailableEvent(message)) // the browser is gone
}

// unavailableEvent says in the stream of an open page why it cannot be built now.
func unavailableEvent(message string) []byte {
	text := strings.NewReplacer("\r", " ", "\n", " ").Replace(message)
	return fmt.Appendf(nil, "retry: %d\nevent: away\ndata: %s\n\n", 2*time.Second/time.Millisecond, text)
}

// maxResend bounds the fields that are kept of a form that could not be acted on, in bytes.
const maxResend = 2 << 20

// credentialField is the field of forms in which people give a key of partner services: it must not stand in a page.
const credentialField = "credential"

// resendForm returns a form with everything that was sent but a credential; nil where that cannot be sent again: a file, or a
// key to sign in with.
func (s *Server) resendForm(c *gin.Context) *Again {
	path := strings.TrimPrefix(c.Request.URL.Path, s.base)
	if path == "/signin" || !parsed(c) {
		return nil
	}
	again := &Again{Path: path}
	if c.Request.URL.RawQuery != "" {
		again.Path += "?" + c.Request.URL.RawQuery
	}
	for _, name := range slices.Sorted(maps.Keys(c.Request.PostForm)) {
		for _, value := range c.Request.PostForm[name] {
			if name == credentialField {
				again.Credential = again.Credential || value != ""
			} else {
				again.Values = append(again.Values, Sent{Name: name, Value: value})
			}
		}
	}
	return again
}

// parsed reads the form of a request, and reports whether it is whole, of bounded size and without a file.
func parsed(c *gin.Context) bool {
	r := c.Request
	r.Body = http.MaxBytesReader(c.Writer, r.Body, maxResend)
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && kind == "multipart/form-data" {
		if r.ParseMultipartForm(maxResend) != nil {
			return false
		}
		for _, files := range r.MultipartForm.File {
			for _, f := range files {
				if f.Size > 0 {
					return false
				}
			}
		}
	}
	return r.ParseForm() == nil
}
