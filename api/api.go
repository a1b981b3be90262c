// Package api assembles the HTTP API: it gives every surface its dependencies and mounts its routes. Package edge
// holds the parts that all surfaces share; each surface is a package of its own. It promises that a surface without
// its dependencies has no routes. Rules about jobs, files and accounts are behind the interfaces of the surfaces.
package api

import (
	"cmp"
	"net/http"
	"net/netip"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/about"
	"github.com/millrace-dev/millrace/api/assets"
	"github.com/millrace-dev/millrace/api/cloud"
	"github.com/millrace-dev/millrace/api/console"
	"github.com/millrace-dev/millrace/api/console/models"
	"github.com/millrace-dev/millrace/api/console/own"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/editor"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/jobs"
	"github.com/millrace-dev/millrace/api/limit"
	"github.com/millrace-dev/millrace/api/live"
	"github.com/millrace-dev/millrace/api/media"
	"github.com/millrace-dev/millrace/api/router"
	"github.com/millrace-dev/millrace/api/webhooks"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
)

// Default limits of a request. Each has a field in Options.
const (
	defaultMaxPrompt = 16 << 20 // of a submission: 10,000 nodes with long texts need less
	defaultMaxUpload = 100 << 20
	defaultMaxImage  = 50 << 20 // the limit of the cloud contract
	defaultMaxModel  = 64 << 20
	defaultSockets   = 2000
	defaultStreams   = 64
	defaultRetention = 30 * 24 * time.Hour
	defaultIdle      = 30 * time.Second
)

// Options are the tunables of the API. The zero value serves mode none.
type Options struct {
	Mode           account.Mode   // default none
	PublicURL      string         // base of absolute links, with an optional path prefix; "" = derived from the request
	AllowedHosts   []string       // Host names accepted in mode none beside loopback names; "*" = any
	AllowedOrigins []string       // origins of other web pages that may call the API, such as https://app.example; "*" = all (not in mode none)
	TrustedProxies []netip.Prefix // proxies whose X-Forwarded-* headers are trusted
	MaxBody        int64          // bytes of ordinary JSON requests, default 1 MiB
	MaxPrompt      int64          // bytes of a submission, default 16 MiB
	MaxUpload      int64          // bytes of an uploaded file, default 100 MiB
	MaxImage       int64          // bytes of an image uploaded by the cloud routes, default 50 MiB
	MaxModelBody   int64          // bytes of a model's input, default 64 MiB
	ModelBodies    int64          // bytes of all inputs of models that are read at the same time, default 8 times MaxModelBody
	UploadIdle     time.Duration  // longest pause of a client in the middle of an upload, default 30 seconds
	JobRetention   time.Duration  // from submission to expires_at, default 30 days
	MaxSockets     int            // WebSockets of one account on this process, default 2,000
	MaxStreams     int            // event streams and waiting requests of one account on this process, default 64
	RouteByClient  bool           // WebSocket messages of a job go only to the client that submitted it
	RuntimeNames   bool           // exception types have the names that the self-hosted runtime uses
	Recheck        time.Duration  // interval at which the key of a socket or stream is checked again, default 15 seconds
	RawStatus      bool           // GET /job/{id}/status answers success and error, which newer clients expect
	Version        string         // shown in system_stats
}

// New returns the handler of all surfaces.
func New(deps Deps, opts Options) (http.Handler, error) {
	opts.setDefaults()
	s, err := assemble(deps, opts)
	if err != nil {
		return nil, err
	}
	return s.edge.Handler(s.routes, s.unknownPath)
}

// service is the assembly of all surfaces.
type service struct {
	edge      *edge.Edge
	router    *router.Surface
	editor    *console.Editor // nil without an editor
	catalogue *editor.Surface
	pictures  console.Pictures // nil without files
	routes    []edge.Route
}

