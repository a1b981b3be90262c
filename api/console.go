package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/web/console"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// Console is what the pages for people need beside the API's own parts.
type Console struct {
	Histories Histories
	Retry     Retrier // nil = jobs cannot be run again from the page
	Sealer    edge.Sealer
}

// Histories reads the facts of a job; inspect makes them readable.
type Histories interface {
	// History returns the facts of an account's job. Another's and an unknown one are NotFound.
	History(ctx context.Context, account string, id job.ID) (inspect.History, error)
}

// Retrier makes a new job from the submission of one that has ended; job.Retrier is it.
type Retrier interface {
	Retry(ctx context.Context, r job.Retry) (job.Submitted, error)
}

const (
	consolePath   = "/console"
	consoleCookie = "millrace_console"
	consoleOwner  = "console" // whom the sealed key of a browser belongs to
	consoleFacts  = 500       // shown on a page
	consoleJobs   = 50
)

// consoleServer serves the pages.
type consoleServer struct {
	*server
	base        string // path of the pages
	pages       *console.Pages
	crossOrigin *http.CrossOriginProtection
}

// consoleRoutes are the pages for people. They do not speak an API's errors, so they bring their own
// wrapper; the credential is a cookie that is sent to these pages only.
func (srv *server) consoleRoutes() []edge.Route {
	if srv.Console == nil {
		return nil
	}
	s := &consoleServer{server: srv, base: consolePath, pages: console.New(), crossOrigin: http.NewCrossOriginProtection()}
	page := func(need account.Scope, handle func(*gin.Context, account.Identity) error) func(*gin.Context) error {
		return func(c *gin.Context) error { s.serve(c, need, handle); return nil }
	}
	form := int64(16 << 10)
	return []edge.Route{
		{Method: http.MethodGet, Path: consolePath, Access: edge.Public, Handle: page(account.ScopeRead, s.list)},
		{Method: http.MethodGet, Path: consolePath + "/jobs/:id", Access: edge.Public, Handle: page(account.ScopeRead, s.job)},
		{Method: http.MethodGet, Path: consolePath + "/live.js", Access: edge.Public, Handle: s.script},
		{Method: http.MethodPost, Path: consolePath + "/jobs/:id/cancel", Access: edge.Public, Limit: form, Handle: page(account.ScopeWrite, s.cancel)},
		{Method: http.MethodPost, Path: consolePath + "/jobs/:id/retry", Access: edge.Public, Limit: form, Handle: page(account.ScopeWrite, s.retry)},
		{Method: http.MethodPost, Path: consolePath + "/signin", Access: edge.Public, Limit: form, Handle: func(c *gin.Context) error { s.signIn(c); return nil }},
		{Method: http.MethodPost, Path: consolePath + "/signout", Access: edge.Public, Limit: form, Handle: func(c *gin.Context) error { s.signOut(c); return nil }},
	}
}

// script serves what keeps a page up to date; there is nothing of anybody in it.
func (s *consoleServer) script(c *gin.Context) error {
	c.Header("Cache-Control", "no-cache")
	c.Header("X-Content-Type-Options", "nosniff")
	c.Data(http.StatusOK, "text/javascript; charset=utf-8", console.Script())
	return nil
}

// serve runs a handler for the account of the cookie and turns its error into a page.
func (s *consoleServer) serve(c *gin.Context, need account.Scope, handle func(*gin.Context, account.Identity) error) {
	if err := s.sameSite(c.Request); err != nil {
		s.problem(c, err)
		return
	}
	id, err := s.identity(c)
	switch {
	case fault.Is(err, fault.Unauthenticated):
		s.ask(c, http.StatusUnauthorized, false)
		return
	case err == nil && !id.Allows(need):
		err = fault.New(fault.Denied, "forbidden", "This key may look, but not change anything.")
	}
	if err == nil {
		err = handle(c, id)
	}
	if err != nil {
		s.problem(c, err)
	}
}

// ask shows the page on which a key is given; wrong says that the one given is none.
func (s *consoleServer) ask(c *gin.Context, status int, wrong bool) {
	s.render(c, status, func(b *bytes.Buffer, f console.Frame) error {
		f.Title, f.SignIn = "Sign in", false
		return s.pages.SignIn(b, console.SignInPage{Frame: f, Wrong: wrong})
	})
}

// sameSite refuses forms that another site's page sends.
func (s *consoleServer) sameSite(r *http.Request) error {
	if err := s.crossOrigin.Check(r); err != nil {
		return fault.Wrap(err, fault.Denied, "forbidden", "This form was sent by another site.")
	}
	return nil
}

// identity is who the browser's cookie stands for.
func (s *consoleServer) identity(c *gin.Context) (account.Identity, error) {
	if s.opts.Mode == account.ModeNone {
		return s.Auth.Authenticate(c.Request.Context(), "")
	}
	key := edge.KeptKey(c.Request, consoleCookie, consoleOwner, s.Console.Sealer)
	if key == "" {
		return account.Identity{}, fault.New(fault.Unauthenticated, "unauthorized", "no cookie of ours")
	}
	return s.Auth.Authenticate(c.Request.Context(), key)
}

func (s *consoleServer) signIn(c *gin.Context) {
	if err := s.sameSite(c.Request); err != nil {
		s.problem(c, err)
		return
	}
	key := strings.TrimSpace(c.PostForm("key"))
	if _, err := s.Auth.Authenticate(c.Request.Context(), key); err != nil {
		if !fault.Is(err, fault.Unauthenticated) {
			s.problem(c, err)
			return
		}
		s.ask(c, http.StatusUnauthorized, true)
		return
	}
	s.setConsoleCookie(c, edge.SealKey(consoleOwner, key, s.Console.Sealer), 0)
	s.redirect(c, "")
}

