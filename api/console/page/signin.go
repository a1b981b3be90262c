package page

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/session"
	"github.com/millrace-dev/millrace/internal/fault"
)

const (
	cookieName  = "millrace_console"
	cookieOwner = "console" // owner of the sealed key of a browser
)

// Routes returns the routes that every page needs: signing in and out, and files.
func (s *Server) Routes() []edge.Route {
	file := func(path, kind string, content []byte) edge.Route {
		return edge.Route{Method: http.MethodGet, Path: s.base + path, Access: edge.Public, Handle: func(c *gin.Context) error {
			c.Header("Cache-Control", "no-cache")
			c.Header("X-Content-Type-Options", "nosniff")
			body, err := edge.Compressed(c, content)
			if err == nil {
				c.Data(http.StatusOK, kind, body)
			}
			return err
		}}
	}
	sign := func(path string, handle func(*gin.Context)) edge.Route {
		return edge.Route{Method: http.MethodPost, Path: s.base + path, Access: edge.Public, Limit: MaxForm, Handle: func(c *gin.Context) error {
			if err := s.sameSite(c.Request); err != nil {
				s.Problem(c, err)
				return nil
			}
			handle(c)
			return nil
		}}
	}
	routes := []edge.Route{sign("/signin", s.signIn), sign("/signout", s.signOut)}
	if s.Edge.People != nil {
		routes = append(routes, s.openIDRoutes()...)
	}
	for _, f := range s.templates.Files() {
		routes = append(routes, file("/"+f.Name, f.Type, f.Content))
	}
	return routes
}

func (s *Server) signIn(c *gin.Context) {
	key := strings.TrimSpace(c.PostForm("key"))
	if !s.operates(key) {
		_, err := s.Edge.Auth.Authenticate(c.Request.Context(), key)
		if fault.Is(err, fault.Unauthenticated) {
			s.ShowSignIn(c, http.StatusUnauthorized, true)
			return
		}
		if err != nil {
			s.Problem(c, err)
			return
		}
	}
	if err := s.EndSession(c, s.secret(c.Request)); err != nil {
		s.Problem(c, err)
		return
	}
	s.setCookie(c, edge.SealKey(cookieOwner, key, s.Sealer), 0)
	s.Redirect(c, Visitor{}, "")
}

func (s *Server) signOut(c *gin.Context) {
	if err := s.EndSession(c, s.secret(c.Request)); err != nil {
		s.Problem(c, err)
		return
	}
	s.setCookie(c, "", -1)
	s.Redirect(c, Visitor{}, "")
}

// EndSession ends the session of a cookie, if it is one, and forgets its secret in the editor too.
func (s *Server) EndSession(c *gin.Context, secret string) error {
	if s.Edge.People == nil || !session.Shaped(secret) {
		return nil
	}
	if s.Edge.Cookies != nil {
		http.SetCookie(c.Writer, s.Edge.EditorCookie(c.Request, ""))
	}
	return s.Edge.People.Store.SignOut(c.Request.Context(), account.HashKey(secret), edge.RequestID(c))
}

// secret returns the key or the secret in the browser's cookie, or "".
func (s *Server) secret(r *http.Request) string {
	return edge.CookieKey(r, s.cookieName(r), cookieOwner, s.Sealer)
}

// cookieName returns the name of the browser's cookie. With TLS it is a name that browsers let no page without TLS set.
func (s *Server) cookieName(r *http.Request) string {
	if strings.HasPrefix(s.Edge.BaseURL(r), "https:") {
		return "__Secure-" + cookieName
	}
	return cookieName
}

// setCookie sets the cookie for this session of the browser, or removes it.
func (s *Server) setCookie(c *gin.Context, value string, maxAge int) {
	http.SetCookie(c.Writer, s.cookie(c, http.Cookie{
		Name: s.cookieName(c.Request), Value: value, MaxAge: maxAge, SameSite: http.SameSiteStrictMode,
	}))
}

// cookie completes a cookie for the paths of the console below its own path.
func (s *Server) cookie(c *gin.Context, of http.Cookie) *http.Cookie {
	base, err := url.Parse(s.Edge.BaseURL(c.Request))
	if err != nil {
		base = &url.URL{}
	}
	of.Path, of.HttpOnly, of.Secure = base.Path+Base+of.Path, true, base.Scheme == "https"
	return &of
}