// assemble builds every surface whose dependencies are set.
func assemble(deps Deps, opts Options) (*service, error) {
	e, err := edge.New(deps.edge(), opts.edge())
	if err == nil {
		err = deps.validate()
	}
	if err != nil {
		return nil, err
	}
	deps.Jobs = bounded{deps.Jobs, limit.NewWork(submissions)}
	s := &service{edge: e}
	c := s.addJobs(deps, opts)
	s.add(live.New(live.Deps{
		Edge: e, Source: deps.Live, Reader: deps.Reader, Queue: deps.Queue, Steps: deps.Steps, Links: deps.Links, Features: c.Features,
	}, opts.live()))
	s.addFiles(deps, opts)
	s.catalogue = editor.New(editor.Deps{Edge: e, Classes: deps.Classes, NodeFiles: deps.NodeFiles, Userdata: deps.Userdata, Servers: deps.Servers})
	s.add(s.catalogue)
	s.addPages(deps)
	s.addRouter(deps.Router, opts)
	if deps.Webhooks != nil {
		s.add(webhooks.New(*deps.Webhooks))
	}
	s.add(about.New(e, deps.Readiness))
	return s, nil
}

// surface is a part of the API.
type surface interface{ Routes() []edge.Route }

func (s *service) add(part surface) { s.routes = append(s.routes, part.Routes()...) }

func (s *service) addJobs(deps Deps, opts Options) *cloud.Surface {
	c := cloud.New(cloud.Deps{Edge: s.edge, Jobs: deps.Jobs, Reader: deps.Reader, Queue: deps.Queue, Sources: deps.Sources, History: deps.History, Waits: deps.Waits, Devices: deps.Devices}, cloud.Options{
		MaxPrompt: opts.MaxPrompt, MaxUpload: opts.MaxUpload, Assets: deps.Assets != nil,
		RuntimeNames: opts.RuntimeNames, RawStatus: opts.RawStatus, Version: opts.Version,
	})
	s.add(c)
	s.add(jobs.New(jobs.Deps{
		Edge: s.edge, Jobs: deps.Jobs, Reader: deps.Reader, Queue: deps.Queue, Sources: deps.Sources, Steps: deps.Steps, Links: deps.Links,
		Keys: deps.Keys, Logs: deps.Logs, Names: namesOf(deps.Files), Waits: deps.Waits, Ends: deps.Ends,
	}, jobs.Options{MaxPrompt: opts.MaxPrompt, JobRetention: opts.JobRetention, MaxWaits: opts.MaxStreams}))
	return c
}

// namesOf returns files as the lookup of asset names, or nil without files.
func namesOf(files Files) jobs.Names {
	if files == nil {
		return nil
	}
	return files
}

func (s *service) addFiles(deps Deps, opts Options) {
	if deps.Files == nil {
		return
	}
	pictures := media.New(media.Deps{Edge: s.edge, Files: deps.Files, Grants: deps.Grants, Links: deps.Links}, media.Options{
		MaxImage: opts.MaxImage, UploadIdle: opts.UploadIdle,
	})
	s.add(pictures)
	s.pictures = pictures
	if deps.Assets == nil {
		return
	}
	s.add(assets.New(assets.Deps{
		Edge: s.edge, Files: deps.Files, Assets: deps.Assets, View: deps.AssetView, Keys: deps.Keys, Links: deps.Links,
		Internet: deps.Internet, Exports: deps.Exports, Downloads: deps.Downloads,
	}, assets.Options{MaxUpload: opts.MaxUpload, UploadIdle: opts.UploadIdle, Editor: deps.Editor != nil}))
}

func (s *service) addPages(deps Deps) {
	if deps.Console != nil {
		s.add(console.New(console.Deps{
			Edge: s.edge, Jobs: deps.Jobs, Reader: deps.Reader, Sources: deps.Sources, Links: deps.Links,
			Histories: deps.Console.Histories, Retry: deps.Console.Retry, Waits: deps.Waits, Sealer: deps.Console.Sealer,
			Servers: deps.Console.Servers, Operator: deps.Console.Operator, Live: deps.Live, Media: deps.Console.Media,
			Index: deps.Console.Index, Stats: deps.Console.Stats, Now: deps.Console.Now, Files: consoleFiles(deps),
			Models: consoleModels(deps), Own: consoleOwn(deps), Operators: deps.Console.Operators, Submit: deps.Jobs, Classes: consoleClasses(deps), Pictures: s.pictures,
		}))
	}
	if deps.Editor != nil {
		s.editor = console.NewEditor(s.edge, deps.Editor.Files)
		s.add(s.editor)
	}
}