func (s *consoleServer) signOut(c *gin.Context) {
	if err := s.sameSite(c.Request); err != nil {
		s.problem(c, err)
		return
	}
	s.setConsoleCookie(c, "", -1)
	s.redirect(c, "")
}

// setConsoleCookie sets the cookie for this session of the browser, or removes it.
func (s *consoleServer) setConsoleCookie(c *gin.Context, value string, maxAge int) {
	base, err := url.Parse(s.BaseURL(c.Request))
	if err != nil {
		base = &url.URL{}
	}
	http.SetCookie(c.Writer, &http.Cookie{
		Name: consoleCookie, Value: value, Path: base.Path + consolePath, MaxAge: maxAge,
		HttpOnly: true, Secure: base.Scheme == "https", SameSite: http.SameSiteStrictMode,
	})
}

// redirect sends the browser to a page behind a form.
func (s *consoleServer) redirect(c *gin.Context, path string) {
	c.Redirect(http.StatusSeeOther, s.prefix(c)+consolePath+path)
}

func (s *consoleServer) prefix(c *gin.Context) string {
	base, err := url.Parse(s.BaseURL(c.Request))
	if err != nil {
		return ""
	}
	return strings.TrimRight(base.Path, "/")
}

// render writes a page whole or, when it cannot be made, an error.
func (s *consoleServer) render(c *gin.Context, status int, write func(*bytes.Buffer, console.Frame) error) {
	nonce := rand.Text()
	var b bytes.Buffer
	frame := console.Frame{Prefix: s.prefix(c), Base: s.base, Nonce: nonce, SignIn: s.opts.Mode != account.ModeNone && status != http.StatusUnauthorized}
	if err := write(&b, frame); err != nil {
		s.Logger.Error("page not rendered", "request_id", edge.RequestID(c), "error", err)
		c.Status(http.StatusInternalServerError)
		return
	}
	console.Guard(c.Writer.Header(), nonce)
	c.Status(status)
	c.Writer.Write(b.Bytes()) //nolint:errcheck // the browser is gone
}

// problem shows what is public of an error.
func (s *consoleServer) problem(c *gin.Context, err error) {
	status, message := http.StatusInternalServerError, "Something went wrong here. The log has it under request "+edge.RequestID(c)+"."
	var known *fault.Error
	var refused *graph.PromptError
	if errors.As(err, &refused) {
		status, message = http.StatusBadRequest, "The graph is not accepted any more: "+refused.Message
	} else if errors.As(err, &known) && known.Kind != fault.Internal {
		status, _ = httperr.V2Verdict(known.Kind, known.Code)
		message = known.Message
	} else {
		s.Logger.Error("page failed", "request_id", edge.RequestID(c), "error", err)
	}
	s.render(c, status, func(b *bytes.Buffer, f console.Frame) error {
		f.Title = "Problem"
		return s.pages.Problem(b, console.ProblemPage{Frame: f, Status: status, Message: message})
	})
}

// keptBy says what the account's files take of what they may.
func (s *consoleServer) keptBy(c *gin.Context, of string) (string, error) {
	if s.Storage == nil {
		return "", nil
	}
	kept, err := s.Storage.Kept(c.Request.Context(), of)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("Files: %s in %d", account.Size(kept.Bytes), kept.Files)
	if kept.Limit > 0 {
		text = fmt.Sprintf("Files: %s of %s in %d", account.Size(kept.Bytes), account.Size(kept.Limit), kept.Files)
	}
	if kept.Full() {
		text += ". Nothing more is taken until some are deleted."
	}
	return text, nil
}

var consoleStates = []job.State{job.Queued, job.Running, job.Succeeded, job.Failed, job.Canceled}

func (s *consoleServer) list(c *gin.Context, id account.Identity) error {
	q := jobs.Query{Limit: consoleJobs}
	status := job.State(c.Query("status"))
	if status != "" {
		if !slices.Contains(consoleStates, status) {
			return fault.New(fault.Invalid, "", "There is no state %q.", string(status))
		}
		q.States = []job.State{status}
	}
	if before := c.Query("before"); before != "" {
		n, err := strconv.ParseInt(before, 10, 64)
		if err != nil || n < 1 {
			return fault.New(fault.Invalid, "", "This page of the list does not exist.")
		}
		q.Before = n
	}
	page, err := s.Reader.List(c.Request.Context(), id.Account, q)
	if err != nil {
		return err
	}
	listed := make([]console.ListedJob, len(page.Jobs))
	live := false
	for i, j := range page.Jobs {
		listed[i] = console.ListedJob{Job: j, Took: tookUntil(j, time.Now())}
		if j.Error != nil {
			listed[i].Cause = j.Error.Message
		}
		live = live || !j.State.Final()
	}
	kept, err := s.keptBy(c, id.Account)
	if err != nil {
		return err
	}
	s.render(c, http.StatusOK, func(b *bytes.Buffer, f console.Frame) error {
		f.Title, f.Live = "Jobs", live
		return s.pages.List(b, console.ListPage{
			Frame: f, Jobs: listed, Status: string(status), States: consoleStates, Next: console.NextQuery(string(status), page.Next), Kept: kept,
		})
	})
	return nil
}

func tookUntil(j job.Job, now time.Time) inspect.Millis {
	if j.EndedAt != nil {
		now = *j.EndedAt
	}
	return inspect.Millis(now.Sub(j.SubmittedAt))
}
