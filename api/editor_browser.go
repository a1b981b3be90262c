package api

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/gorilla/websocket"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// Editor is a web editor that is served beside the API. With it, a browser that signed in with a key may use
// the cloud surface without showing the key again: a cookie that only pages of this origin can use stands for
// it (see fromOurPage).
type Editor struct {
	Files  EditorFiles
	Sealer ConsoleSealer // of the key that a browser keeps
}

// EditorFiles serves the files of an editor; editor.Dir is it. What is not there is NotFound.
type EditorFiles interface {
	ServeIndex(w http.ResponseWriter, r *http.Request) error
	Serve(w http.ResponseWriter, r *http.Request, name string) error
}

const (
	editorPath   = "/editor"
	editorCookie = "millrace_editor"
	editorOwner  = "editor" // whom the sealed key belongs to: no cookie of the console is taken for one of the editor
	maxCookie    = 3800     // bytes of its value; browsers drop larger ones without a word
)

// editorServer serves the editor's page and the pages on which people sign in.
type editorServer struct{ *consoleServer }

// editorPageRoutes are the pages around an editor. They do not speak an API's errors.
func (s *server) editorPageRoutes() []route {
	if s.Editor == nil {
		return nil
	}
	e := &editorServer{&consoleServer{server: s, base: editorPath, pages: console.New()}}
	page := func(handle func(*gin.Context) error) func(*gin.Context) error {
		return func(c *gin.Context) error {
			if err := handle(c); err != nil {
				e.problem(c, err)
			}
			return nil
		}
	}
	form := int64(16 << 10)
	return []route{
		{method: http.MethodGet, path: "/", access: public, handle: page(e.index)},
		{method: http.MethodHead, path: "/", access: public, handle: page(e.index)},
		{method: http.MethodGet, path: editorPath, access: public, handle: page(e.who)},
		{method: http.MethodPost, path: editorPath + "/signin", access: public, limit: form, handle: page(e.signIn)},
		{method: http.MethodPost, path: editorPath + "/signout", access: public, limit: form, handle: page(e.signOut)},
	}
}

// index starts the editor for whoever has signed in, and sends others to do so: GET /.
func (s *editorServer) index(c *gin.Context) error {
	if _, err := s.signedIn(c.Request); fault.Is(err, fault.Unauthenticated) {
		c.Header("Cache-Control", "no-store")
		c.Redirect(http.StatusSeeOther, s.prefix(c)+editorPath)
		return nil
	} else if err != nil {
		return err
	}
	return s.Editor.Files.ServeIndex(c.Writer, c.Request)
}

// signedIn is whom the browser's cookie stands for.
func (s *server) signedIn(r *http.Request) (account.Identity, error) {
	key := ""
	if s.opts.Mode != account.ModeNone {
		key = s.keyOfCookie(r)
	}
	return s.Auth.Authenticate(r.Context(), key)
}

// who asks for a key, or shows whose was given: GET /editor.
func (s *editorServer) who(c *gin.Context) error {
	id, err := s.signedIn(c.Request)
	if fault.Is(err, fault.Unauthenticated) {
		s.ask(c, http.StatusOK, false)
		return nil
	}
	if err != nil {
		return err
	}
	s.render(c, http.StatusOK, func(b *bytes.Buffer, f console.Frame) error {
		f.Title, f.SignIn = "Editor", s.opts.Mode != account.ModeNone
		return s.pages.Editor(b, console.EditorPage{Frame: f, Account: id.Account})
	})
	return nil
}

// signIn keeps a key in the browser: POST /editor/signin.
func (s *editorServer) signIn(c *gin.Context) error {
	if err := s.ownForm(c.Request); err != nil {
		return err
	}
	key := strings.TrimSpace(c.PostForm("key"))
	if _, err := s.Auth.Authenticate(c.Request.Context(), key); fault.Is(err, fault.Unauthenticated) {
		s.ask(c, http.StatusUnauthorized, true)
		return nil
	} else if err != nil {
		return err
	}
	value := base64.RawURLEncoding.EncodeToString(s.Editor.Sealer.Seal(editorOwner, key))
	if len(value) > maxCookie {
		return fault.New(fault.Invalid, "invalid_request", "This credential is too long for a browser to keep. Use an API key.")
	}
	s.setCookie(c, value, 0)
	c.Redirect(http.StatusSeeOther, s.prefix(c)+"/")
	return nil
}

