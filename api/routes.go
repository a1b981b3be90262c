package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
)

// access says what a route asks of the caller.
type access uint8

const (
	reading  access = iota // a credential that may read
	writing                // a credential that may write
	bringing               // the same, and room for what is to be kept (see Room)
	public                 // nothing
)

// route is one line of a resource's table. The surface, and with it the shape of
// errors, follows from the path (see surfaceOf).
type route struct {
	method string
	path   string
	access access
	limit  int64 // bytes of the body; 0 = Options.MaxBody, negative = the handler bounds it itself
	handle func(*gin.Context) error

	live    bool // its answer has no end of its own, so there is no asking for its headers alone
	browser bool // an editor uses it: what a browser keeps may stand for a credential (see presented)
}

// routes lists every route of the service: one line per resource.
func (s *server) routes() []route {
	return slices.Concat(
		s.healthRoutes(), s.documentRoutes(), s.systemRoutes(), s.definitionRoutes(),
		s.promptRoutes(), s.statusRoutes(), s.queueRoutes(),
		s.cloudJobRoutes(), s.historyRoutes(), s.socketRoutes(),
		s.jobRoutes(), s.logRoutes(), s.eventRoutes(),
		s.fileRoutes(), s.userdataRoutes(), s.settingRoutes(), s.editorRoutes(), s.editorPageRoutes(), s.consoleRoutes(),
		s.routerRoutes(), s.webhookRoutes(),
	)
}

// cloud returns the routes with and without the /api prefix, as clients of both
// the hosted service and a self-hosted runtime expect (W-07). They are those that an editor uses.
func cloud(routes ...route) []route {
	all := make([]route, 0, 2*len(routes))
	for _, r := range routes {
		r.browser = true
		prefixed := r
		prefixed.path = "/api" + r.path
		all = append(all, r, prefixed)
	}
	return all
}

// v2 returns the routes under /api/v2.
func v2(routes ...route) []route {
	for i := range routes {
		routes[i].path = "/api/v2" + routes[i].path
	}
	return routes
}

// wrap turns a route into a gin handler: credential, body bound, handler, and the
// one place where an error becomes an answer.
func (s *server) wrap(r route) gin.HandlerFunc {
	limit := r.limit
	if limit == 0 {
		limit = s.opts.MaxBody
	}
	cookies := r.browser && s.Editor != nil && s.opts.Mode != account.ModeNone
	return func(c *gin.Context) {
		if cookies {
			c.Set(fromBrowsers, true)
		}
		defer watchBody(c.Request)()
		err := s.authorize(c, r.access)
		if err == nil && r.access == bringing {
			err = s.door(c, caller(c).Account)
		}
		if err == nil && limit > 0 {
			err = boundBody(c, limit)
		}
		if err == nil {
			err = r.handle(c)
		}
		if err != nil {
			s.fail(c, err)
		}
	}
}

// door refuses what is brought while there is no room for more, in all or for the account: a job that is accepted
// keeps what it makes, however much that is.
func (s *server) door(c *gin.Context, account string) error {
	if s.Room != nil {
		if err := s.Room.Room(); err != nil {
			return err
		}
	}
	if s.Storage == nil {
		return nil
	}
	return s.Storage.Fits(c.Request.Context(), account, 1)
}

// fits refuses what would make the caller's files larger than they may be.
func (s *server) fits(c *gin.Context, bytes int64) error {
	if s.Storage == nil {
		return nil
	}
	return s.Storage.Fits(c.Request.Context(), caller(c).Account, bytes)
}

// boundBody refuses a body that announces more than limit and cuts off one that lies.
func boundBody(c *gin.Context, limit int64) error {
	if c.Request.ContentLength > limit {
		return tooLarge(limit)
	}
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, limit)
	return nil
}

func tooLarge(limit int64) error {
	return fault.New(fault.Exhausted, codeTooLarge, "the request body is larger than %d bytes", limit)
}

// unknownPath answers where no route is.
func (s *server) unknownPath(c *gin.Context) error {
	if isRouter(c.Request.URL.Path) {
		return s.unrouted(c)
	}
	return s.editorFile(c)
}

func notFound(c *gin.Context) error {
	return fault.New(fault.NotFound, codeNowhere, "there is nothing at this path")
}

func methodNotAllowed(c *gin.Context) error {
	return fault.New(fault.Invalid, codeMethod, "%s is not offered at this path", c.Request.Method)
}

// authorize puts the caller's identity into the context, or fails.
func (s *server) authorize(c *gin.Context, a access) error {
	if a == public {
		return nil
	}
	id, err := s.identity(c)
	if err != nil {
		return err
	}
	need := account.ScopeRead
	if a == writing || a == bringing {
		need = account.ScopeWrite
	}
	if !id.Allows(need) {
		return fault.New(fault.Denied, "forbidden", "this key does not carry the scope %q", need)
	}
	c.Set(identityKey, id)
	return nil
}

// identity checks the request's credential.
func (s *server) identity(c *gin.Context) (account.Identity, error) {
	if !isRouter(c.Request.URL.Path) {
		secret, err := s.presented(c)
		if err != nil {
			return account.Identity{}, err
		}
		return s.Auth.Authenticate(c.Request.Context(), secret)
	}
	id, err := s.routerIdentity(c)
	if err == nil {
		err = s.mayRoute(id)
	}
	return id, err
}

const identityKey = "millrace.identity"

// caller returns the authenticated identity of a request on a non-public route.
func caller(c *gin.Context) account.Identity {
	id, _ := c.MustGet(identityKey).(account.Identity)
	return id
}

// credential returns the secret a request presents, or "". X-API-Key decides when
// there are several (router contract); `token` counts on the WebSocket route only.
func credential(r *http.Request) string {
	if key := r.Header.Get("X-API-Key"); key != "" {
		return key
	}
	scheme, secret, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(secret)
	}
	if isSocketPath(r.URL.Path) {
		return r.URL.Query().Get("token")
	}
	return ""
}

func isSocketPath(path string) bool { return path == "/ws" || path == "/api/ws" }
