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
	"strings"
	"time"

	"github.com/gin-gonic/gin"

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
	Mode         account.Mode // default none
	PublicURL    string       // base of absolute links, with an optional path prefix; "" = derived from the request
	AllowedHosts []string     // Host names accepted in mode none beside loopback names; "*" = any
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
	Auth    Authenticator
	Space   Space   // nil = there is always space
	Storage Storage // nil = the storage of accounts is not limited
	Cookies Sealer  // seals the keys in an editor's cookies; nil = cookies are not credentials
	Logger  *slog.Logger
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
	g.NoMethod(e.wrap(Route{Access: Public, Handle: methodNotAllowed}))
	for _, r := range withHeads(routes) {
		g.Handle(r.Method, r.Path, e.wrap(r))
	}
	return e.shareWith(e.opts.AllowedOrigins, e.stripPrefix(escapeSemicolons(g))), nil
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
