// Package edge is the part that all surfaces of the API share: routes, credentials, the guard against pages of other
// sites, and the conversion of errors to answers. No handler runs before its caller is authenticated and authorized,
// and every answer, even of a handler that panics, has the format of its surface. The surfaces implement the routes.
package edge

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/load"
)

// Defaults of Options.
const (
	defaultMaxBody = 1 << 20
	defaultRecheck = 15 * time.Second
)

// Options are the tunables of an Edge. The zero value serves mode none.
type Options struct {
	Mode      account.Mode // default none
	PublicURL string       // base of absolute links, with an optional path prefix; "" = derived from the request
	AnyHost   bool         // any Host name is accepted in mode none, not only loopback names and that of PublicURL
	// origins of other web pages that may call the API, such as https://app.example; "*" = all (not in mode none)
	AllowedOrigins []string
	TrustedProxies []netip.Prefix // proxies whose X-Forwarded-* headers are trusted
	MaxBody        int64          // bytes of ordinary JSON requests, default 1 MiB
	Recheck        time.Duration  // between two checks of the key of a socket or stream, default 15 seconds
}

// jobLists bounds the lists of jobs that are made at once: each folds what its view lacks, and more than a few only take
// processors from jobs. A list takes milliseconds.
var jobLists = load.Options{What: "lists of jobs", Slots: 4, Few: 16, Many: 256, Wait: 100 * time.Millisecond} // a constant

func (o *Options) setDefaults() {
	o.Mode = cmp.Or(o.Mode, account.ModeNone)
	o.MaxBody = cmp.Or(o.MaxBody, defaultMaxBody)
	o.Recheck = cmp.Or(o.Recheck, defaultRecheck)
}

// Authenticator checks credentials.
type Authenticator interface {
	// Authenticate returns the identity of the secret's owner. The secret is "" if the request has none.
	// It fails with Unauthenticated when the secret does not suffice.
	Authenticate(ctx context.Context, secret string) (account.Identity, error)
}

// Space reports whether there is space to store more. It must agree with the readiness of the service: while
// CheckSpace fails, the service is not ready.
type Space interface {
	// CheckSpace fails with Unavailable while there is not enough space.
	CheckSpace() error
}

// Storage reads the storage that accounts use.
type Storage interface {
	// Quota returns the account's used storage and its limit, if there is a limit.
	Quota(ctx context.Context, account string) (account.Storage, error)
	// Usage returns the account's used storage.
	Usage(ctx context.Context, account string) (account.Storage, error)
}

// Deps are the dependencies of an Edge.
type Deps struct {
	Auth     Authenticator
	KeysOfV2 Authenticator // checks the keys of the v2 API, which takes no tokens; nil = Auth
	Space    Space
	Storage  Storage
	Cookies  Sealer  // seals the keys in an editor's cookies; nil = cookies are not credentials
	People   *People // who sign in with OpenID Connect; nil = nobody does
	Logger   *slog.Logger

	Deployments Deployments // nil = there are none
}

// Edge is the part of a service that all surfaces share.
type Edge struct {
	Deps
	opts     Options
	public   *url.URL
	dialects []Dialect
	JobLists *load.Gate // of the routes that list jobs
}

// Dialect is a part of the path space with its own credentials and errors, such as the model router.
type Dialect interface {
	// Serves reports whether the path belongs to the dialect, even if no route has it.
	Serves(path string) bool
	// Begin sets the headers that every answer has.
	Begin(c *gin.Context)
	// Identify returns the caller of a request.
	Identify(c *gin.Context) (account.Identity, error)
	// Fail answers with err.
	Fail(c *gin.Context, err error)
}

// New returns the shared part of a service.
func New(deps Deps, opts Options) (*Edge, error) {
	opts.setDefaults()
	e := &Edge{Deps: deps, opts: opts, JobLists: load.New(jobLists)}
	if opts.PublicURL == "" {
		return e, nil
	}
	u, err := url.Parse(strings.TrimRight(opts.PublicURL, "/"))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the public URL must be http(s)://host[/prefix], without query and fragment")
	}
	e.public = u
	return e, nil
}

// Add adds a dialect. It is called before Handler.
func (e *Edge) Add(d Dialect) { e.dialects = append(e.dialects, d) }

// dialect returns the dialect of a path, or nil for the dialect of package httperr.
func (e *Edge) dialect(path string) Dialect {
	for _, d := range e.dialects {
		if d.Serves(path) {
			return d
		}
	}
	return nil
}

// Mode returns how callers authenticate.
func (e *Edge) Mode() account.Mode { return e.opts.Mode }

// MaxBody returns the bound of ordinary JSON bodies, in bytes.
func (e *Edge) MaxBody() int64 { return e.opts.MaxBody }

// Recheck returns the time between two checks of the key of a socket or stream.
func (e *Edge) Recheck() time.Duration { return e.opts.Recheck }

// Mount returns the path prefix of the public URL, or "" without one.
func (e *Edge) Mount() string {
	if e.public == nil {
		return ""
	}
	return e.public.Path
}

