package page

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"hash/maphash"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// Times of an open page.
const (
	keepAlive    = 10 * time.Second
	busyInterval = time.Second // between two builds of a page whose account is busy
	writeLimit   = 10 * time.Second
	maxOpenFor   = time.Hour // then the stream ends and the browser reconnects
)

// follow sends the content of a page now and after each change: after messages about the account's jobs, and after
// the interval that the page names, if any. It closes a page that can no longer be built.
func (s *Server) follow(c *gin.Context, v Visitor, handle Handler) error {
	owner := v.Account
	if !s.open.Acquire(owner) {
		return httperr.RetryLater(10*time.Second, fault.CodeTooManyStreams, "This account has too many open pages. Close one and try again.")
	}
	defer s.open.Release(owner)
	sub, err := s.subscribe(c.Request.Context(), v)
	if err != nil {
		return err
	}
	if sub != nil {
		defer sub.Close()
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), maxOpenFor)
	defer cancel()
	f := &follower{
		server: s, c: c, ctx: ctx, visitor: v, handle: handle, sub: sub, out: http.NewResponseController(c.Writer),
		sent: c.GetHeader("Last-Event-ID"),
	}
	defer edge.SetWriteTimeout(f.out, 0) //nolint:errcheck // a connection that fails has no requests to come
	return f.run()
}

// subscribe returns nil for an operator who looks at all accounts. Such a page is rebuilt at intervals only.
func (s *Server) subscribe(ctx context.Context, v Visitor) (*stream.Subscription, error) {
	if v.All() {
		return nil, nil
	}
	sub, _, err := s.Live.Subscribe(ctx, v.Account)
	return sub, err
}

// follower is one open page. One goroutine runs it.
type follower struct {
	server  *Server
	c       *gin.Context
	ctx     context.Context //nolint:containedctx // the request's, with a deadline; it lives as long as the page is open
	visitor Visitor
	handle  Handler
	sub     *stream.Subscription
	out     *http.ResponseController

	headersWritten bool
	opened         bool      // the browser was sent that the page is built
	sent           string    // id of the content that was sent last
	refreshed      time.Time // when the page was last built
	every          time.Duration
	changed        bool // messages arrived since then
}

func (f *follower) run() error {
	if err := f.refresh(); err != nil {
		return err // the answer has not begun
	}
	alive, soon, recheck := time.NewTicker(keepAlive), time.NewTicker(busyInterval), time.NewTicker(f.server.Edge.Recheck())
	defer alive.Stop()
	defer soon.Stop()
	defer recheck.Stop()
	var messages <-chan struct{}
	if f.sub != nil {
		messages = f.sub.Ready()
	}
	for {
		var err error
		select {
		case <-f.ctx.Done():
			return nil
		case <-alive.C:
			err = f.write([]byte(": keep-alive\n\n"))
		case <-recheck.C:
			if !f.server.stillValid(f.ctx, f.visitor) {
				return nil
			}
		case <-soon.C:
			if f.changed || f.every > 0 && time.Since(f.refreshed) >= f.every {
				err = f.refresh()
			}
		case <-messages:
			_, err = f.sub.Take()
			f.changed = true
		}
		if err != nil {
			f.ended(err)
			return nil
		}
	}
}

// ended logs why a page is closed, unless the browser left or the service stops. An event says to the browser that a page cannot be
// built now: it comes back.
func (f *follower) ended(err error) {
	if fault.Is(err, fault.Unavailable) {
		_, message := f.server.verdict(f.c, err)
		_ = f.write(unavailableEvent(message)) // the browser is gone
		return
	}
	var closed *stream.Closed
	var known *fault.Error
	if errors.Is(err, errNotReading) || errors.Is(err, context.Canceled) || errors.As(err, &closed) || errors.As(err, &known) {
		return
	}
	f.server.Edge.Logger.Error("open page closed", "request_id", edge.RequestID(f.c), "error", err)
}

