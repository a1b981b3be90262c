package edge

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/account"
)

// Access is the access that a route requires.
type Access uint8

// Access levels of routes.
const (
	Read   Access = iota // a credential that may read
	Write                // a credential that may write
	Store                // the same, and space for what is to be stored (see Edge.CheckSpace)
	Public               // nothing
)

// Route is one line of a resource's table. The shape of its errors follows from the path (see httperr.SurfaceOf and
// Dialect).
type Route struct {
	Method string
	Path   string
	Access Access
	Limit  int64 // bytes of the body; 0 = Options.MaxBody, negative = the handler bounds it itself
	Handle func(*gin.Context) error

	Live    bool // the answer has no end of its own, so its headers alone cannot be asked for
	Browser bool // an editor uses it: a browser's cookie counts as a credential (see Edge.Presented)
}

// Cloud returns the routes with and without the /api prefix, as clients of both the hosted service and a self-hosted
// runtime expect. They are those that an editor uses.
func Cloud(routes ...Route) []Route {
	all := make([]Route, 0, 2*len(routes))
	for _, r := range routes {
		r.Browser = true
		prefixed := r
		prefixed.Path = "/api" + r.Path
		all = append(all, r, prefixed)
	}
	return all
}

// V2 returns the routes under /api/v2.
func V2(routes ...Route) []Route {
	for i := range routes {
		routes[i].Path = "/api/v2" + routes[i].Path
	}
	return routes
}

// withHeads adds HEAD where GET is and HEAD is not (RFC 9110, section 9.1): net/http drops the body.
func withHeads(all []Route) []Route {
	own := map[string]bool{}
	for _, r := range all {
		own[r.Path] = own[r.Path] || r.Method == http.MethodHead
	}
	for _, r := range slices.Clone(all) {
		if r.Method == http.MethodGet && !r.Live && !own[r.Path] {
			r.Method = http.MethodHead
			all = append(all, r)
		}
	}
	return all
}

// wrap turns a route into a gin handler: credential, bound of the body, handler, and the one place where an error
// becomes an answer.
func (e *Edge) wrap(r Route) gin.HandlerFunc {
	limit := r.Limit
	if limit == 0 {
		limit = e.opts.MaxBody
	}
	cookies := r.Browser && e.Cookies != nil && e.opts.Mode != account.ModeNone
	return func(c *gin.Context) {
		if cookies {
			c.Set(cookiesCount, true)
		}
		defer request.Watch(c.Request)()
		err := e.Authorize(c, r.Access)
		if err == nil && r.Access == Store {
			err = e.CheckSpace(c, Caller(c).Account)
		}
		if err == nil {
			err = request.CheckQuery(c.Request)
		}
		if err == nil && limit > 0 {
			err = request.Bound(c, limit)
		}
		if err == nil {
			err = r.Handle(c)
		}
		if err != nil {
			e.fail(c, err)
		}
	}
}

// CheckSpace refuses a request that stores something while there is no space for more, in all or for the account. A
// job that is accepted stores what it makes, however much that is.
func (e *Edge) CheckSpace(c *gin.Context, account string) error {
	if e.Space != nil {
		if err := e.Space.CheckSpace(); err != nil {
			return err
		}
	}
	return e.fits(c, account, 1)
}

// roomFound is the name of the room that was found in a request.
const roomFound = "millrace.room"

// room is what an account stores and may store.
type room struct {
	id string
	account.Storage
}

// CheckQuota refuses bytes that the caller may not store beside those it stores already. The room of an account is asked
// for once a request, and again only before a refusal: the account may have deleted files meanwhile.
func (e *Edge) CheckQuota(c *gin.Context, bytes int64) error {
	return e.CheckQuotaOf(c, Caller(c).Account, bytes)
}

// CheckQuotaOf is CheckQuota for the account of somebody whom a page knows by a cookie.
func (e *Edge) CheckQuotaOf(c *gin.Context, id string, bytes int64) error {
	found, _ := c.Get(roomFound)
	if r, ok := found.(room); ok && r.id == id && r.Fits(bytes) == nil {
		return nil
	}
	return e.fits(c, id, bytes)
}

// fits asks for the room of an account.
func (e *Edge) fits(c *gin.Context, id string, bytes int64) error {
	if e.Storage == nil {
		return nil
	}
	found, err := e.Storage.Room(c.Request.Context(), id)
	if err != nil {
		return err
	}
	c.Set(roomFound, room{id, found})
	return found.Fits(bytes)
}

// methodNotAllowed refuses a method that the path does not have. OPTIONS asks which ones it has: gin has put them into the
// header Allow.
func methodNotAllowed(c *gin.Context) error {
	if c.Request.Method == http.MethodOptions {
		NoContent(c)
		return nil
	}
	return httperr.MethodNotAllowed(c.Request.Method)
}