// Handler serves the routes, and unknown for paths without a route.
func (e *Edge) Handler(routes []Route, unknown func(*gin.Context) error) (http.Handler, error) {
	gin.SetMode(gin.ReleaseMode)
	g := gin.New()
	g.HandleMethodNotAllowed = true
	g.RedirectTrailingSlash = false
	if err := g.SetTrustedProxies(nil); err != nil { // this package determines client addresses itself, see trusted
		return nil, err
	}
	g.Use(e.identify, e.recoverPanic, e.guardHost)
	g.NoRoute(e.wrap(Route{Access: Public, Handle: unknown}))
	paths := methodsByPath{}
	for _, r := range withHeads(routes) {
		g.Handle(r.Method, r.Path, e.wrap(r))
		paths[r.Path] = append(paths[r.Path], r.Method)
	}
	g.NoMethod(e.wrap(Route{Access: Public, Handle: paths.refuse}))
	return e.shareWith(e.opts.AllowedOrigins, e.stripPrefix(mounted(escapeSemicolons(g)))), nil
}

// escapeSemicolons makes a semicolon part of a value, as in preview=webp;90, which editors send. net/url drops a
// parameter with a bare semicolon.
func escapeSemicolons(next http.Handler) http.Handler {
	next = http.AllowQuerySemicolons(next) // silences net/http's warning; the semicolons are escaped by then
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.RawQuery, ";") {
			whole, u := *r, *r.URL
			u.RawQuery = strings.ReplaceAll(u.RawQuery, ";", "%3B")
			whole.URL, r = &u, &whole
		}
		next.ServeHTTP(w, r)
	})
}

// stripPrefix serves requests with and without the path prefix of the public URL: a proxy may keep the prefix or
// remove it.
func (e *Edge) stripPrefix(next http.Handler) http.Handler {
	prefix := e.Mount()
	if prefix == "" {
		return next
	}
	stripped := http.StripPrefix(prefix, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == prefix || strings.HasPrefix(r.URL.Path, prefix+"/") {
			stripped.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

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
	Calls   bool       // a key limited to deployments may use the route, whose handler checks their names
	Mounted bool       // as Calls, but only below the path of a deployment
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
	limit := cmp.Or(r.Limit, e.opts.MaxBody)
	cookies := r.Browser && e.Cookies != nil && e.opts.Mode != account.ModeNone
	return func(c *gin.Context) {
		if cookies {
			c.Set(cookiesCount, true)
		}
		_, mounted := mountOf(c.Request)
		c.Set(callsDeployments, r.Calls || r.Mounted && mounted)
		defer request.Watch(c.Request)()
		err := e.Authorize(c, r.Access)
		if err == nil && r.Access != Public {
			err = e.findMount(c)
		}
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
	if err := e.Space.CheckSpace(); err != nil {
		return err
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
	found, err := e.Storage.Quota(c.Request.Context(), id)
	if err != nil {
		return err
	}
	c.Set(quotaKey, requestQuota{id, found})
	return found.Fits(bytes)
}

// methodsByPath are the methods of each path of the routes.
type methodsByPath map[string][]string

// refuse refuses a method that the path does not have. It answers OPTIONS with the methods that the path has.
func (m methodsByPath) refuse(c *gin.Context) error {
	// gin names the methods of all routes that match, such as those of /jobs/:id for the path /jobs/cancel
	own := m[m.mostSpecific(c.Request.URL.Path)]
	listed := strings.Split(c.Writer.Header().Get("Allow"), ", ")
	c.Header("Allow", strings.Join(slices.DeleteFunc(listed, func(name string) bool { return !slices.Contains(own, name) }), ", "))
	if c.Request.Method == http.MethodOptions {
		NoContent(c)
		return nil
	}
	return httperr.MethodNotAllowed(c.Request.Method)
}

// mostSpecific returns the path of a route that matches a path: the one whose first literal segments are the most.
func (m methodsByPath) mostSpecific(path string) string {
	best, given := "", strings.Split(path, "/")
	for route := range m {
		if matches(strings.Split(route, "/"), given) && (best == "" || kinds(route) < kinds(best)) {
			best = route
		}
	}
	return best
}

// matches reports whether a path matches that of a route. A parameter stands for one segment, a wildcard for all others.
func matches(route, path []string) bool {
	for i, segment := range route {
		switch {
		case i == len(path):
			return false
		case strings.HasPrefix(segment, "*"):
			return true
		case segment != path[i] && (!strings.HasPrefix(segment, ":") || path[i] == ""):
			return false
		}
	}
	return len(route) == len(path)
}

// kinds describes the segments of a route's path by one letter each, such that literal segments come before parameters,
// and these before wildcards.
func kinds(route string) string {
	letters := ""
	for segment := range strings.SplitSeq(route, "/") {
		switch {
		case strings.HasPrefix(segment, "*"):
			letters += "c"
		case strings.HasPrefix(segment, ":"):
			letters += "b"
		default:
			letters += "a"
		}
	}
	return letters
}
