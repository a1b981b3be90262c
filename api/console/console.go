// Package console serves the pages for people: the jobs of an account, and the pages around a served editor. Its
// credential is a cookie that holds a sealed key. It promises that no form of another site is acted on. The pages are
// rendered by the package console below internal/web.
package console

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/web/console"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// Histories reads the histories of jobs.
type Histories interface {
	// History returns the history of an account's job. Unknown jobs and jobs of other accounts are NotFound.
	History(ctx context.Context, account string, id job.ID) (inspect.History, error)
}

// Retrier makes a new job from the submission of one that has ended; job.Retrier is it.
type Retrier interface {
	Retry(ctx context.Context, r job.Retry) (job.Submitted, error)
}

const (
	consolePath   = "/console"
	consoleCookie = "millrace_console"
	consoleOwner  = "console" // owner of the sealed key of a browser
	maxEvents     = 500       // events on a page
	pageSize      = 50        // jobs on a page
)

// Reader reads jobs; what it returns is never behind the log.
type Reader interface {
	jobio.Reader
	// PublicIDs returns the ids by which clients know some jobs, in their order.
	PublicIDs(ctx context.Context, ids []job.ID) ([]job.PublicID, error)
	// List returns jobs, newest first.
	List(ctx context.Context, account string, q jobs.Query) (jobs.Page, error)
}

// Canceler cancels jobs; job.Service is it.
type Canceler interface {
	// CancelMany asks jobs to stop, pending and running, and returns those that were active.
	CancelMany(ctx context.Context, account string, ids []job.ID, requestID string) ([]job.ID, error)
}

// Sources reads submissions as they were accepted, without credentials.
type Sources interface {
	Load(ctx context.Context, account string, id job.ID) (job.Source, error)
}

// Deps are the parts behind the console.
type Deps struct {
	Edge      *edge.Edge
	Jobs      Canceler
	Reader    Reader
	Sources   Sources
	Links     jobio.Links
	Histories Histories
	Servers   Servers                  // nil = no page of ComfyUI servers
	Operator  func(secret string) bool // whether a credential is the operators'; nil = none is
	Waits     jobio.Waits              // nil = no job waits for a ComfyUI server
	Retry     Retrier                  // nil = jobs cannot be run again from the page
	Sealer    edge.Sealer
}

// Surface serves the pages of the console.
type Surface struct {
	Deps
	pages       *pages
	crossOrigin *http.CrossOriginProtection
}

// New returns the surface.
func New(deps Deps) *Surface {
	return &Surface{
		Deps: deps, pages: &pages{edge: deps.Edge, base: consolePath, templates: console.New()}, crossOrigin: http.NewCrossOriginProtection(),
	}
}

// maxForm bounds the body of a form, in bytes.
const maxForm = 16 << 10

// Routes returns the routes of the console. Its pages do not answer with an API's errors, so they bring their own
// wrapper; the credential is a cookie that browsers send to these pages only.
func (s *Surface) Routes() []edge.Route {
	page := func(need account.Scope, handle func(*gin.Context, account.Identity) error) func(*gin.Context) error {
		return func(c *gin.Context) error { s.serve(c, need, handle); return nil }
	}
	get := func(path string, handle func(*gin.Context) error) edge.Route {
		return edge.Route{Method: http.MethodGet, Path: consolePath + path, Access: edge.Public, Handle: handle}
	}
	post := func(path string, handle func(*gin.Context) error) edge.Route {
		return edge.Route{Method: http.MethodPost, Path: consolePath + path, Access: edge.Public, Limit: maxForm, Handle: handle}
	}
	return []edge.Route{
		get("", page(account.ScopeRead, s.list)),
		get("/servers", func(c *gin.Context) error { s.serveOperator(c, s.servers); return nil }),
		get("/jobs/:id", page(account.ScopeRead, s.job)),
		get("/live.js", s.script),
		post("/jobs/:id/cancel", page(account.ScopeWrite, s.cancel)),
		post("/jobs/:id/retry", page(account.ScopeWrite, s.retry)),
		post("/signin", func(c *gin.Context) error { s.signIn(c); return nil }),
		post("/signout", func(c *gin.Context) error { s.signOut(c); return nil }),
	}
}

// script serves what keeps a page up to date; there is nothing of anybody in it.
func (s *Surface) script(c *gin.Context) error {
	c.Header("Cache-Control", "no-cache")
	c.Header("X-Content-Type-Options", "nosniff")
	c.Data(http.StatusOK, "text/javascript; charset=utf-8", console.Script())
	return nil
}

