// Package page serves the pages for people: it identifies the visitor by a cookie, turns errors into pages, and keeps
// an open page up to date over server-sent events. It promises to refuse forms of other sites, to build a page only
// for a visitor who may see it, and to end an open page when its key is revoked. The packages that use this one
// decide the content of a page; the package console below internal/web renders it.
package page

import (
	"cmp"
	"context"
	"embed"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/limit"
	"github.com/millrace-dev/millrace/api/live"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/session"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/records"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// Base is the path of all pages except those around an editor.
const Base = "/console"

// MaxForm bounds the body of a form, in bytes.
const MaxForm = 16 << 10

// maxOpen is the default of Deps.MaxOpen.
const maxOpen = 64

// Deps are the dependencies of the pages.
type Deps struct {
	Edge     *edge.Edge
	Sealer   edge.Sealer
	Operator func(secret string) bool // reports whether a credential is the operators'; nil = there are no operators
	Live     live.Source
	Index    Index    // nil = things are not found by id or name, and accounts are named by their ids
	Media    []string // origins of pictures and films beside the service's own
	MaxOpen  int      // pages that one account keeps open on this process, default 64
}

// Index finds what the service stores, in all accounts.
type Index interface {
	// Account returns the account with that id or name.
	Account(ctx context.Context, text string) (account.Account, error)
	// Names returns the names of all accounts by their ids.
	Names(ctx context.Context) (map[string]string, error)
	// Locate returns the job, call, asset or account that text names: its id, the beginning of its id, or its name.
	// NotFound if there is none, Conflict if there are several.
	Locate(ctx context.Context, text string) (records.Found, error)
}

// Templates are the templates of the pages of this package, and the files that they refer to.
//
//go:embed *.html
var Templates embed.FS

// Server serves pages below one path.
type Server struct {
	Deps
	base        string
	templates   *console.Pages
	crossOrigin *http.CrossOriginProtection
	open        *limit.Connections
	nav         []console.NavLink
}

// New returns a server of the pages below base.
func New(deps Deps, base string) *Server {
	deps.MaxOpen = cmp.Or(deps.MaxOpen, maxOpen)
	s := &Server{
		Deps: deps, base: base, templates: console.New(), crossOrigin: http.NewCrossOriginProtection(),
		open: limit.NewConnections(deps.MaxOpen),
	}
	s.templates.Add(Templates)
	return s
}

// AddTemplates adds the templates of a section, and the files that they refer to. It is called before Routes.
func (s *Server) AddTemplates(content fs.FS) { s.templates.Add(content) }

// Visitor identifies who looks at a page. The Account of an operator is the account that the address names, "" = all.
type Visitor struct {
	account.Identity
	Operator bool // may see the pages of operators
	Operates bool // may make the changes of operators
	secret   string
	person   string // name of the person who signed in with OpenID Connect, or ""
	token    bool   // the secret is the operators', or the session of one
	named    string // account that an operator named in the address, or that owns what the address names
	name     string // name of the account, or ""
}

// Handler builds the page at a path for a visitor.
type Handler func(*gin.Context, Visitor) (console.Page, error)

// Action carries out a form and returns the path below Base to which the browser is redirected.
type Action func(*gin.Context, Visitor) (string, error)

// Access describes who may see a page or send a form.
type Access struct {
	Scope    account.Scope
	Operator bool // only operators
	Account  bool // an operator must name an account with the parameter "account"
}

// The accesses of most pages. Operators see the pages of the account that they name.
var (
	Read     = Access{Scope: account.ScopeRead}
	ReadOne  = Access{Scope: account.ScopeRead, Account: true}
	Write    = Access{Scope: account.ScopeWrite, Account: true}
	Operator = Access{Scope: account.ScopeRead, Operator: true}
	Operate  = Access{Scope: account.ScopeWrite, Operator: true}
)

// AddLinks adds links to the navigation of every page.
func (s *Server) AddLinks(links ...console.NavLink) { s.nav = append(s.nav, links...) }

// Page returns the route of a page. A browser that requests an event stream gets the content of the page after each
// change.
func (s *Server) Page(path string, need Access, handle Handler) edge.Route {
	return s.route(http.MethodGet, path, need, func(c *gin.Context, v Visitor) error {
		if c.GetHeader("Accept") == "text/event-stream" {
			return s.follow(c, v, handle)
		}
		p, err := handle(c, v)
		if err == nil {
			s.write(c, http.StatusOK, p, &v)
		}
		return err
	})
}

// Form returns the route of a form.
func (s *Server) Form(path string, need Access, act Action) edge.Route {
	return s.route(http.MethodPost, path, need, func(c *gin.Context, v Visitor) error {
		next, err := act(c, v)
		if err == nil {
			s.Redirect(c, v, next)
		}
		return err
	})
}

// Answer returns the route of a form whose answer is a page, for secrets that are shown only once and for forms that are shown
// again. A handler that has redirected the browser returns no page.
func (s *Server) Answer(path string, need Access, handle Handler) edge.Route {
	return s.route(http.MethodPost, path, need, func(c *gin.Context, v Visitor) error {
		p, err := handle(c, v)
		if err == nil && p != nil {
			s.write(c, http.StatusOK, p, &v)
		}
		return err
	})
}

// LargeForm is Form with another bound of the body, in bytes.
func (s *Server) LargeForm(path string, need Access, limit int64, act Action) edge.Route {
	route := s.Form(path, need, act)
	route.Limit = limit
	return route
}

// File returns the route of content that is not a page.
func (s *Server) File(path string, need Access, handle func(*gin.Context, Visitor) error) edge.Route {
	return s.route(http.MethodGet, path, need, handle)
}

func (s *Server) route(method, path string, need Access, handle func(*gin.Context, Visitor) error) edge.Route {
	return edge.Route{
		Method: method, Path: s.base + path, Access: edge.Public, Limit: MaxForm,
		Handle: func(c *gin.Context) error { s.serve(c, need, handle); return nil },
	}
}

// serve runs a handler for the visitor whom the cookie identifies, and turns its error into a page.
func (s *Server) serve(c *gin.Context, need Access, handle func(*gin.Context, Visitor) error) {
	if err := s.sameSite(c.Request); err != nil {
		s.Problem(c, err)
		return
	}
	v, err := s.visitor(c, need)
	var known *Visitor
	if err == nil {
		known, err = &v, handle(c, v)
	}
	switch {
	case err == nil:
	case known == nil && fault.Is(err, fault.Unauthenticated):
		s.ShowSignIn(c, http.StatusUnauthorized, false)
	default:
		s.problem(c, err, known)
	}
}

// sameSite refuses a form that a page of another site sent.
func (s *Server) sameSite(r *http.Request) error {
	if err := s.crossOrigin.Check(r); err != nil {
		return fault.Wrap(err, fault.Denied, fault.CodeForbidden, "This form was sent by another site.")
	}
	return nil
}

// operates reports whether a credential is the operators'.
func (s *Server) operates(secret string) bool {
	return secret != "" && s.Operator != nil && s.Operator(secret)
}

// visitor returns the visitor whom the browser's cookie identifies, if the visitor has the required access. In a
// service without accounts, every user of the service is its operator.
func (s *Server) visitor(c *gin.Context, need Access) (Visitor, error) {
	key := ""
	if s.Edge.Mode() != account.ModeNone {
		if key = s.secret(c.Request); key == "" {
			return Visitor{}, fault.New(fault.Unauthenticated, fault.CodeUnauthorized, "the browser has no cookie of this service")
		}
	}
	if s.operates(key) {
		return s.operator(c, need, Visitor{secret: key})
	}
	if s.Edge.People != nil && session.Shaped(key) {
		return s.inSession(c, need, key)
	}
	id, err := s.Edge.Auth.Authenticate(c.Request.Context(), key)
	if err != nil {
		return Visitor{}, err
	}
	mode := s.Edge.Mode()
	v := Visitor{
		Identity: id, name: s.accountName(c, id.Account), Operator: mode != account.ModeKeys, Operates: mode == account.ModeNone, secret: key,
	}
	return v, v.check(need)
}

// check refuses a visitor of an account who does not have the required access.
func (v Visitor) check(need Access) error {
	switch {
	case (need.Operator && !v.Operator || need == Operate && !v.Operates) && v.person != "":
		return fault.New(fault.Denied, fault.CodeForbidden, "This page is for operators. None of your groups has that role.")
	case need.Operator && !v.Operator, need == Operate && !v.Operates:
		return fault.New(fault.Denied, fault.CodeForbidden, "This page is for operators: sign out, and sign in with the token of the admin API.")
	case !v.Allows(need.Scope) && v.person != "":
		return fault.New(fault.Denied, fault.CodeForbidden, "Your role may read but not make changes.")
	case !v.Allows(need.Scope):
		return fault.New(fault.Denied, fault.CodeForbidden, "This key may read but not make changes.")
	}
	return nil
}

// operator returns the visitor of an operator's cookie.
func (s *Server) operator(c *gin.Context, need Access, v Visitor) (Visitor, error) {
	v.Operator, v.Operates, v.token = true, true, true
	v.Scopes = []account.Scope{account.ScopeRead, account.ScopeWrite}
	if !need.Operator {
		v.named = c.Query("account")
		v.Account = v.named
	}
	if s.Edge.Mode() != account.ModeKeys { // the only account is the operator's
		v.Account, v.name = account.LocalID, account.LocalID
		return v, nil
	}
	if err := s.own(c, &v, need); err != nil {
		return v, err
	}
	if need.Account && v.Account == "" {
		return v, fault.New(fault.Invalid, fault.CodeInvalidRequest,
			"This page shows one account. Name the account in the address, as in ?account=NAME.")
	}
	return v, nil
}

// own sets the account of an operator: the one that the address names by its id or name, or else, for a page of one
// account, the owner of what the path names.
func (s *Server) own(c *gin.Context, v *Visitor, need Access) error {
	if s.Index == nil {
		return nil
	}
	if v.named == "" && need.Account && c.Param("id") != "" {
		found, err := s.Index.Locate(c.Request.Context(), c.Param("id"))
		if err != nil {
			return err
		}
		v.named = found.Account
	}
	if v.named == "" {
		return nil
	}
	a, err := s.Index.Account(c.Request.Context(), v.named)
	if err != nil {
		return err
	}
	v.named, v.Account, v.name = a.ID, a.ID, a.Name
	return nil
}

// accountName returns the name of an account, or "" if it cannot be read now.
func (s *Server) accountName(c *gin.Context, id string) string {
	if s.Index == nil || id == account.LocalID {
		return id
	}
	a, err := s.Index.Account(c.Request.Context(), id)
	if err != nil {
		return ""
	}
	return a.Name
}

// Names returns the names of all accounts by their ids, for the caller to add to; a hidden account is named after its owner. An
// account that is missing is shown by its id.
func (s *Server) Names(ctx context.Context) (map[string]string, error) {
	names := map[string]string{}
	if s.Index != nil {
		var err error
		if names, err = s.Index.Names(ctx); err != nil {
			return nil, err
		}
	}
	names[account.LocalID] = account.LocalID
	for id, name := range maps.Clone(names) {
		names[account.Shadow(id)] = "shadow of " + name
	}
	return names, nil
}

// All reports whether the visitor looks at all accounts.
func (v Visitor) All() bool { return v.Operator && v.Account == "" }

// Named returns the account that an operator named in the address, or "" for other visitors.
func (v Visitor) Named() string {
	if v.token {
		return v.named
	}
	return ""
}

// Query returns the query of a link in a page. It keeps the account that an operator named.
func (v Visitor) Query(values url.Values) template.URL {
	if v.Named() != "" {
		values.Set("account", v.Named())
	}
	return console.Query(values)
}

// Before returns the position at which a page of a list begins, or 0 for the newest rows.
func Before(c *gin.Context) (int64, error) {
	text := c.Query("before")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fault.New(fault.Invalid, fault.CodeInvalidRequest, "This page of the list does not exist.")
	}
	return n, nil
}

