package edge

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/load"
)

// Access is the access that a route requires.
type Access uint8

// Access levels of routes.
const (
	Read   Access = iota // needs a credential that may read
	Write                // needs a credential that may write
	Store                // Write, and needs space for new data (see Edge.CheckSpace)
	Public               // needs no credential
)

// Route is a row of a resource's table. Its path determines the format of its errors (see httperr.SurfaceOf and
// Dialect).
type Route struct {
	Method string
	Path   string
	Access Access
	Limit  int64 // bytes of the body; 0 = Options.MaxBody, negative = the handler bounds it itself
	Handle func(*gin.Context) error

	Gate    *load.Gate // bounds how many requests are answered at once; nil = nothing does
	Live    bool       // the answer is a stream without an end, so HEAD is not served
	Browser bool       // an editor uses the route: a browser's cookie is a credential (see Edge.RequestSecret)
}

// Cloud returns the routes with and without the /api prefix, as clients of the hosted service and of a self-hosted
// runtime expect. An editor may use them.
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

// withHeads adds a HEAD route for each GET route without one (RFC 9110, section 9.1); net/http drops the body.
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

// wrap turns a route into a gin handler: it checks the credential, bounds the body, runs the handler and renders its
// error.
func (e *Edge) wrap(r Route) gin.HandlerFunc {
	limit := r.Limit
	limit = cmp.Or(limit, e.opts.MaxBody)
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
			err = r.answer(c)
		}
		if err != nil {
			e.fail(c, err)
		}
	}
}

// answer handles a request when its gate lets it begin.
func (r Route) answer(c *gin.Context) error {
	if r.Gate == nil {
		return r.Handle(c)
	}
	end, err := r.Gate.Begin(c.Request.Context(), Caller(c).Account)
	if err != nil {
		return err
	}
	defer end()
	return r.Handle(c)
}

// CheckSpace refuses a request that stores data while there is no space left, on the disk or for the account. It is
// the only check for a job, whose outputs may have any size.
func (e *Edge) CheckSpace(c *gin.Context, account string) error {
	if e.Space != nil {
		if err := e.Space.CheckSpace(); err != nil {
			return err
		}
	}
	return e.fits(c, account, 1)
}

// quotaKey is the key of the account's storage in the context of a request.
const quotaKey = "millrace.quota"

// requestQuota is the storage of an account, read during a request.
type requestQuota struct {
	id string
	account.Storage
}

// CheckQuota refuses bytes that exceed the caller's storage limit. It reads the account's storage once per request,
// and again only before a refusal, because the account may have deleted files meanwhile.
func (e *Edge) CheckQuota(c *gin.Context, bytes int64) error {
	return e.CheckQuotaOf(c, Caller(c).Account, bytes)
}

// CheckQuotaOf is CheckQuota for the account of a page's visitor, who is identified by a cookie.
func (e *Edge) CheckQuotaOf(c *gin.Context, id string, bytes int64) error {
	found, _ := c.Get(quotaKey)
	if r, ok := found.(requestQuota); ok && r.id == id && r.Fits(bytes) == nil {
		return nil
	}
	return e.fits(c, id, bytes)
}

// fits reads the storage of an account and reports whether bytes more fit.
func (e *Edge) fits(c *gin.Context, id string, bytes int64) error {
	if e.Storage == nil {
		return nil
	}
	found, err := e.Storage.Quota(c.Request.Context(), id)
	if err != nil {
		return err
	}
	c.Set(quotaKey, requestQuota{id, found})
	return found.Fits(bytes)
}

// methodNotAllowed refuses a method that the path does not have. It answers OPTIONS with the methods that gin put
// into the header Allow.
func methodNotAllowed(c *gin.Context) error {
	if c.Request.Method == http.MethodOptions {
		NoContent(c)
		return nil
	}
	return httperr.MethodNotAllowed(c.Request.Method)
}