// stillValid reports whether the key that opened a page is still valid.
func (s *Server) stillValid(ctx context.Context, v Visitor) bool {
	if v.person != "" {
		_, err := s.Edge.People.Find(ctx, v.secret)
		return !fault.Is(err, fault.Unauthenticated) && !fault.Is(err, fault.Denied)
	}
	if v.token {
		return s.operates(v.secret)
	}
	return s.Edge.StillValid(ctx, v.secret, v.Account)
}

// refresh builds the page and sends its content if the browser has other content.
func (f *follower) refresh() error {
	f.changed, f.refreshed = false, time.Now()
	p, err := f.handle(f.c, f.visitor)
	if err != nil {
		return err
	}
	f.server.frame(f.c, p, &f.visitor)
	f.every = p.Outer().Every
	var content bytes.Buffer
	if err := f.server.templates.Content(&content, p); err != nil {
		return err
	}
	id := digest(content.Bytes())
	if err := f.writeHeaders(); err != nil {
		return err
	}
	if id == f.sent {
		if f.opened {
			return nil
		}
		f.opened = true
		return f.write([]byte("event: same\ndata: 1\n\n"))
	}
	f.opened = true
	f.sent = id
	return f.write(event(id, content.Bytes()))
}

// writeHeaders writes the headers, once.
func (f *follower) writeHeaders() error {
	if f.headersWritten {
		return nil
	}
	f.headersWritten = true
	h := f.c.Writer.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	f.c.Status(http.StatusOK)
	return f.write([]byte("retry: 2000\n\n"))
}

// seed makes content ids differ between processes: after a restart a page is sent again.
var seed = maphash.MakeSeed()

func digest(content []byte) string { return strconv.FormatUint(maphash.Bytes(seed, content), 36) }

// event returns the content of a page as a server-sent event with a data field for each line. A carriage return would
// end a line and let content inject a field, so it becomes a character reference.
func event(id string, content []byte) []byte {
	frame := make([]byte, 0, len(content)+len(content)/20+64)
	frame = append(frame, "id: "+id+"\nevent: content\n"...)
	for line := range bytes.Lines(content) {
		frame = append(frame, "data: "...)
		frame = append(frame, bytes.ReplaceAll(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"), []byte("&#13;"))...)
		frame = append(frame, '\n')
	}
	return append(frame, '\n')
}

var errNotReading = errors.New("the browser does not read")

// write sends a frame at once. A deadline disconnects a browser that does not read.
func (f *follower) write(frame []byte) error {
	if err := edge.SetWriteTimeout(f.out, writeLimit); err != nil {
		return errors.Join(errNotReading, err)
	}
	if _, err := f.c.Writer.Write(frame); err != nil {
		return errors.Join(errNotReading, err)
	}
	if err := f.out.Flush(); err != nil {
		return errors.Join(errNotReading, err)
	}
	return nil
}

// SignInPage asks for a key.
type SignInPage struct {
	console.Frame
	Wrong    bool
	Job      job.PublicID // job that the editor opens after the sign-in, or ""
	Provider string       // host of the provider where people sign in, or ""
	Return   string       // path of the page to which they return
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
		if body, err = edge.Compressed(c, body); err != nil {
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
	f.Account, f.All, f.Person = v.Account, v.All(), v.person
	f.Name, f.Switch, f.Find = v.name, v.token && s.Edge.Mode() == account.ModeKeys, s.Index != nil
	f.Query = template.URL(named(*v)) // encoded
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
func named(v Visitor) string {
	if of := v.Named(); of != "" {
		return "?" + url.Values{"account": {of}}.Encode()
	}
	return ""
}

// ShowSignIn shows the sign-in page; wrong reports that the given key is not valid.
func (s *Server) ShowSignIn(c *gin.Context, status int, wrong bool) {
	p := &SignInPage{Frame: console.Frame{Title: "Sign in"}, Wrong: wrong}
	p.Offer(s.Edge, c.Request.URL.RequestURI())
	s.Write(c, status, p)
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
