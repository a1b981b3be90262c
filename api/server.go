// Package api is the HTTP edge: it parses requests, calls one thing and renders
// the answer in the words of the surface that was asked (the v2 contract, the
// cloud contract). It keeps one promise: what leaves it has the contract's shape,
// whatever happened behind it. Rules about jobs, files and accounts live behind
// the small interfaces of Deps.
package api

import (
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/internal/domain/account"
)

// Default limits of a request; each has a field in Options.
const (
	defaultMaxBody   = 1 << 20  // of ordinary JSON requests
	defaultMaxPrompt = 16 << 20 // of a submission: 10,000 nodes with long texts stay below
	defaultMaxUpload = 100 << 20
	defaultMaxImage  = 50 << 20 // cloud contract, limits
	defaultMaxModel  = 64 << 20 // router facts, limits
	defaultSockets   = 2000
	defaultStreams   = 64
	defaultRetention = 30 * 24 * time.Hour
	defaultIdle      = 30 * time.Second
	defaultRecheck   = 15 * time.Second
)

// Options are the tunables of the API. The zero value serves mode none.
type Options struct {
	Mode           account.Mode   // default none
	PublicURL      string         // of absolute links, may carry a path prefix; "" = from the request
	AllowedHosts   []string       // further Host names in mode none, beside loopback ones; "*" = any
	AllowedOrigins []string       // of web pages elsewhere that may call, such as https://app.example; "*" = all (not in mode none)
	TrustedProxies []netip.Prefix // whose X-Forwarded-* headers count
	MaxBody        int64          // bytes of ordinary JSON requests, default 1 MiB
	MaxPrompt      int64          // bytes of a submission, default 16 MiB
	MaxUpload      int64          // bytes of an uploaded file, default 100 MiB
	MaxImage       int64          // bytes of an image uploaded by the cloud routes, default 50 MiB
	MaxModelBody   int64          // bytes of a model's input, default 64 MiB
	ModelBodies    int64          // bytes of all models' inputs that are read at once, default 8 times MaxModelBody
	UploadIdle     time.Duration  // how long a client may stop in the middle of an upload, default 30 seconds
	JobRetention   time.Duration  // from submission to expires_at, default 30 days
	MaxSockets     int            // WebSockets of one account on this process, default 2,000
	MaxStreams     int            // event streams of one account on this process, default 64
	RouteByClient  bool           // WebSocket messages of a job go to the client that submitted it only
	RuntimeNames   bool           // exception types in the names of the self-hosted runtime
	Recheck        time.Duration  // between two looks whether the key of a socket or stream is still good, default 15 seconds
	RawStatus      bool           // GET /job/{id}/status says success and error as newer clients expect
	Version        string         // shown in system_stats
}

// server holds what every handler needs.
type server struct {
	Deps
	opts          Options
	log           *slog.Logger
	public        *url.URL
	definitions   *definitions
	recent        *sourceCache
	documents     func() (documents, error) // rendered once, when first asked for
	sockets       *quota
	streams       *quota
	socketBuffers sync.Pool // of the WebSocket library
}

// New returns the handler of all surfaces.
func New(deps Deps, opts Options) (http.Handler, error) {
	s, err := newServer(deps, opts)
	if err != nil {
		return nil, err
	}
	return s.handler()
}

func newServer(deps Deps, opts Options) (*server, error) {
	s := &server{Deps: deps, opts: opts, log: deps.Logger}
	s.opts.setDefaults()
	s.definitions = newDefinitions(deps.Classes)
	s.recent = newSourceCache(sourceCacheBytes)
	s.documents = sync.OnceValues(s.renderDocuments)
	s.sockets, s.streams = newQuota(s.opts.MaxSockets), newQuota(s.opts.MaxStreams)
	if err := deps.validate(); err != nil {
		return nil, err
	}
	if opts.PublicURL == "" {
		return s, nil
	}
	u, err := url.Parse(strings.TrimRight(opts.PublicURL, "/"))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the public URL must be http(s)://host[/prefix], without query and fragment")
	}
	s.public = u
	return s, nil
}

func (o *Options) setDefaults() {
	if o.Mode == "" {
		o.Mode = account.ModeNone
	}
	if o.MaxBody == 0 {
		o.MaxBody = defaultMaxBody
	}
	if o.MaxPrompt == 0 {
		o.MaxPrompt = defaultMaxPrompt
	}
	if o.MaxUpload == 0 {
		o.MaxUpload = defaultMaxUpload
	}
	if o.MaxImage == 0 {
		o.MaxImage = defaultMaxImage
	}
	if o.MaxModelBody == 0 {
		o.MaxModelBody = defaultMaxModel
	}
	if o.ModelBodies == 0 {
		o.ModelBodies = 8 * o.MaxModelBody
	}
	if o.MaxSockets == 0 {
		o.MaxSockets = defaultSockets
	}
	if o.MaxStreams == 0 {
		o.MaxStreams = defaultStreams
	}
	if o.UploadIdle == 0 {
		o.UploadIdle = defaultIdle
	}
	if o.Recheck == 0 {
		o.Recheck = defaultRecheck
	}
	if o.JobRetention == 0 {
		o.JobRetention = defaultRetention
	}
}

func (s *server) handler() (http.Handler, error) {
	gin.SetMode(gin.ReleaseMode)
	g := gin.New()
	g.HandleMethodNotAllowed = true
	g.RedirectTrailingSlash = false
	if err := g.SetTrustedProxies(nil); err != nil { // client addresses come from our own rule, see trusted
		return nil, err
	}
	g.Use(s.identify, s.recoverPanic, s.guardHost)
	g.NoRoute(s.wrap(route{access: public, handle: s.unknownPath}))
	g.NoMethod(s.wrap(route{access: public, handle: methodNotAllowed}))
	for _, r := range withHeads(s.routes()) {
		g.Handle(r.method, r.path, s.wrap(r))
	}
	return s.shareWith(s.opts.AllowedOrigins, s.stripPrefix(keepSemicolons(g))), nil
}

// withHeads adds HEAD where GET is and HEAD is not (RFC 9110, section 9.1): net/http drops the body.
func withHeads(all []route) []route {
	own := map[string]bool{}
	for _, r := range all {
		own[r.path] = own[r.path] || r.method == http.MethodHead
	}
	for _, r := range slices.Clone(all) {
		if r.method == http.MethodGet && !r.live && !own[r.path] {
			r.method = http.MethodHead
			all = append(all, r)
		}
	}
	return all
}

// keepSemicolons lets a semicolon be part of a value, as editors write it in preview=webp;90. net/url
// drops a parameter with a bare one.
func keepSemicolons(next http.Handler) http.Handler {
	next = http.AllowQuerySemicolons(next) // of which none is left; it silences net/http's warning
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.RawQuery, ";") {
			whole, u := *r, *r.URL
			u.RawQuery = strings.ReplaceAll(u.RawQuery, ";", "%3B")
			whole.URL, r = &u, &whole
		}
		next.ServeHTTP(w, r)
	})
}

// stripPrefix lets a proxy pass the public URL's path prefix on or cut it off.
func (s *server) stripPrefix(next http.Handler) http.Handler {
	if s.public == nil || s.public.Path == "" {
		return next
	}
	prefix := s.public.Path
	stripped := http.StripPrefix(prefix, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == prefix || strings.HasPrefix(r.URL.Path, prefix+"/") {
			stripped.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