// signOut takes the key from the browser: POST /editor/signout.
func (s *editorServer) signOut(c *gin.Context) error {
	if err := s.ownForm(c.Request); err != nil {
		return err
	}
	s.setCookie(c, "", -1)
	c.Redirect(http.StatusSeeOther, s.prefix(c)+editorPath)
	return nil
}

// ownForm refuses what is not sent by a form of ours.
func (s *editorServer) ownForm(r *http.Request) error {
	if !s.fromOurPage(r) {
		return fault.New(fault.Denied, "forbidden", "This form was sent by another site, or to another address than this service answers under.")
	}
	return nil
}

// setCookie sets the cookie for this session of the browser, or removes it.
func (s *editorServer) setCookie(c *gin.Context, value string, maxAge int) {
	name, secure, path := s.cookie(c.Request)
	http.SetCookie(c.Writer, &http.Cookie{
		Name: name, Value: value, Path: path, MaxAge: maxAge, HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode,
	})
}

// cookie says how the cookie is named and where it counts. With TLS and no path prefix it has the name that
// browsers let nobody but this very host set.
func (s *server) cookie(r *http.Request) (name string, secure bool, path string) {
	base, err := url.Parse(s.baseURL(r))
	if err != nil {
		base = &url.URL{}
	}
	name, secure, path = editorCookie, base.Scheme == "https", base.Path+"/"
	if secure && path == "/" {
		name = "__Host-" + name
	}
	return name, secure, path
}

// keyOfCookie returns the key that a browser was given to keep, "" without one of ours.
func (s *server) keyOfCookie(r *http.Request) string {
	name, _, _ := s.cookie(r)
	return keptKey(r, name, editorOwner, s.Editor.Sealer)
}

// presented returns the secret of a request, "" without one: what it carries itself, and on the routes that an
// editor uses else what its browser keeps. The latter does not count when another site's page sent it.
func (s *server) presented(c *gin.Context) (string, error) {
	if secret := credential(c.Request); secret != "" || !c.GetBool(fromBrowsers) {
		return secret, nil
	}
	key := s.keyOfCookie(c.Request)
	if key != "" && !s.fromOurPage(c.Request) {
		return "", fault.New(fault.Denied, "forbidden", "the sign-in of a browser counts for pages of this origin only")
	}
	return key, nil
}

// fromBrowsers marks requests on routes where a browser's cookie may stand for a key.
const fromBrowsers = "millrace.browsers"

// fromOurPage reports whether a page of this origin sent the request, or a person who opened the address. The
// cookie is SameSite=Strict, so this is a second lock, and the only one against pages of sibling hosts:
// browsers say where a request comes from in Sec-Fetch-Site (where they trust the connection) and in Origin
// (on WebSockets and whatever is not GET or HEAD, always). One that says neither may only read.
func (s *server) fromOurPage(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin != "" && !s.ownOrigin(r, origin) {
		return false
	}
	reads := (r.Method == http.MethodGet || r.Method == http.MethodHead) && !websocket.IsWebSocketUpgrade(r)
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin":
		return reads || origin != ""
	case "none":
		return reads
	case "":
		return reads || origin != ""
	default: // cross-site, same-site
		return false
	}
}

// ownOrigin reports whether pages of an origin are ours. Where answers leave through TLS, a page without is not.
func (s *server) ownOrigin(r *http.Request, origin string) bool {
	from, err := url.Parse(origin)
	if err != nil || from.Host == "" { // "null" has no host
		return false
	}
	base, err := url.Parse(s.baseURL(r))
	if err != nil || base.Scheme == "https" && from.Scheme != "https" {
		return false
	}
	return strings.EqualFold(from.Host, base.Host) || strings.EqualFold(from.Host, r.Host)
}

// editorFile serves a file of the editor where no route has the path.
func (s *server) editorFile(c *gin.Context) error {
	if s.Editor == nil || c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead || reserved(c.Request.URL.Path) {
		return notFound(c)
	}
	if c.Request.URL.Path == "" { // the bare prefix of the public URL: relative links need its slash
		c.Redirect(http.StatusPermanentRedirect, s.public.Path+"/")
		return nil
	}
	return s.Editor.Files.Serve(c.Writer, c.Request, strings.TrimPrefix(c.Request.URL.Path, "/"))
}

// reserved are paths that stay the API's whatever lies in the editor's directory.
func reserved(path string) bool {
	for _, own := range []string{"/api", "/v1", "/v2", "/files", "/internal", "/admin", consolePath, editorPath} {
		if path == own || strings.HasPrefix(path, own+"/") {
			return true
		}
	}
	return false
}