// serve runs a handler for the account of the cookie and turns its error into a page.
func (s *Surface) serve(c *gin.Context, need account.Scope, handle func(*gin.Context, account.Identity) error) {
	if err := s.sameSite(c.Request); err != nil {
		s.pages.problem(c, err)
		return
	}
	id, err := s.identity(c)
	switch {
	case fault.Is(err, fault.Unauthenticated):
		s.pages.ask(c, http.StatusUnauthorized, false)
		return
	case err == nil && !id.Allows(need):
		err = fault.New(fault.Denied, "forbidden", "This key may read, but not change anything.")
	}
	if err == nil {
		err = handle(c, id)
	}
	if err != nil {
		s.pages.problem(c, err)
	}
}

// sameSite refuses forms that another site's page sends.
func (s *Surface) sameSite(r *http.Request) error {
	if err := s.crossOrigin.Check(r); err != nil {
		return fault.Wrap(err, fault.Denied, "forbidden", "This form was sent by another site.")
	}
	return nil
}

// identity is who the browser's cookie stands for.
func (s *Surface) identity(c *gin.Context) (account.Identity, error) {
	if s.Edge.Mode() == account.ModeNone {
		return s.Edge.Auth.Authenticate(c.Request.Context(), "")
	}
	key := edge.CookieKey(c.Request, consoleCookie, consoleOwner, s.Sealer)
	if key == "" {
		return account.Identity{}, fault.New(fault.Unauthenticated, "unauthorized", "no cookie of this service")
	}
	return s.Edge.Auth.Authenticate(c.Request.Context(), key)
}

func (s *Surface) signIn(c *gin.Context) {
	if err := s.sameSite(c.Request); err != nil {
		s.pages.problem(c, err)
		return
	}
	key := strings.TrimSpace(c.PostForm("key"))
	if s.operates(key) {
		s.setConsoleCookie(c, edge.SealKey(consoleOwner, key, s.Sealer), 0)
		s.redirect(c, "/servers")
		return
	}
	if _, err := s.Edge.Auth.Authenticate(c.Request.Context(), key); err != nil {
		if !fault.Is(err, fault.Unauthenticated) {
			s.pages.problem(c, err)
			return
		}
		s.pages.ask(c, http.StatusUnauthorized, true)
		return
	}
	s.setConsoleCookie(c, edge.SealKey(consoleOwner, key, s.Sealer), 0)
	s.redirect(c, "")
}

func (s *Surface) signOut(c *gin.Context) {
	if err := s.sameSite(c.Request); err != nil {
		s.pages.problem(c, err)
		return
	}
	s.setConsoleCookie(c, "", -1)
	s.redirect(c, "")
}

// setConsoleCookie sets the cookie for this session of the browser, or removes it.
func (s *Surface) setConsoleCookie(c *gin.Context, value string, maxAge int) {
	base, err := url.Parse(s.Edge.BaseURL(c.Request))
	if err != nil {
		base = &url.URL{}
	}
	http.SetCookie(c.Writer, &http.Cookie{
		Name: consoleCookie, Value: value, Path: base.Path + consolePath, MaxAge: maxAge,
		HttpOnly: true, Secure: base.Scheme == "https", SameSite: http.SameSiteStrictMode,
	})
}

// redirect sends the browser to a page behind a form.
func (s *Surface) redirect(c *gin.Context, path string) {
	c.Redirect(http.StatusSeeOther, s.pages.prefix(c)+consolePath+path)
}

// keptBy says what the account's files take of what they may.
func (s *Surface) keptBy(c *gin.Context, of string) (string, error) {
	if s.Edge.Storage == nil {
		return "", nil
	}
	kept, err := s.Edge.Storage.Usage(c.Request.Context(), of)
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

func (s *Surface) list(c *gin.Context, id account.Identity) error {
	q := jobs.Query{Limit: pageSize}
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
	waiting, err := jobio.Waiting(c.Request.Context(), s.Waits, page.Jobs...)
	if err != nil {
		return err
	}
	listed := make([]console.ListedJob, len(page.Jobs))
	live := false
	for i, j := range page.Jobs {
		listed[i] = console.ListedJob{Job: j, Took: elapsed(j, time.Now()), Cause: waitWords(waiting[j.ID])}
		if j.Error != nil {
			listed[i].Cause = j.Error.Message
		}
		live = live || !j.State.Final()
	}
	kept, err := s.keptBy(c, id.Account)
	if err != nil {
		return err
	}
	s.pages.render(c, http.StatusOK, func(b *bytes.Buffer, f console.Frame) error {
		f.Title, f.Live = "Jobs", live
		return s.pages.templates.List(b, console.ListPage{
			Frame: f, Jobs: listed, Status: string(status), Pool: s.Servers != nil && s.Edge.Mode() != account.ModeKeys, States: consoleStates, Next: console.NextQuery(string(status), page.Next), Kept: kept,
		})
	})
	return nil
}

func elapsed(j job.Job, now time.Time) inspect.Millis {
	if j.EndedAt != nil {
		now = *j.EndedAt
	}
	return inspect.Millis(now.Sub(j.SubmittedAt))
}
