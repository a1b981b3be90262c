package apitest

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/api/about"
	"github.com/millrace-dev/millrace/api/assets"
	"github.com/millrace-dev/millrace/api/cloud"
	"github.com/millrace-dev/millrace/api/console"
	"github.com/millrace-dev/millrace/api/console/operators"
	"github.com/millrace-dev/millrace/api/console/own"
	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/editor"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/jobs"
	"github.com/millrace-dev/millrace/api/live"
	"github.com/millrace-dev/millrace/api/mcp"
	"github.com/millrace-dev/millrace/api/media"
	"github.com/millrace-dev/millrace/api/openai"
	"github.com/millrace-dev/millrace/api/router"
	"github.com/millrace-dev/millrace/api/webhooks"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	modelrouter "github.com/millrace-dev/millrace/internal/partner/router"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
)

// Deps are the parts over which tests start the API; nil = its surface has no routes, or does without it.
type Deps struct {
	Auth      edge.Authenticator
	Jobs      jobio.Commands
	Reader    jobio.Reader
	Queue     jobio.Queue
	Sources   jobio.Sources
	Steps     jobio.Steps
	Links     jobio.Links
	Live      live.Source
	Files     Files
	Grants    *signedurl.Signer
	Assets    assets.Assets
	AssetView assets.AssetReader
	Keys      Keys
	Internet  assets.Internet
	Exports   assets.Exports
	Downloads assets.Downloads
	Resumable *asset.Resumable
	Classes   *node.Registry
	NodeFiles editor.NodeFiles
	Logs      *job.Logs
	Ends      *jobs.Ends
	History   cloud.History
	Userdata  editor.Userdata
	Servers   editor.Servers
	Devices   cloud.Devices
	Console   edge.Sealer // seals the cookies of the console; nil = no pages for people
	Editor    *Editor
	Router    *ModelRouter
	Webhooks  *webhooks.Deps
	Readiness about.Readiness
	Space     edge.Space
	Storage   edge.Storage
	Logger    *slog.Logger
}

// Files stores the files of accounts.
type Files interface {
	media.Files
	assets.Files
	jobs.Names
}

// Keys stores single-use keys.
type Keys interface {
	assets.IdempotencyKeys
	jobs.Keys
}

// Editor is a web editor on the same origin as the API.
type Editor struct {
	Files  console.EditorFiles
	Sealer edge.Sealer
}

// ModelRouter are the parts of the model router.
type ModelRouter struct {
	Models     *modelrouter.Offers
	Calls      router.Calls
	Tokens     edge.Authenticator
	Cursors    *catalog.Cursors
	NoFallback bool
}

