package page

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/rand"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// SignInPage asks for a key.
type SignInPage struct {
	console.Frame
	Wrong bool
	Job   job.PublicID // job that the editor opens after the sign-in, or ""
}

// Write writes a page that needs no visitor.
func (s *Server) Write(c *gin.Context, status int, p console.Page) { s.write(c, status, p, nil) }

// write writes a whole page or, if rendering fails, an error.
func (s *Server) write(c *gin.Context, status int, p console.Page, v *Visitor) {
	s.frame(c, p, v)
	var b bytes.Buffer
	if err := s.templates.Write(&b, p); err != nil {
		s.Edge.Logger.Error("page not rendered", "request_id", edge.RequestID(c), "error", err)
		c.Status(http.StatusInternalServerError)
		return
	}
	body := b.Bytes()
	if c.Request.Method == http.MethodGet { // the answer to a form may hold a secret, whose length compression would tell
		var err error
		if body, err = compressed(c, body); err != nil {
			s.Edge.Logger.Error("page not compressed", "request_id", edge.RequestID(c), "error", err)
			c.Status(http.StatusInternalServerError)
			return
		}
	}
	console.Guard(c.Writer.Header(), p.Outer().Nonce, s.media(c)...)
	c.Status(status)
	c.Writer.Write(body) // the browser is gone
}

// media returns the origins from which the pictures and films of a page may come beside its own: that under which the
// service names files, and that of a bucket to which requests for files are sent on.
func (s *Server) media(c *gin.Context) []string {
	origins := slices.Clone(s.Media)
	if base, err := url.Parse(s.Edge.BaseURL(c.Request)); err == nil && base.Host != "" {
		origins = append(origins, base.Scheme+"://"+base.Host)
	}
	return origins
}

// frame fills in the parts around the content of a page; v is nil if nobody has signed in.
func (s *Server) frame(c *gin.Context, p console.Page, v *Visitor) {
	f := p.Outer()
	f.Prefix, f.Base, f.Nonce = s.Prefix(c), s.base, rand.Text()
	if v == nil {
		return
	}
	f.Editor = s.Edge.Cookies != nil
	f.SignIn = s.Edge.Mode() != account.ModeNone
	f.Account, f.All = v.Account, v.All()
	f.Query = template.URL(named(c, *v)) // encoded
	path := strings.TrimPrefix(c.Request.URL.Path, s.base)
	for _, link := range s.nav {
		if link.Operator && !v.Operator || link.Operates && !v.Operates || link.Account && v.All() {
			continue
		}
		link.Current = link.Path == path || strings.HasPrefix(path, cmp.Or(link.Path, "/jobs")+"/")
		f.Nav = append(f.Nav, link)
	}
}

// named returns the query that keeps the account that an operator named, or "" for other visitors.
func named(c *gin.Context, v Visitor) string {
	if of := c.Query("account"); v.token && of != "" {
		return "?" + url.Values{"account": {of}}.Encode()
	}
	return ""
}

// ShowSignIn shows the sign-in page; wrong reports that the given key is not valid.
func (s *Server) ShowSignIn(c *gin.Context, status int, wrong bool) {
	s.Write(c, status, &SignInPage{Frame: console.Frame{Title: "Sign in"}, Wrong: wrong})
}

// maxReason bounds a reason, in bytes.
const maxReason = 1000

// Reason returns the reason that a visitor gives for a change, or "". A reason that an event cannot store is Invalid.
func Reason(c *gin.Context) (string, error) {
	reason := strings.TrimSpace(c.PostForm("reason"))
	if len(reason) > maxReason || !utf8.ValidString(reason) || strings.ContainsRune(reason, 0) {
		return "", fault.New(fault.Invalid, fault.CodeInvalidRequest, "A reason must be a text of at most %d bytes.", maxReason)
	}
	return reason, nil
}

// minCompressed is the length from which a body is compressed, in bytes: a shorter one fits a packet or two.
const minCompressed = 2000

// zippers are compressors to be used again: a new one takes a megabyte.
var zippers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is constant
	}
	return w
}}

// compressed returns a body as it goes to the browser: with gzip if that takes it and it is worth it.
func compressed(c *gin.Context, body []byte) ([]byte, error) {
	if len(body) < minCompressed {
		return body, nil
	}
	c.Header("Vary", "Accept-Encoding")
	if !edge.AcceptsGzip(c.Request) {
		return body, nil
	}
	small, err := zipped(body)
	if err == nil {
		c.Header("Content-Encoding", "gzip")
	}
	return small, err
}

func zipped(body []byte) ([]byte, error) {
	w := zippers.Get().(*gzip.Writer) //nolint:forcetypeassert // the pool has nothing else
	defer zippers.Put(w)
	var b bytes.Buffer
	w.Reset(&b)
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
