package console

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// EditorPage shows who has signed in to the editor in this browser.
type EditorPage struct{ console.Frame }

// EditorFiles serves the files of an editor; editor.Dir implements it. A missing file is NotFound.
type EditorFiles interface {
	ServeIndex(w http.ResponseWriter, r *http.Request) error
	Serve(w http.ResponseWriter, r *http.Request, name string) error
}

const (
	editorPath = "/editor"
	maxCookie  = 3800 // bytes of its value; browsers drop larger ones without a word
)

// Editor serves a web editor beside the API, and the pages on which people sign in to it. A browser that signed in
// with a key keeps it in a cookie that only pages of this origin can use. The cookie is a credential of the cloud
// surface (see edge.Edge.FromOurPage).
type Editor struct {
	edge  *edge.Edge
	files EditorFiles
	pages *page.Server
}

// NewEditor returns the editor that serves files.
func NewEditor(e *edge.Edge, files EditorFiles) *Editor {
	s := &Editor{edge: e, files: files, pages: page.New(page.Deps{Edge: e}, editorPath)}
	s.pages.AddTemplates(Templates)
	return s
}

// Routes returns the routes of the pages around the editor. Their errors are pages, not JSON.
func (s *Editor) Routes() []edge.Route {
	wrapped := func(handle func(*gin.Context) error) func(*gin.Context) error {
		return func(c *gin.Context) error {
			if err := handle(c); err != nil {
				s.pages.Problem(c, err)
			}
			return nil
		}
	}
	return []edge.Route{
		{Method: http.MethodGet, Path: "/", Access: edge.Public, Handle: wrapped(s.index)},
		{Method: http.MethodHead, Path: "/", Access: edge.Public, Handle: wrapped(s.index)},
		{Method: http.MethodGet, Path: editorPath, Access: edge.Public, Handle: wrapped(s.editorPage)},
		{Method: http.MethodPost, Path: editorPath + "/signin", Access: edge.Public, Limit: page.MaxForm, Handle: wrapped(s.signIn)},
		{Method: http.MethodPost, Path: editorPath + "/signout", Access: edge.Public, Limit: page.MaxForm, Handle: wrapped(s.signOut)},
	}
}

// index serves the editor to a browser that has signed in, and redirects other browsers to the sign-in page: GET /.
func (s *Editor) index(c *gin.Context) error {
	if _, err := s.edge.SignedIn(c.Request); fault.Is(err, fault.Unauthenticated) {
		c.Header("Cache-Control", "no-store")
		c.Redirect(http.StatusSeeOther, s.pages.Prefix(c)+editorPath+ofJob(c.Query(jobParameter)))
		return nil
	} else if err != nil {
		return err
	}
	return s.files.ServeIndex(c.Writer, c.Request)
}

// editorPage shows the sign-in form, or the account that has signed in: GET /editor.
func (s *Editor) editorPage(c *gin.Context) error {
	id, err := s.edge.SignedIn(c.Request)
	if fault.Is(err, fault.Unauthenticated) {
		s.showSignIn(c, http.StatusOK, c.Query(jobParameter))
		return nil
	}
	if err != nil {
		return err
	}
	s.pages.Write(c, http.StatusOK, &EditorPage{Frame: console.Frame{
		Title: "Editor", SignIn: s.edge.Mode() != account.ModeNone, Account: id.Account,
	}})
	return nil
}

// jobParameter names the job whose graph the editor opens.
const jobParameter = "millrace_job"

// showSignIn shows the sign-in form. The form keeps the job whose graph is opened after the sign-in.
func (s *Editor) showSignIn(c *gin.Context, status int, wanted string) {
	sign := &page.SignInPage{Frame: console.Frame{Title: "Sign in"}, Wrong: status == http.StatusUnauthorized}
	if id, err := job.ParsePublicID(wanted); err == nil {
		sign.Job = id
	}
	sign.Offer(s.edge, "/"+ofJob(wanted))
	s.pages.Write(c, status, sign)
}

// ofJob returns the query of an address that opens the graph of a job, or "" if wanted is not a job id.
func ofJob(wanted string) string {
	id, err := job.ParsePublicID(wanted)
	if err != nil {
		return ""
	}
	return "?" + jobParameter + "=" + string(id)
}

// signIn stores a key in the browser's cookie: POST /editor/signin.
func (s *Editor) signIn(c *gin.Context) error {
	if err := s.checkOrigin(c.Request); err != nil {
		return err
	}
	key := strings.TrimSpace(c.PostForm("key"))
	if _, err := s.edge.Auth.Authenticate(c.Request.Context(), key); fault.Is(err, fault.Unauthenticated) {
		s.showSignIn(c, http.StatusUnauthorized, c.PostForm(jobParameter))
		return nil
	} else if err != nil {
		return err
	}
	cookie := s.edge.EditorCookie(c.Request, key)
	if len(cookie.Value) > maxCookie {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "This credential is too long for a browser to keep. Use an API key.")
	}
	http.SetCookie(c.Writer, cookie)
	c.Redirect(http.StatusSeeOther, s.pages.Prefix(c)+"/"+ofJob(c.PostForm(jobParameter)))
	return nil
}

// signOut removes the key from the browser: POST /editor/signout.
func (s *Editor) signOut(c *gin.Context) error {
	if err := s.checkOrigin(c.Request); err != nil {
		return err
	}
	if err := s.pages.EndSession(c, s.edge.EditorKey(c.Request)); err != nil {
		return err
	}
	http.SetCookie(c.Writer, s.edge.EditorCookie(c.Request, ""))
	c.Redirect(http.StatusSeeOther, s.pages.Prefix(c)+editorPath)
	return nil
}

// checkOrigin refuses a form that a page of another origin sent.
func (s *Editor) checkOrigin(r *http.Request) error {
	if !s.edge.SameOrigin(r) {
		return fault.New(fault.Denied, fault.CodeForbidden,
			"This form was sent by another site, or to an address that is not the public URL of this service.")
	}
	return nil
}

// Serves implements api.Fallback: every path without a route may be a file of the editor.
func (s *Editor) Serves(string) bool { return true }

// Unrouted serves a file of the editor.
func (s *Editor) Unrouted(c *gin.Context) error {
	if c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead || reserved(c.Request.URL.Path) {
		return httperr.NoSuchPath()
	}
	if c.Request.URL.Path == "" { // the bare prefix of the public URL: relative links need a slash at its end
		c.Redirect(http.StatusPermanentRedirect, s.edge.Mount()+"/")
		return nil
	}
	return s.files.Serve(c.Writer, c.Request, strings.TrimPrefix(c.Request.URL.Path, "/"))
}

// reserved reports whether a path belongs to the API even if the editor's directory contains it.
func reserved(path string) bool {
	for _, own := range []string{"/api", "/v1", "/v2", "/files", "/internal", "/admin", page.Base, editorPath} {
		if path == own || strings.HasPrefix(path, own+"/") {
			return true
		}
	}
	return false
}