// Options are the tunables of the API. The zero value serves mode none.
type Options struct {
	Mode           account.Mode   // default none
	PublicURL      string         // base of absolute links, with an optional path prefix; "" = derived from the request
	AnyHost        bool           // any Host name is accepted in mode none
	AllowedOrigins []string       // origins of other web pages that may call the API; "*" = all (not in mode none)
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

func (o *Options) setDefaults() {
	o.MaxPrompt = cmp.Or(o.MaxPrompt, 16<<20)
	o.MaxUpload = cmp.Or(o.MaxUpload, 100<<20)
	o.MaxModelBody = cmp.Or(o.MaxModelBody, 64<<20)
	o.ModelBodies = cmp.Or(o.ModelBodies, 8*o.MaxModelBody)
	o.MaxSockets = cmp.Or(o.MaxSockets, 2000)
	o.MaxStreams = cmp.Or(o.MaxStreams, 64)
	o.UploadIdle = cmp.Or(o.UploadIdle, 30*time.Second)
	o.JobRetention = cmp.Or(o.JobRetention, 30*24*time.Hour)
}

// New returns the handler of the surfaces whose parts are set.
func New(d Deps, o Options) (http.Handler, error) {
	o.setDefaults()
	if d.Space == nil {
		d.Space = new(Fillable)
	}
	if d.Storage == nil {
		d.Storage = new(Quota)
	}
	shared := edge.Deps{Auth: d.Auth, Space: d.Space, Storage: d.Storage, Logger: d.Logger}
	if d.Editor != nil {
		shared.Cookies = d.Editor.Sealer
	}
	e, err := edge.New(shared, edge.Options{
		Mode: o.Mode, PublicURL: o.PublicURL, AnyHost: o.AnyHost, AllowedOrigins: o.AllowedOrigins,
		TrustedProxies: o.TrustedProxies, MaxBody: o.MaxBody, Recheck: o.Recheck,
	})
	if err != nil {
		return nil, err
	}
	submissions, _ := job.NewGates(nil)
	d.Jobs = api.Bounded(d.Jobs, submissions)
	surfaces := append(d.jobs(e, o), d.files(e, o)...)
	if d.Router == nil {
		d.Router = &ModelRouter{}
	}
	surfaces = append(surfaces, router.New(router.Deps{
		Edge: e, Models: d.Router.Models, Calls: d.Router.Calls, Tokens: d.Router.Tokens, Cursors: d.Router.Cursors,
	}, router.Options{
		NoFallback: d.Router.NoFallback, MaxModelBody: o.MaxModelBody, ModelBodies: o.ModelBodies, UploadIdle: o.UploadIdle,
	}), editor.New(editor.Deps{Edge: e, Classes: d.Classes, NodeFiles: d.NodeFiles, Userdata: d.Userdata, Servers: d.Servers}))
	if d.Console != nil {
		surfaces = append(surfaces, d.console(e))
	}
	if d.Editor != nil {
		surfaces = append(surfaces, console.NewEditor(e, d.Editor.Files))
	} else {
		surfaces = append(surfaces, about.NewRoot(e, page.Base))
	}
	if d.Webhooks != nil {
		surfaces = append(surfaces, webhooks.New(*d.Webhooks))
	}
	surfaces = append(surfaces, openai.New(openai.Deps{Edge: e}, openai.Options{MaxBody: o.MaxBody}),
		mcp.New(mcp.Deps{Edge: e}, mcp.Options{MaxBody: o.MaxBody}))
	return api.New(e, append(surfaces, about.New(e, d.Readiness))...)
}

func (d Deps) jobs(e *edge.Edge, o Options) []api.Surface {
	c := cloud.New(cloud.Deps{
		Edge: e, Jobs: d.Jobs, Reader: d.Reader, Queue: d.Queue, Sources: d.Sources, History: d.History, Devices: d.Devices,
	}, cloud.Options{
		MaxPrompt: o.MaxPrompt, MaxUpload: o.MaxUpload, Assets: d.Assets != nil,
		RuntimeNames: o.RuntimeNames, RawStatus: o.RawStatus, Version: o.Version,
	})
	var names jobs.Names
	if d.Files != nil {
		names = d.Files
	}
	return []api.Surface{
		c, jobs.New(jobs.Deps{
			Edge: e, Jobs: d.Jobs, Reader: d.Reader, Queue: d.Queue, Sources: d.Sources, Steps: d.Steps, Links: d.Links,
			Keys: d.Keys, Logs: d.Logs, Names: names, Ends: d.Ends,
		}, jobs.Options{MaxPrompt: o.MaxPrompt, JobRetention: o.JobRetention, MaxWaits: o.MaxStreams}),
		live.New(live.Deps{
			Edge: e, Source: d.Live, Reader: d.Reader, Queue: d.Queue, Steps: d.Steps, Links: d.Links, Features: c.Features,
		}, live.Options{MaxSockets: o.MaxSockets, MaxStreams: o.MaxStreams, RouteByClient: o.RouteByClient}),
	}
}

func (d Deps) files(e *edge.Edge, o Options) []api.Surface {
	if d.Files == nil {
		return nil
	}
	all := []api.Surface{media.New(media.Deps{
		Edge: e, Files: d.Files, Grants: d.Grants, Links: d.Links,
	}, media.Options{MaxImage: o.MaxImage, UploadIdle: o.UploadIdle})}
	if d.Assets == nil {
		return all
	}
	return append(all, assets.New(assets.Deps{
		Edge: e, Files: d.Files, Assets: d.Assets, View: d.AssetView, Keys: d.Keys, Links: d.Links,
		Internet: d.Internet, Exports: d.Exports, Downloads: d.Downloads, Resumable: d.Resumable,
	}, assets.Options{MaxUpload: o.MaxUpload, MaxResumable: MaxResumable, UploadIdle: o.UploadIdle, Editor: d.Editor != nil}))
}

func (d Deps) console(e *edge.Edge) api.Surface {
	deps := console.Deps{Edge: e, Jobs: d.Jobs, Reader: d.Reader, Sources: d.Sources, Links: d.Links, Sealer: d.Console, Live: d.Live}
	deps.Classes, deps.Operators = d.Classes, &operators.Services{}
	if d.Files != nil && d.Assets != nil {
		deps.Files, deps.Own = d.Files, own.Deps{Assets: d.AssetView, Deleter: d.Assets, Files: d.Files}
	}
	if d.Webhooks != nil {
		deps.Own.Endpoints, deps.Own.Deliveries = d.Webhooks.Endpoints, d.Webhooks.Deliveries
	}
	return console.New(deps)
}