// consoleModels returns the dependencies of the console's pages of models, or nil without a router.
func consoleModels(deps Deps) *models.Deps {
	r := deps.Router
	if r == nil || deps.Console.Calls.Record == nil {
		return nil
	}
	return &models.Deps{Models: r.Models, Calls: r.Calls, History: deps.Console.Calls, Off: r.Off, NoFallback: r.NoFallback}
}

// consoleOwn returns the dependencies of the console's pages of an account's assets, webhooks, keys and usage.
func consoleOwn(deps Deps) own.Deps {
	var o own.Deps
	if deps.Files != nil && deps.Assets != nil {
		o.Assets, o.Deleter, o.Files = deps.AssetView, deps.Assets, deps.Files
	}
	if deps.Webhooks != nil {
		o.Endpoints, o.Deliveries = deps.Webhooks.Endpoints, deps.Webhooks.Deliveries
	}
	if deps.Console.Operators != nil {
		o.Accounts, o.Usage = deps.Console.Operators.Accounts, deps.Console.Usage
	}
	return o
}

// consoleClasses returns the classes by which the console converts workflows of the editor into graphs, or nil
// without classes.
func consoleClasses(deps Deps) uiworkflow.Classes {
	if deps.Classes == nil {
		return nil
	}
	return deps.Classes
}

// consoleFiles returns the files of the console, or nil without files.
func consoleFiles(deps Deps) console.Files {
	if deps.Files == nil {
		return nil
	}
	return deps.Files
}

// addRouter adds the model router. Without a router, its paths still answer with the router's errors.
func (s *service) addRouter(parts *ModelRouter, opts Options) {
	deps, o := router.Deps{Edge: s.edge}, router.Options{MaxModelBody: opts.MaxModelBody, ModelBodies: opts.ModelBodies, UploadIdle: opts.UploadIdle}
	if parts != nil {
		deps.Models, deps.Calls, deps.Tokens, deps.Cursors, o.Off = parts.Models, parts.Calls, parts.Tokens, parts.Cursors, parts.Off
		o.NoFallback = parts.NoFallback
	}
	s.router = router.New(deps, o)
	s.add(s.router)
}

// unknownPath answers a request that matches no route: with an error of the router, or with a file of a custom node
// or of the editor.
func (s *service) unknownPath(c *gin.Context) error {
	switch {
	case s.router.Serves(c.Request.URL.Path):
		return s.router.Unrouted(c)
	case s.catalogue.HasWebFile(c.Request.URL.Path):
		return s.catalogue.WebFile(c)
	case s.editor != nil:
		return s.editor.File(c)
	}
	return httperr.NoSuchPath()
}

// edge returns the dependencies that all surfaces share.
func (d Deps) edge() edge.Deps {
	shared := edge.Deps{Auth: d.Auth, Space: d.Space, Storage: d.Storage, Logger: d.Logger}
	if d.Editor != nil {
		shared.Cookies = d.Editor.Sealer
	}
	return shared
}

// edge returns the options that all surfaces share.
func (o Options) edge() edge.Options {
	return edge.Options{
		Mode: o.Mode, PublicURL: o.PublicURL, AllowedHosts: o.AllowedHosts, AllowedOrigins: o.AllowedOrigins,
		TrustedProxies: o.TrustedProxies, MaxBody: o.MaxBody, Recheck: o.Recheck,
	}
}

func (o Options) live() live.Options {
	return live.Options{MaxSockets: o.MaxSockets, MaxStreams: o.MaxStreams, RouteByClient: o.RouteByClient}
}

func (o *Options) setDefaults() {
	o.MaxPrompt = cmp.Or(o.MaxPrompt, defaultMaxPrompt)
	o.MaxUpload = cmp.Or(o.MaxUpload, defaultMaxUpload)
	o.MaxImage = cmp.Or(o.MaxImage, defaultMaxImage)
	o.MaxModelBody = cmp.Or(o.MaxModelBody, defaultMaxModel)
	o.ModelBodies = cmp.Or(o.ModelBodies, 8*o.MaxModelBody)
	o.MaxSockets = cmp.Or(o.MaxSockets, defaultSockets)
	o.MaxStreams = cmp.Or(o.MaxStreams, defaultStreams)
	o.UploadIdle = cmp.Or(o.UploadIdle, defaultIdle)
	o.JobRetention = cmp.Or(o.JobRetention, defaultRetention)
}