// Of returns the handler of a page or a form about one thing, such as a job, which find reads from the path.
func Of[T, R any](find func(*gin.Context, Visitor) (T, error),
	handle func(*gin.Context, Visitor, T) (R, error),
) func(*gin.Context, Visitor) (R, error) {
	return func(c *gin.Context, v Visitor) (none R, err error) {
		found, err := find(c, v)
		if err != nil {
			return none, err
		}
		return handle(c, v, found)
	}
}

// ByToken reports whether the visitor signed in with the operators' token.
func (v Visitor) ByToken() bool { return v.token }

// Person returns the name of the person who signed in with OpenID Connect, or "".
func (v Visitor) Person() string { return v.person }

// Key returns the key with which an account signed in, or "" for operators.
func (v Visitor) Key() string {
	if v.token {
		return ""
	}
	return v.secret
}

// Actor returns the name of the visitor in events.
func (v Visitor) Actor() string {
	if v.person != "" {
		return "console:" + v.person
	}
	if v.token {
		return "console:operator"
	}
	return "console:" + v.Account
}

// Redirect redirects the browser to a page after a form. An operator stays with the account that the address names.
func (s *Server) Redirect(c *gin.Context, v Visitor, path string) {
	if named := c.Query("account"); v.Operator && named != "" {
		joint := "?"
		if strings.Contains(path, "?") {
			joint = "&"
		}
		path += joint + url.Values{"account": {named}}.Encode()
	}
	c.Redirect(http.StatusSeeOther, s.Prefix(c)+s.base+path)
}

// Prefix returns the path below which the service lies, "" for the root.
func (s *Server) Prefix(c *gin.Context) string {
	base, err := url.Parse(s.Edge.BaseURL(c.Request))
	if err != nil {
		return ""
	}
	return strings.TrimRight(base.Path, "/")
}
