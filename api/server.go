// Package api is the HTTP edge: it parses requests, calls one thing and renders
// the answer in the words of the surface that was asked (the v2 contract, the
// cloud contract). It keeps one promise: what leaves it has the contract's shape,
// whatever happened behind it. Rules about jobs, files and accounts live behind
// the small interfaces of Deps.
package api

import (
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/limit"
	"github.com/millrace-dev/millrace/internal/domain/account"
)

// Default limits of a request; each has a field in Options.
const (
	defaultMaxPrompt = 16 << 20 // of a submission: 10,000 nodes with long texts stay below
	defaultMaxUpload = 100 << 20
	defaultMaxImage  = 50 << 20 // cloud contract, limits
	defaultMaxModel  = 64 << 20 // router facts, limits
	defaultSockets   = 2000
	defaultStreams   = 64
	defaultRetention = 30 * 24 * time.Hour
	defaultIdle      = 30 * time.Second
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
	*edge.Edge
	opts          Options
	definitions   *definitions
	recent        *sourceCache
	documents     func() (documents, error) // rendered once, when first asked for
	sockets       *limit.Connections
	streams       *limit.Connections
	socketBuffers sync.Pool // of the WebSocket library
}

// New returns the handler of all surfaces.
func New(deps Deps, opts Options) (http.Handler, error) {
	s, err := newServer(deps, opts)
	if err != nil {
		return nil, err
	}
	return s.Handler(s.routes(), s.unknownPath)
}

func newServer(deps Deps, opts Options) (*server, error) {
	s := &server{Deps: deps, opts: opts}
	s.opts.setDefaults()
	s.definitions = newDefinitions(deps.Classes)
	s.recent = newSourceCache(sourceCacheBytes)
	s.documents = sync.OnceValues(s.renderDocuments)
	s.sockets, s.streams = limit.NewConnections(s.opts.MaxSockets), limit.NewConnections(s.opts.MaxStreams)
	if err := deps.validate(); err != nil {
		return nil, err
	}
	shared := edge.Deps{Auth: deps.Auth, Space: deps.Space, Storage: deps.Storage, Logger: deps.Logger}
	if deps.Editor != nil {
		shared.Cookies = deps.Editor.Sealer
	}
	var err error
	if s.Edge, err = edge.New(shared, s.opts.edge()); err == nil {
		s.Add(routerDialect{s})
	}
	return s, err
}

// edge returns the options of the part that all surfaces share.
func (o Options) edge() edge.Options {
	return edge.Options{
		Mode: o.Mode, PublicURL: o.PublicURL, AllowedHosts: o.AllowedHosts, AllowedOrigins: o.AllowedOrigins,
		TrustedProxies: o.TrustedProxies, MaxBody: o.MaxBody, Recheck: o.Recheck,
	}
}

// routes lists every route of the service: one line per resource.
func (s *server) routes() []edge.Route {
	return slices.Concat(
		s.healthRoutes(), s.documentRoutes(), s.systemRoutes(), s.definitionRoutes(),
		s.promptRoutes(), s.statusRoutes(), s.queueRoutes(),
		s.cloudJobRoutes(), s.historyRoutes(), s.socketRoutes(),
		s.jobRoutes(), s.logRoutes(), s.eventRoutes(),
		s.fileRoutes(), s.userdataRoutes(), s.settingRoutes(), s.editorRoutes(), s.editorPageRoutes(), s.consoleRoutes(),
		s.routerRoutes(), s.webhookRoutes(),
	)
}

// unknownPath answers where no route is.
func (s *server) unknownPath(c *gin.Context) error {
	if isRouter(c.Request.URL.Path) {
		return s.unrouted(c)
	}
	return s.editorFile(c)
}

func (o *Options) setDefaults() {
	if o.Mode == "" {
		o.Mode = account.ModeNone
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
	if o.JobRetention == 0 {
		o.JobRetention = defaultRetention
	}
}
